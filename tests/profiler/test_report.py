"""`perflab report`."""

import json
from pathlib import Path

import pytest

from perflab.profiler import Trace, TraceBuilder, Track, ceilings, chrome, cli
from perflab.profiler.ceilings import Ceilings
from perflab.profiler.report.answers import answers
from perflab.profiler.report.markdown import markdown
from perflab.profiler.report.section import Section, Table, sparkline
from perflab.profiler.report.sections import sections

MAIN, DEVICE = Track(1, 1, "main", "python"), Track(0, 7, "stream 7", "python")
ROOF = Ceilings("0" * 16, "a CPU", 100e9, 10e9)


@pytest.fixture(autouse=True)
def nobodys_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path / "caches"


def training(steps: int = 6, data: int = 200_000, copies: int = 1) -> Trace:
    """Steps of 1 ms (and more of data and copies): data, a product with its kernel in a module, a pass, memory."""
    table = [["mm", [[64, 64], [64, 64]], ["float", "float"], 10_000_000, 49_152]]
    builder = TraceBuilder({"costs": table})
    begin, total = 0, 1000
    for number in range(steps):
        duration = 1_000_000 + data - 200_000 + (copies - 1) * 50_000
        builder.slice(f"ProfilerStep#{number}", begin, duration, track=MAIN, category="user_annotation")
        builder.slice("data", begin, data, track=MAIN, category="user_annotation")
        start = begin + data
        args = {"Module Hierarchy": "Net.fc", "Input Dims": table[0][1], "Input type": table[0][2]}
        builder.slice("mm", start, 300_000, track=MAIN, category="cpu_op", args=args)
        builder.slice("mm_native_float32", start + 50_000, 250_000, track=MAIN, category="kernel")
        builder.slice("MmBackward0", start + 400_000, 300_000, track=MAIN, category="autograd")
        for copy in range(copies):
            builder.slice("copy_", start + 710_000 + copy * 50_000, 40_000, track=MAIN, category="cpu_op")
        for time, address, size in ((60_000, 1, 4096), (500_000, 1, -4096)):
            total += size
            args = {"Addr": address, "Bytes": size, "Total Allocated": total, "Total Reserved": 8192}
            builder.instant("[memory]", start + time, track=MAIN, args=args)
        begin += duration
    return builder.build()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "loop.json.gz"
    chrome.write(training(), path)
    return path


def test_the_text_says_what_to_do_first(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(file)]) == 0
    text = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "loop.json.gz"
    assert "6 ms in all, 12 ops, 6 steps of 1 ms (median)." in lines
    assert any(line.startswith("1. Load data ahead: at most 200 us a step.") for line in lines)
    assert "waiting for data 200 us 20.0% 200 us 200 us" in lines
    assert "backward 300 us 30.0% 300 us 300 us" in lines
    assert "1 ms to 1 ms, median 1 ms: ██████" in lines
    assert "mm 1.8 ms 88.2% 1.8 ms 6 1.5 ms 24 KiB 40.0 0.2" in lines
    assert "4.98 KiB at the peak:" in text
    assert "allocated before the trace 1,000 B 19.6%" in lines
    assert "Critical path" not in lines, "one thread that nobody woke"
    assert "Roofline" not in lines


