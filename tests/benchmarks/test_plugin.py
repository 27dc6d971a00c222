"""The pytest plugin, in sessions of its own."""

from collections.abc import Callable

import pytest

import perflab.benchmarks.counters  # noqa: F401  a session takes back what it imported, and the core is loaded once

Session = Callable[..., tuple[int, str]]
QUIET = ("-q", "-p", "no:cacheprovider", "-p", "benchmark", "-p", "perflab")
STEP = """
import pytest
from perflab import runtime as rt

a = rt.ones(4, 8)

def test_step(benchmark):
    benchmark(lambda: (a + 1).relu())
"""


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Writes test_it.py and runs pytest there, in this process: exit code and output."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins take a second of each session

    def run(text: str, *arguments: str) -> tuple[int, str]:
        (pytester.path / "test_it.py").write_text(text, encoding="utf-8")
        done = pytester.runpytest_inprocess(*QUIET, "--benchmark-disable", *arguments)
        return int(done.ret), done.stdout.str() + done.stderr.str()

    return run


@pytest.fixture
def held(session: Session) -> Session:
    """The same, with counters.json written for STEP."""
    assert session(STEP, "--perflab-counters", "counters.json", "--perflab-update")[0] == 0
    return lambda text, *arguments: session(text, "--perflab-counters", "counters.json", *arguments)


def test_the_same_code_passes(held: Session, pytester: pytest.Pytester) -> None:
    code, output = held(STEP)
    assert code == 0
    assert "perflab: 1 benchmarks held against counters.json" in output
    assert '"add": {"calls": 1, "kernels": 1, "allocations": 1, "bytes": 128, "flops": 32}' in (
        (pytester.path / "counters.json").read_text()
    )


def test_a_copy_more_fails_with_its_name(held: Session, pytester: pytest.Pytester) -> None:
    before = (pytester.path / "counters.json").read_bytes()
    code, output = held(STEP.replace("(a + 1)", "(a + 1).copy()"))
    assert code == 1
    assert "it does not do what counters.json says:" in output
    assert "copy: 0 -> 1 calls, 0 -> 1 kernels, 0 -> 1 allocations, 0 -> 128 B" in output
    assert (pytester.path / "counters.json").read_bytes() == before


def test_an_update_accepts_and_forgets_what_is_gone(held: Session) -> None:
    other = STEP.replace("test_step", "test_other").replace("(a + 1)", "(a + 1).copy()")
    assert held(other, "--perflab-update")[0] == 0
    assert held(other)[0] == 0
    code, output = held(STEP)
    assert code == 1
    assert "counters.json does not know this benchmark: write it anew with --perflab-update" in output


def test_a_benchmark_that_is_gone_fails(held: Session) -> None:
    two = STEP + STEP.replace("test_step", "test_two")
    assert held(two, "--perflab-update")[0] == 0
    code, output = held(STEP)
    assert code == 1
    assert "counters.json has benchmarks that are gone: test_it.py::test_two" in output


@pytest.mark.parametrize("some", [("-k", "step"), ("test_it.py::test_step",)])
def test_of_chosen_benchmarks_none_is_gone(held: Session, some: tuple[str, ...]) -> None:
    assert held(STEP + STEP.replace("test_step", "test_two"), "--perflab-update")[0] == 0
    assert held(STEP + STEP.replace("test_step", "test_two"), *some)[0] == 0


@pytest.mark.parametrize(
    "text",
    [
        "def test_a(): pass",
        "def test_a(benchmark): benchmark(len, [])",
        STEP + "\npytestmark = pytest.mark.perflab(counters='off')",
    ],
)
def test_a_session_that_held_nothing_fails(held: Session, text: str) -> None:
    code, output = held(text)
    assert code != 0
    assert "no benchmark ran an op of perflab.runtime: nothing was held" in output


