"""What the doctor says of traces, and `perflab doctor`."""

from pathlib import Path

import pytest

from perflab.profiler import TraceBuilder, Track, chrome, cli
from perflab.profiler.analysis.summary import summarize
from perflab.profiler.doctor import Report, examine
from perflab.profiler.importers import Import
from perflab.profiler.importers.findings import KINDS, Findings

HOST, GPU = Track(1, 1, "main"), Track(0, "stream 7")


def report(builder: TraceBuilder) -> Report:
    return examine(Import(builder.build(), "Chrome JSON", ()))


def kinds(builder: TraceBuilder) -> dict[str, int]:
    return {finding.kind: finding.count for finding in report(builder).findings}


def test_a_trace_without_oddities_is_healthy() -> None:
    builder = TraceBuilder()
    builder.slice("a", 0, 10, track=HOST)
    found = report(builder)
    assert (found.verdict, found.sentence, found.findings) == ("healthy", "healthy", ())
    assert (found.slices, found.tracks, found.format) == (1, 1, "Chrome JSON")


def test_nothing_is_not_healthy() -> None:
    found = report(TraceBuilder())
    assert found.verdict == "incomplete"
    assert found.sentence == "incomplete: The file holds no slice, no instant and no counter."


def test_slices_that_cross() -> None:
    builder = TraceBuilder()
    for start in (0, 5, 10, 15):
        builder.slice("a", start, 10, track=HOST)
    found = report(builder)
    assert found.verdict == "usable with care"
    assert found.sentence == "usable with care: 2 slices cross others of the same thread."
    assert found.findings[0].examples == ("'a' at 5 ns on main", "'a' at 15 ns on main")
    assert found.findings[0].moments == (5, 15)


def test_steps_that_straddle_other_slices_are_no_warning() -> None:
    builder = TraceBuilder()
    builder.slice("frame", 0, 10, track=HOST, category="python_function")
    builder.slice("ProfilerStep#1", 5, 10, track=HOST, category="user_annotation")
    found = report(builder)
    assert found.verdict == "healthy"
    assert found.findings[0].what == "1 step or annotation begins in one slice of the thread and ends in another."


def test_slices_that_are_there_twice() -> None:
    builder = TraceBuilder()
    for name, track in (("a", HOST), ("b", HOST), ("a", HOST), ("a", GPU)):
        builder.slice(name, 3, 7, track=track)
        builder.slice(name, 50, 0, track=track)  # of no length: no twins
    assert kinds(builder) == {"duplicates": 1, "zero-duration": 4}


def test_kernels_without_a_launch() -> None:
    builder = TraceBuilder()
    launch = builder.slice("cudaLaunchKernel", 0, 5, track=HOST, category="cuda_runtime")
    first = builder.slice("k1", 10, 5, track=GPU, category="kernel")
    builder.slice("k2", 20, 5, track=GPU, category="kernel")
    builder.flow("ac2g", launch, first)
    assert kinds(builder) == {"unlinked-kernels": 1}


def test_a_pause_longer_than_all_the_rest() -> None:
    builder = TraceBuilder()
    builder.slice("a", 0, 1_000, track=HOST)
    builder.slice("b", 60_000_000_000, 1_000, track=HOST)
    (found,) = report(builder).findings
    assert found.what == "Nothing is recorded for 60.0 s, 100.0% of the whole span."
    assert found.examples == ("after 'a', before 'b'",)


def test_several_ranks_in_one_file() -> None:
    builder = TraceBuilder()
    for rank in range(3):
        builder.slice("a", 0, 1, track=Track(rank, 1, "main", f"python rank {rank}"))
    assert kinds(builder) == {"several-ranks": 3}


def test_every_kind_makes_whole_sentences() -> None:
    facts = dict.fromkeys(
        ("at", "why", "excerpt", "tool", "gap", "share", "unit", "spread", "within", "collectives", "archive"), "x"
    )
    for kind, (severity, _, advice) in KINDS.items():
        for count in (1, 2000):
            findings = Findings()
            findings.add(kind, count, **facts)
            (found,) = findings.listed()
            assert (found.kind, found.severity, found.count) == (kind, severity, count)
            assert found.what.endswith(".") and "{" not in found.what
            assert found.advice.endswith((".", "?"))
            assert advice == found.advice
            if "{count}" in KINDS[kind][1]:
                assert f"{count:,} " in found.what


def test_three_examples_are_kept() -> None:
    findings = Findings()
    findings.add("no-time", 2, ["a", "b"])
    findings.add("no-time", 0, ["never"])
    findings.add("no-time", 2, [("c", 7), ("d", 8)])
    (found,) = findings.listed()
    assert (found.count, found.examples, found.moments) == (4, ("a", "b", "c"), (None, None, 7))


CUT = '[{"ph":"X","name":"a","ts":1,"dur":2},{"ph":"X","name":"b","ts":2'


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--strict"], 1)])
def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int
) -> None:
    path = tmp_path / "cut.json"
    path.write_text(CUT)
    assert cli.main(["doctor", str(path), *options]) == code
    out = capsys.readouterr().out
    assert out.startswith("cut.json: incomplete\nChrome JSON, 1 slice on 1 track\n")
    assert f"error: The file ends at byte {len(CUT)}, in the middle of the data." in out


def test_strict_lets_a_healthy_trace_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "whole.json"
    path.write_text('[{"ph":"X","name":"a","ts":1,"dur":2}]')
    assert cli.main(["doctor", str(path), "--strict"]) == 0
    assert capsys.readouterr().out == "whole.json: healthy\nChrome JSON, 1 slice on 1 track\n"


def test_the_command_writes_a_repaired_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, repaired = tmp_path / "cut.json", tmp_path / "whole.json.gz"
    path.write_text(CUT)
    assert cli.main(["doctor", str(path), "--repair", str(repaired)]) == 0
    assert f"wrote {repaired}" in capsys.readouterr().out
    again = chrome.read(repaired)
    assert again.name_of([0]) == ["a"]
    assert again.metadata["truncated"] is True


def test_what_is_no_trace_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.json"
    path.write_text("<!doctype html><html>")
    assert cli.main(["doctor", str(path)]) == cli.FAILED
    assert capsys.readouterr().err.startswith("perflab: page.json: this is HTML, not a trace")
    assert cli.main(["doctor", str(tmp_path / "nowhere.json")]) == cli.FAILED


def test_slices_before_the_zero_of_the_clock() -> None:
    builder = TraceBuilder()
    for start in (-50, -5, 0):
        builder.slice("a", start, 10, track=HOST)
    assert kinds(builder) == {"before-zero": 2, "overlap": 1}


def test_names_of_millions_of_characters_are_told_by_their_begin() -> None:
    builder = TraceBuilder()
    builder.slice("x" * 1_000_000, -5, 10, track=HOST)
    trace = builder.build()
    (found,) = examine(Import(trace, "Chrome JSON", ())).findings
    assert found.examples == (f"'{'x' * 298}\u2026",)
    assert [row.name for row in summarize(trace).top_ops] == ["x" * 1000]