def test_known_ceilings_bring_a_roofline(file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ceilings.save(ROOF, ceilings.default_path())
    assert cli.main(["report", str(file)]) == 0
    assert "Against 100.0 GFLOP/s and 10.0 GB/s of a CPU." in capsys.readouterr().out
    ceilings.save(Ceilings("1" * 16, "another", 50e9, 10e9), other := tmp_path / "other.json")
    assert cli.main(["report", str(file), "--ceilings", str(other), "--format", "json"]) == 0
    (op,) = json.loads(capsys.readouterr().out)["roofline"]
    assert (op["bound"], op["least_ns"], op["ns"]) == ("compute", pytest.approx(1_200_000), 1_500_000)


def test_the_bill_since_a_base(file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    chrome.write(training(data=700_000, copies=5), head := tmp_path / "head.json")
    assert cli.main(["report", str(head), "--base", str(file)]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "A step takes 1 -> 1.7 ms (+70.0 %)." in [line.replace(" ms → ", " -> ") for line in lines]
    assert "+700 us: +500 us data wait, +160 us 4 more copy_, +40 us outside of ops." in lines
    assert "copy_ +160 us 1 → 5" in lines


def test_markdown_has_tables_that_github_reads(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(file), "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# loop.json.gz\n\n## Overview\n\n")
    assert "| where a step's time goes | mean | share | least | most |\n| --- | ---: | ---: | ---: | ---: |\n" in text
    assert "| waiting for data | 200 us | 20.0% | 200 us | 200 us |" in text
    assert markdown([Section("A", (), (Table(("a|b",), ()),))], "t") == "# t\n\n## A\n\n| a\\|b |\n| --- |\n"


def test_json_has_everything(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(file), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["trace"] == "loop.json.gz"
    assert [step["data_wait_ns"] for step in found["steps"]] == [200_000] * 6
    assert found["advice"][0]["title"] == "Load data ahead"
    assert found["memory"]["peak"]["by_module"] == {"Net.fc": 4096, "(none)": 1000}
    assert found["diff"] is None


def test_a_device_has_its_section() -> None:
    builder = TraceBuilder()
    builder.slice("aten::mm", 0, 100, track=MAIN, category="cpu_op")
    launch = builder.slice("cudaLaunchKernel", 10, 10, track=MAIN, category="cuda_runtime")
    builder.flow("ac2g", launch, builder.slice("gemm", 50, 900, track=DEVICE, category="kernel"))
    builder.slice("cudaDeviceSynchronize", 200, 800, track=MAIN, category="cuda_runtime")
    found = {section.title: section for section in sections(answers(builder.build()))}
    assert found["Devices"].sentences == ("Device 0 is busy for 100% of its time: it sets the pace.",)
    assert found["Critical path"].tables[0].rows[0] == ("gemm", "device", "900 ns", "90.0%")
    assert "Dispatch" not in found


def test_an_empty_trace_has_an_overview() -> None:
    (section,) = sections(answers(TraceBuilder().build()))
    assert section == Section("Overview", ("0 ns in all.",))


def test_a_name_is_no_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = TraceBuilder()
    builder.slice("[red]void f<a[3]>|x[/red]", 0, 100, track=MAIN, category="cpu_op")
    chrome.write(builder.build(), path := tmp_path / "odd.json")
    assert cli.main(["report", str(path)]) == 0
    assert "[red]void f<a[3]>|x[/red]" in capsys.readouterr().out


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_numbers_are_whole_in_any_terminal(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert cli.main(["report", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    row = next(line.split() for line in lines if line.split()[:1] == ["mm"])
    whole = ["mm", "1.8", "ms", "88.2%", "1.8", "ms", "6", "1.5", "ms", "24", "KiB", "40.0", "0.2"]
    assert row == whole[: len(row)]
    assert len(row) == {40: 4, 60: 9, 80: 12, 200: 13}[width]


def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(tmp_path / "none.json")]) == cli.FAILED
    assert "none.json" in capsys.readouterr().err
    (tmp_path / "text.json").write_text("no trace")
    assert cli.main(["report", str(tmp_path / "text.json")]) == cli.FAILED


def test_sparklines() -> None:
    assert sparkline([0, 1, 4, 8]) == "▁▂▅█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


def test_waiting_for_the_gil_that_nobody_held_is_told() -> None:
    builder, gil = TraceBuilder({"gil": "exact"}), Track(1, 10_000_001, "main GIL")
    for start, wait in ((0, 0), (8_000_000, 1_000_000)):
        builder.slice("GIL wait", start, wait, track=gil, category="gil", args={"Thread": 1})
        builder.slice("GIL held", start + wait, 1_000_000, track=gil, category="gil", args={"Thread": 1})
    (section,) = (each for each in sections(answers(builder.build())) if each.title == "The GIL")
    assert section.sentences[1:] == (
        "All threads together waited for it for 1 ms.",
        "For 1 ms nobody held it: who gets it has to be woken, by a free processor.",
    )


def test_a_program_without_ops_is_told_by_its_functions_the_gil_and_garbage() -> None:
    builder = TraceBuilder({"gil": "exact"})
    main, other, stack = Track(1, 1, "main"), Track(1, 2, "worker"), Track(1, 20_000_001, "main Python")
    gil = Track(1, 10_000_001, "main GIL"), Track(1, 10_000_002, "worker GIL")
    for time, size in ((0, 2**20), (5_000_000, 4 * 2**20), (10_000_000, 3 * 2**20)):
        builder.counter("RSS", time, size, track=main)
    builder.slice("work", 0, 10_000_000, track=stack, category="python_function", args={"file": "a.py", "line": 3})
    builder.slice("GIL held", 0, 6_000_000, track=gil[0], category="gil", args={"Thread": 1})
    builder.slice("GIL wait", 5_000_000, 1_000_000, track=gil[1], category="gil", args={"Thread": 2})
    builder.slice("GIL held", 6_000_000, 500_000, track=gil[1], category="gil", args={"Thread": 2})
    builder.flow("gil", 2, 1)
    args = {"Generation": 2, "Collected": 7, "Uncollectable": 0}
    builder.slice("gc generation 2", 1_000_000, 2_000_000, track=main, category="gc", args=args)
    builder.slice("sleep", 0, 10, track=other, category="user_annotation")
    found = {section.title: section for section in sections(answers(builder.build()))}
    assert found["Overview"].sentences == ("10 ms in all.",)
    assert found["Two things to do"].sentences == (
        "1. Look at work (a.py:3) first: at most 10 ms. Its own code takes 10 ms of 10 ms (100%). Try: do its loops in"
        " NumPy or another library, or less often.",
        "2. Collect garbage less often: at most 2 ms. Garbage collections take 2 ms of 10 ms (20%). Try: gc.freeze()"
        " after the set-up, and gc.collect() by hand between steps with the collector off.",
    )
    assert found["Python"].tables == (
        Table(("function", "self", "share", "total"), (("work (a.py:3)", "10 ms", "100.0%", "10 ms"),)),
    )
    assert found["The GIL"].sentences == (
        "main held it for 60.0% of the time.",
        "All threads together waited for it for 1 ms.",
    )
    threads, pairs = found["The GIL"].tables
    assert threads.rows == (
        ("main", "6 ms", "60.0%", "6 ms", "0 ns", "0 ns", "1"),
        ("worker", "500 us", "5.0%", "500 us", "1 ms", "1 ms", "1"),
    )
    assert pairs.rows == (("worker", "main", "1 ms", "1"),)
    assert found["Garbage"].sentences == ("Collections took 2 ms, 20.0% of the time, and freed 7 objects.",)
    assert found["Garbage"].tables[0].rows == (("2", "2 ms", "2 ms", "1", "7"),)
    assert (
        found["Memory"].sentences[0].startswith("The process had 1 MiB at first, 4 MiB at most and 3 MiB at the end: ")
    )
    assert "Ops" not in found and "Critical path" not in found