def test_what_depends_on_time_is_left_out(held: Session) -> None:
    off = STEP.replace("def test_step", "@pytest.mark.perflab(counters='off')\ndef test_off").partition("a = ")[2]
    code, output = held(f"{STEP}\na = {off}")
    assert code == 0
    assert "1 passed, 1 deselected" in output


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("counters='exct'", """perflab(counters='exct'): give "exact" or "off\""""),
        ("time='much'", """perflab(time='much'): give a share such as "2%\""""),
        ("'2%', count='off'", """perflab('2%', count): give time="2%", counters="exact", or counters="off\""""),
    ],
)
def test_a_marker_that_means_nothing_is_refused(session: Session, said: str, sentence: str) -> None:
    code, output = session(f"{STEP}\npytestmark = pytest.mark.perflab({said})")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert sentence in output


def test_a_failing_test_fails_as_ever(held: Session) -> None:
    code, output = held(STEP.replace("relu())", "relu())\n    assert 1 == 2"))
    assert code == 1
    assert "assert 1 == 2" in output


def test_setup_is_not_counted_and_arguments_are_given(session: Session) -> None:
    text = """
from perflab import runtime as rt
def run(a, *, b): return a + b
def test_setup(benchmark):
    benchmark.pedantic(run, setup=lambda: ((rt.ones(4).copy(),), {"b": 1}), rounds=3)
def test_arguments(benchmark):
    benchmark(run, rt.ones(4), b=2)
"""
    assert session(text, "--perflab-counters", "c.json", "--perflab-update")[0] == 0
    assert session(text.replace(".copy()", ""), "--perflab-counters", "c.json")[0] == 0
    assert session(text.replace("a + b", "a + b + 1"), "--perflab-counters", "c.json")[0] == 1


def test_odd_names_are_held(session: Session) -> None:
    text = STEP.replace(
        "def test_step(benchmark):",
        "@pytest.mark.parametrize('p', ['a/b [x] \\u2603', '\\U0001f600'])\ndef test_step(p, benchmark):",
    )
    assert session(text, "--perflab-counters", "c.json", "--perflab-update")[0] == 0
    assert session(text, "--perflab-counters", "c.json")[0] == 0


def test_timing_and_counting_go_together(held: Session) -> None:
    code, output = held(STEP, "--benchmark-enable")
    assert code == 0
    assert "Rounds" in output


@pytest.mark.parametrize(
    ("arguments", "content", "sentence"),
    [
        (("--perflab-update",), None, "--perflab-update writes a file of counters: name it with --perflab-counters"),
        (("--perflab-counters", "no.json"), None, "there is no no.json: write it with --perflab-update"),
        (("--perflab-counters", "bad.json"), "{", "bad.json: this is no file of counters"),
        (("--perflab-counters", "."), None, ".: [Errno 21]"),
    ],
)
def test_bad_usage_is_said(
    session: Session, pytester: pytest.Pytester, arguments: tuple[str, ...], content: str | None, sentence: str
) -> None:
    if content is not None:
        (pytester.path / "bad.json").write_text(content)
    code, output = session(STEP, *arguments)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert sentence in output


def test_what_the_gate_measures_again_runs_alone(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    two = STEP + STEP.replace("test_step", "test_two")
    monkeypatch.setenv("PERFLAB_ONLY", '["test_it.py::test_two", "test_it.py::test_gone"]')
    code, output = session(two)
    assert code == 0
    assert "1 passed, 1 deselected" in output


def test_several_processes_are_refused(session: Session) -> None:
    code, output = session(STEP, "--perflab-counters", "c.json", "--perflab-update", "-p", "xdist", "-n", "2")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "--perflab-counters needs the benchmarks in one process: leave out -n" in output


def test_without_pytest_benchmark_it_says_what_is_missing(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_inprocess("-p", "no:benchmark", "--perflab-counters", "c.json")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "install pytest-benchmark" in done.stderr.str()


def test_without_its_options_the_plugin_loads_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\ndef test_it(): assert not {'numpy', 'perflab.runtime', 'perflab.profiler'} & set(sys.modules)"
    )
    done = pytester.runpytest_subprocess("-W", "ignore::pytest.PytestAssertRewriteWarning")
    assert done.ret == 0, done.stdout.str()
