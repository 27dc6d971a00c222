"""One suite in several processes: `pytest SUITE --perflab FOLDER`."""

from collections.abc import Callable

import pytest

from perflab.benchmarks import folder
from perflab.benchmarks.gate import GateOptions
from perflab.benchmarks.report import text as text_of
from perflab.benchmarks.suite import KEPT

Suite = Callable[..., tuple[int, str]]
PLUGINS = ("-p", "no:cacheprovider", "-p", "perflab")
BENCHMARK = ("-p", "benchmark", "--benchmark-max-time", "0.01")  # rounds of no time to speak of
TWO = """
import os, pytest

@pytest.mark.parametrize("name", ["a/b [x] \\u2603", "\\U0001f600"])
def test_sort(benchmark, name):
    benchmark(sorted, [3, 1, 2])

@pytest.mark.perflab(time="12.5%")
def test_process(benchmark):
    benchmark.pedantic(os.getpid, rounds=5000)
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """Writes test_it.py and runs pytest there in a process of its own: exit code and output."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins take a second of each process

    def run(text: str, *arguments: str, benchmark: tuple[str, ...] = BENCHMARK) -> tuple[int, str]:
        (pytester.path / "test_it.py").write_text(text, encoding="utf-8")
        done = pytester.runpytest_subprocess(*PLUGINS, *benchmark, *arguments)
        return int(done.ret), done.stdout.str() + done.stderr.str()

    return run


def test_each_process_leaves_a_run(suite: Suite, pytester: pytest.Pytester) -> None:
    code, output = suite(TWO, "--perflab", "runs", "--perflab-processes", "2")
    assert code == 0, output
    assert "perflab: process 2 of 2: 3 benchmarks" in output
    assert sorted(path.name for path in (pytester.path / "runs").iterdir()) == ["001.json", "002.json"]
    runs = folder.read(pytester.path / "runs").runs
    for run in runs:
        names = [result.benchmark.name for result in run.results]
        assert names[2] == "test_it.py::test_process"
        # pytest writes what is not ASCII as escapes
        assert names[0] == r"test_it.py::test_sort[a/b [x] \u2603]"
        assert names[1].startswith(r"test_it.py::test_sort[\U0001f600")
        assert [result.min_effect for result in run.results] == [None, None, 0.125]
        process = run.results[2].samples
        assert KEPT <= len(process) <= KEPT + 2
        assert all(sample > 0 for sample in process)
    assert runs[0].machine == runs[1].machine
    assert runs[0].environment == runs[1].environment
    assert runs[0].environment["pytest"] == pytest.__version__


def test_a_suite_that_fails_ends_with_its_code(suite: Suite, pytester: pytest.Pytester) -> None:
    code, output = suite("def test_it(benchmark): benchmark(int, 'no number')", "--perflab", "runs")
    assert code == 1
    assert "invalid literal for int()" in output
    assert "perflab: process 1 of 5 ended with 1; no more are started" in output
    assert list((pytester.path / "runs").iterdir()) == []


def test_zero_measured_is_no_success(suite: Suite) -> None:
    code, output = suite("def test_it(): pass", "--perflab", "runs")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "no benchmark ran: name tests that use the fixture `benchmark`" in output


def test_runs_are_not_mixed_with_older_ones(suite: Suite, pytester: pytest.Pytester) -> None:
    (pytester.path / "runs").mkdir()
    (pytester.path / "runs" / "001.json").write_text("{}")
    code, output = suite(TWO, "--perflab", "runs")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "runs has run files already: empty it, or name another folder" in output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--benchmark-disable",), "--perflab times benchmarks, and --benchmark-disable is on: leave it out, or add"),
        (("--benchmark-skip",), "--perflab times benchmarks, and --benchmark-skip is on: leave it out, or add"),
        (("--perflab-processes", "0"), "--perflab-processes needs at least 1"),
    ],
)
def test_what_times_nothing_is_refused(
    suite: Suite, pytester: pytest.Pytester, arguments: tuple[str, ...], sentence: str
) -> None:
    code, output = suite(TWO, "--perflab", "runs", *arguments)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert sentence in output
    assert not (pytester.path / "runs").exists()


def test_without_pytest_benchmark_it_says_what_is_missing(suite: Suite) -> None:
    code, output = suite(TWO, "--perflab", "runs", benchmark=())
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "--perflab needs pytest-benchmark's benchmarks: install pytest-benchmark" in output


def test_xdist_is_refused(suite: Suite) -> None:
    code, output = suite(TWO, "--perflab", "runs", "-p", "xdist", "-n", "2")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "--perflab needs the benchmarks in one process: leave out -n" in output


# Its clock is its own: a round takes a thousandth, or as much more as a copy is said to cost.
STEP = """
import itertools, pytest
from perflab import runtime as rt

ticks, a = itertools.count(), rt.ones(64, 64)

@pytest.mark.benchmark(timer=lambda: next(ticks) * SECONDS)
def test_step(benchmark):
    benchmark.pedantic(lambda: (a + 1).relu(), rounds=3)

def test_python(benchmark):
    benchmark.pedantic(int, rounds=3)

@pytest.mark.perflab(counters="off")
def test_profiled(benchmark):
    from perflab.profiler import profile
    with profile():
        benchmark.pedantic(a.sum, rounds=1)
"""


def test_a_profiled_process_tells_why(suite: Suite, pytester: pytest.Pytester) -> None:
    slower = STEP.replace("(a + 1)", "(a + 1).copy()").replace("SECONDS", "0.0012")
    for name, text in (("base", STEP.replace("SECONDS", "0.001")), ("head", slower)):
        code, output = suite(text, "--perflab", name, "--perflab-processes", "3", "-k", "step or profiled")
        assert code == 0, output
        assert "perflab: profiled: 1 benchmarks run ops of perflab.runtime" in output
    base, head = (folder.read(pytester.path / name) for name in ("base", "head"))
    assert base.traces == {"test_it.py::test_step": pytester.path / "base" / "001.json.gz"}
    report = folder.judge_measured(base, head, GateOptions(alpha=0.2, min_effect=0.1))
    step = next(finding for finding in report.findings if finding.benchmark.name == "test_it.py::test_step")
    assert step.verdict == "regression"
    assert step.causes is not None
    copy = next(cause for cause in step.causes.grew if cause.name == "copy")
    assert (copy.count, copy.bytes) == (1, 64 * 64 * 4)
    assert "0 -> 1 calls a step, +16 KiB allocated a step" in copy.text
    assert "Why test_it.py::test_step: A step takes" in text_of(report)


def test_what_runs_no_op_leaves_no_trace(suite: Suite, pytester: pytest.Pytester) -> None:
    code, output = suite(STEP.replace("SECONDS", "1"), "--perflab", "runs", "--perflab-processes", "1", "-k", "python")
    assert (code, "profiled: 0 benchmarks" in output) == (0, True)
    assert folder.read(pytester.path / "runs").traces == {}
