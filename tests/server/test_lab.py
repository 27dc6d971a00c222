"""LocalLab and Client answer alike: every test here runs against both."""

import json
from pathlib import Path

import pytest

from perflab.benchmarks.gate import GateOptions
from perflab.benchmarks.machine import UNKNOWN, Machine
from perflab.benchmarks.stats import Verdict
from perflab.server.errors import Ambiguous, NotFound, Refused
from perflab.server.lab import Lab
from perflab.server.schema import Label, Origin

from .conftest import BASE, HEAD, MACHINE, NAMELESS, NOON, Files


def give(lab: Lab, path: Path, commit: str = BASE, **label: object) -> int:
    """Upload a file to project demo and say its run."""
    said = Origin(project="demo", commit=commit, branch="main")
    return lab.upload(path, Label(name=path.name, said=said, **label)).run


def test_an_empty_lab_has_nothing(lab: Lab) -> None:
    assert lab.projects() == []
    assert lab.runs() == []
    assert lab.benchmarks() == []


def test_what_was_uploaded_is_listed(lab: Lab, files: Files) -> None:
    run = give(lab, files.run("a.json", 1.0, 3.0, 2.0))
    [listed] = lab.runs()
    assert (listed.id, listed.project, listed.commit, listed.branch) == (run, "demo", BASE, "main")
    assert (listed.machine, listed.created, listed.tool, listed.results) == (NAMELESS, NOON, "a test", 1)
    detail = lab.run(run)
    assert detail.run == listed
    [result] = detail.results
    assert (result.benchmark.name, result.benchmark.params, result.samples) == ("step", {"n": "1"}, (1.0, 3.0, 2.0))
    [project] = lab.projects()
    assert (project.name, project.runs, project.latest) == ("demo", 1, NOON)


def test_runs_are_filtered_and_the_newest_is_first(lab: Lab, files: Files) -> None:
    old = give(lab, files.run("a.json", 1.0))
    new = give(lab, files.run("b.json", 2.0, minutes=1))
    other = give(lab, files.run("c.json", 3.0, minutes=-1), commit=HEAD)
    assert [run.id for run in lab.runs()] == [new, old, other]
    assert [run.id for run in lab.runs(limit=1)] == [new]
    assert [run.id for run in lab.runs(commit=HEAD[:7])] == [other]
    assert [run.id for run in lab.runs(branch="main", project="demo")] == [new, old, other]
    assert lab.runs(branch="other") == lab.runs(project="other") == []


def test_the_same_file_again_changes_nothing(lab: Lab, files: Files) -> None:
    path = files.run("a.json", 1.0)
    label = Label(name="a.json", said=Origin(commit=BASE))
    first, second = lab.upload(path, label), lab.upload(path, label)
    assert (first.new, second.new) == (True, False)
    assert (first.run, first.sha256, first.results) == (second.run, second.sha256, second.results)
    assert len(lab.runs()) == 1


def test_the_same_file_for_another_commit_is_another_run(lab: Lab, files: Files) -> None:
    path = files.run("a.json", 1.0)
    assert give(lab, path) != give(lab, path, commit=HEAD)


def test_files_of_one_key_are_one_run(lab: Lab, files: Files) -> None:
    give(lab, files.run("a.json", 1.0), key="first process")
    give(lab, files.trace("trace.json", 100), key="first process", machine=MACHINE)
    [run] = lab.runs()
    assert run.results == 1
    assert [trace.name for trace in run.traces] == ["trace.json"]


def test_a_file_says_its_origin_unless_the_uploader_does(lab: Lab, files: Files) -> None:
    path = files.run("a.json", 1.0, commit=BASE)
    other = Origin(project="other", commit=HEAD, branch="fallback")
    taken = lab.upload(path, Label(name="a.json", fallback=other))
    assert (taken.project, taken.commit) == ("demo", BASE)
    assert lab.run(taken.run).run.branch == "fallback"
    taken = lab.upload(path, Label(name="a.json", said=other))
    assert (taken.project, taken.commit) == ("other", HEAD)


def test_a_trace_keeps_its_bytes_and_a_summary(lab: Lab, files: Files) -> None:
    path = files.trace("trace.json", 100)
    label = Label(name="trace.json", said=Origin(project="demo", commit=BASE), created=NOON, machine=MACHINE)
    taken = lab.upload(path, label)
    assert taken.trace is not None
    trace = lab.trace(taken.trace)
    assert (trace.name, trace.run, trace.bytes, trace.sha256) == (
        "trace.json",
        taken.run,
        path.stat().st_size,
        taken.sha256,
    )
    assert lab.run(taken.run).run.traces == (trace,)
    assert (lab.run(taken.run).run.created, lab.run(taken.run).run.machine) == (NOON, NAMELESS)
    with lab.trace_file(taken.trace) as file:
        assert file.read() == path.read_bytes()
    assert len(lab.read_trace(taken.trace).slices) == 9


@pytest.mark.parametrize(
    ("told", "machine"),
    [
        ({"name": "ada", "cpu": "A CPU", "cores": 2, "os": "Linux x86_64", "python": "CPython 3.11"}, NAMELESS),
        ({"name": "ada"}, UNKNOWN),
        ("ada", UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_a_trace_may_say_its_machine(lab: Lab, files: Files, told: object, machine: Machine) -> None:
    content = json.loads(files.trace("trace.json", 100).read_text())
    path = files.write("told.json", json.dumps({**content, "machine": told, "baseTimeNanoseconds": 1769860800 * 10**9}))
    run = lab.run(give(lab, path)).run
    assert run.machine == machine
    assert run.created == NOON


def test_results_of_another_tool_take_the_machine_and_time_of_the_uploader(lab: Lab, files: Files) -> None:
    path = files.write("hyperfine.json", json.dumps({"results": [{"command": "sleep 1", "times": [1.0, 1.25]}]}))
    detail = lab.run(give(lab, path, machine=MACHINE, created=NOON))
    assert (detail.run.machine, detail.run.created, detail.run.tool) == (NAMELESS, NOON, "hyperfine")
    assert lab.run(give(lab, files.write("go.txt", "BenchmarkX-8 10 5 ns/op\n"))).run.tool == "go test -bench"


def test_progress_reaches_the_end(lab: Lab, files: Files) -> None:
    path = files.trace("trace.json", 100, steps=2000)
    seen: list[tuple[int, int]] = []
    said = Origin(project="demo", commit=BASE)
    lab.upload(path, Label(name="trace.json", said=said), lambda done, total: seen.append((done, total)))
    size = path.stat().st_size
    assert seen == sorted(seen)
    assert seen[-1] == (size, size)


def test_series_order_commits_by_their_first_run_and_keep_machines_apart(lab: Lab, files: Files) -> None:
    give(lab, files.run("head.json", 4.0, minutes=5), commit=HEAD)
    late = give(lab, files.run("late.json", 3.0, 1.0, 2.0, minutes=9))
    early = give(lab, files.run("early.json", 2.0))
    other = Machine.of(name="bob", cpu="Another CPU", cores=4, os="Linux x86_64", python="CPython 3.11")
    give(lab, files.run("other.json", 9.0, machine=other))
    ours, theirs = lab.series("demo", "step")
    assert [(point.commit, point.median) for point in ours.points] == [(BASE, 2.0), (BASE, 2.0), (HEAD, 4.0)]
    assert [point.run for point in ours.points][:2] == [early, late]
    assert (ours.points[1].samples, ours.points[1].minimum) == (3, 1.0)
    assert [point.median for point in theirs.points] == [9.0]
    assert lab.series("demo", "step", other.fingerprint) == [theirs]
    give(lab, files.run("large.json", 7.0, n=2))
    [large] = lab.series("demo", "step", params="n=2")
    assert [point.median for point in large.points] == [7.0]
    assert lab.series("demo", "step", params="n=1") == [ours, theirs]
    listed, other_size = lab.benchmarks("demo")
    assert (listed.benchmark.name, listed.results, len(listed.machines)) == ("step", 4, 2)
    assert (other_size.benchmark.params_text, other_size.results) == ("n=2", 1)
    assert lab.benchmarks() == [listed, other_size]
    assert lab.benchmarks("other") == []


def test_compare_judges_results_and_traces(lab: Lab, files: Files) -> None:
    for process in range(5):
        give(lab, files.run(f"base{process}.json", 1.0 + process / 100))
        give(lab, files.run(f"head{process}.json", 2.0 + process / 100), commit=HEAD)
    give(lab, files.trace("base.json", 100))
    give(lab, files.trace("head.json", 300), commit=HEAD)
    comparison = lab.compare(BASE[:7], HEAD)
    assert (comparison.project, comparison.base, comparison.head, comparison.exit_code) == ("demo", BASE, HEAD, 1)
    [finding] = comparison.report.findings
    assert finding.verdict == Verdict.REGRESSION
    assert finding.comparison is not None and finding.comparison.n_base == 5
    assert comparison.base_trace is not None and comparison.base_trace.name == "base.json"
    assert comparison.diff is not None and comparison.diff.ops[0].name == "matmul"
    assert comparison.report.causes is not None
    strict = lab.compare(BASE, HEAD, "demo", GateOptions(alpha=0.001))
    assert strict.exit_code == 2
    assert strict.report.options.alpha == 0.001


def test_compare_takes_the_trace_with_the_median_step(lab: Lab, files: Files) -> None:
    for time in (300, 100, 200):
        give(lab, files.trace(f"{time}.json", time))
    comparison = lab.compare(BASE, BASE)
    assert comparison.head_trace is not None and comparison.head_trace.name == "200.json"


def test_what_is_not_there_is_not_found(lab: Lab, files: Files) -> None:
    give(lab, files.run("a.json", 1.0))
    for ask, sentence in (
        (lambda: lab.run(9), "the lab has no run 9; list the runs it has"),
        (lambda: lab.run(2**64), f"the lab has no run {2**64}; list the runs it has"),
        (lambda: lab.trace(9), "the lab has no trace 9; list the runs and their traces"),
        (lambda: lab.trace(-(2**64)), f"the lab has no trace {-(2**64)}; list the runs and their traces"),
        (lambda: lab.trace_file(9), "the lab has no trace 9; list the runs and their traces"),
        (lambda: lab.runs(commit=HEAD), f"the lab has no run of commit {HEAD}; upload one, or look at the runs it has"),
        (
            lambda: lab.compare(BASE, HEAD[:8]),
            f"the lab has no run of commit {HEAD[:8]}; upload one, or look at the runs it has",
        ),
        (
            lambda: lab.series("demo", "other"),
            "project demo has no results of benchmark other; list the benchmarks that it has",
        ),
    ):
        with pytest.raises(NotFound) as caught:
            ask()
        assert str(caught.value) == sentence


def test_a_prefix_of_two_commits_is_ambiguous(lab: Lab, files: Files) -> None:
    path = files.run("a.json", 1.0)
    give(lab, path)
    give(lab, path, commit=BASE[:-1] + "0")
    with pytest.raises(Ambiguous) as caught:
        lab.runs(commit="ba5eba5")
    assert str(caught.value) == (
        f"commit ba5eba5 could be {BASE[:-1]}0 in demo, {BASE} in demo; give more digits, or name the project"
    )


@pytest.mark.parametrize("commit", ["", "main", "HEAD~1", "ba5e", "0x" + "a" * 38, "g" * 40, "a" * 41, "☃" * 40])
def test_a_commit_that_is_no_sha_is_refused(lab: Lab, files: Files, commit: str) -> None:
    with pytest.raises(Refused, match="is no SHA; give at least the first 7 of its 40 hex digits"):
        lab.runs(commit=commit)
    with pytest.raises(Refused, match="is no SHA"):
        lab.compare(commit, BASE)


def test_a_renamed_benchmark_is_compared_with_what_it_was(lab: Lab, files: Files) -> None:
    for process in range(5):
        give(lab, files.run(f"a{process}.json", 1 + process / 100))
        give(lab, files.run(f"b{process}.json", 2 + process / 100, benchmark="new"), commit=HEAD)
    found = {each.benchmark.name: each.verdict for each in lab.compare(BASE, HEAD).report.findings}
    assert found == {"step": Verdict.MISSING, "new": Verdict.NEW}
    report = lab.compare(BASE, HEAD, options=GateOptions(renamed={"step": "new"})).report
    [finding] = report.findings
    assert (finding.benchmark.name, finding.verdict) == ("new", Verdict.REGRESSION)
    assert report.options.renamed == {"step": "new"}
