"""Reading benchmark files: pytest-benchmark's of ten years, ours, and every way to be something else."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflab.benchmarks import formats
from perflab.benchmarks.errors import BenchmarkFormatError
from perflab.benchmarks.machine import this_machine
from perflab.benchmarks.result import Benchmark, Result

DATA = Path(__file__).parent.parent / "data" / "benchmarks"
CASES = Path(__file__).parent.parent.parent.parent / "shared" / "cases" / "benchmarks"
GIVE = "give results of pytest-benchmark, google-benchmark, hyperfine, asv, criterion, go test -bench or perflab"
CURRENT = (DATA / "pytest_benchmark_531.json").read_text()


def refusal(content: bytes | str) -> str:
    """The sentence, without the file's name."""
    with pytest.raises(BenchmarkFormatError) as error:
        formats.parse(content if isinstance(content, bytes) else content.encode(), "bench.json")
    assert "\n" not in str(error.value)
    name, _, sentence = str(error.value).partition(": ")
    assert name == "bench.json"
    return sentence


def changed(**changes: object) -> str:
    return json.dumps({**json.loads(CURRENT), **changes})


def with_stats(**stats: object) -> str:
    return changed(benchmarks=[{"fullname": "t.py::test_add", "stats": stats}])


def test_the_current_schema() -> None:
    run = formats.read(DATA / "pytest_benchmark_531.json")
    assert run.results == (
        Result(
            Benchmark("tests/test_add.py::test_add[a/b x[1]]", {"n": "4", "s": "a/b", "k": "null"}), (2e-7, 1e-7, 3e-7)
        ),
        Result(Benchmark("tests/test_add.py::test_once"), (1.0,)),
    )
    assert (run.project, run.branch, run.dirty, run.tool) == ("demo", "main", False, "pytest-benchmark 5.3.1")
    assert run.commit == "6139294bff486a452e9758e3832f1967f3eae654"
    assert run.created == datetime(2026, 11, 30, 1, 2, 5, 360321, tzinfo=UTC)
    assert str(run.machine) == "AMD EPYC, 2 cores, Linux x86_64, CPython 3.11"


def test_the_schema_of_2015_gives_its_least() -> None:
    run = formats.read(DATA / "pytest_benchmark_2015.json")
    assert run.results == (Result(Benchmark("tests/test_sort.py::test_small[0]"), (2.1e-7,)),)
    assert (run.project, run.branch, run.dirty, run.tool) == (None, None, True, "pytest-benchmark 2.5.0")
    assert run.created == datetime(2015, 8, 15, 0, 1, 46, 250433, tzinfo=UTC)
    assert str(run.machine) == "unknown CPU, unknown cores, Linux x86_64, CPython 2.7"


def test_what_the_installed_pytest_benchmark_writes(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_it(benchmark):\n    benchmark.pedantic(int, rounds=3, iterations=10)\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--benchmark-json",
        "out.json",
        "test_it.py",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    run = formats.read(tmp_path / "out.json")
    assert run.machine == this_machine()
    assert [result.benchmark.name for result in run.results] == ["test_it.py::test_it"]
    assert len(run.results[0].samples) == 3
    assert run.commit is None


def test_our_own_format() -> None:
    run = formats.read(DATA / "pytest_benchmark_531.json")
    assert formats.parse(run.to_json().encode(), "run.json") == run
    newer = json.dumps({**json.loads(run.to_json()), "version": 9})
    assert refusal(newer) == "the run file is of version 9 and this perflab reads version 1; upgrade perflab"


@pytest.mark.parametrize(
    "known, branch", [("main", "main"), ("(unknown)", None), ("(detached head)", None), (None, None)]
)
def test_unknown_branches(known: str | None, branch: str | None) -> None:
    info = {"id": "unversioned", "branch": known}
    run = formats.parse(changed(commit_info=info).encode(), "bench.json")
    assert (run.commit, run.branch, run.project) == (None, branch, None)


def test_a_rerun_in_the_same_process_adds_samples() -> None:
    once = json.loads(CURRENT)["benchmarks"][0]
    run = formats.parse(changed(benchmarks=[once, once]).encode(), "bench.json")
    assert run.results[0].samples == (2e-7, 1e-7, 3e-7, 2e-7, 1e-7, 3e-7)


def test_a_byte_order_mark_is_no_fault() -> None:
    assert formats.parse(b"\xef\xbb\xbf" + CURRENT.encode(), "bench.json").project == "demo"


@pytest.mark.parametrize("token, word", [("NaN", "nan"), ("Infinity", "inf"), ("-Infinity", "-inf"), ("1e999", "inf")])
def test_samples_that_are_no_numbers(token: str, word: str) -> None:
    name = "tests/test_add.py::test_add[a/b x[1]]"
    sentence = f"{name}: a sample is {word}; use a monotonic timer and measure again"
    assert refusal(CURRENT.replace("1e-07, 3e-07", f"{token}, 3e-07")) == sentence


def test_parameters_that_are_no_numbers_are_text() -> None:
    for token in ("NaN", "Infinity", "-Infinity"):
        run = formats.parse(CURRENT.replace('"n": 4', f'"n": {token}').encode(), "bench.json")
        assert run.results[0].benchmark.params["n"] == token
    assert formats.parse(changed(machine_info={"a": [float("nan")]}).encode(), "bench.json").machine.cores == 0


@pytest.mark.parametrize(
    "content, sentence",
    [
        ("", "the file is empty; did the benchmark run fail? Run it again and look at its end"),
        (" \n", "the file is empty; did the benchmark run fail? Run it again and look at its end"),
        (
            "<!DOCTYPE html><html>",
            "this is HTML, perhaps an error or login page; download the file itself and try again",
        ),
        (b"\x1f\x8b\x08", "the gzip data is cut short; copy or record the file again"),
        (b"PK\x03\x04", "the zip archive is damaged (File is not a zip file); copy it again"),
        (b"\xff\xfe{\x00", f"byte 0 is not UTF-8, so this is not JSON; {GIVE}"),
        ("PASSED in 3s", f"not JSON (Expecting value at line 1, column 1); {GIVE}"),
        ('{"benchmarks": [}', f"not JSON (Expecting value at line 1, column 17); {GIVE}"),
        ('{"benchmarks": []}x', f"not JSON (Extra data at line 1, column 19); {GIVE}"),
        ('{"a": ' + "9" * 5000 + "}", f"the JSON holds a number too long or is nested too deep; {GIVE}"),
        ("[" * 100_000 + "]" * 100_000, f"the JSON holds a number too long or is nested too deep; {GIVE}"),
        ("[]", f"this JSON is of no benchmark tool we read; {GIVE}"),
        ("7", f"this JSON is of no benchmark tool we read; {GIVE}"),
        ("{}", f"this JSON is of no benchmark tool we read; {GIVE}"),
        ('{"benchmarks": {}, "machine_info": {}}', f"this JSON is of no benchmark tool we read; {GIVE}"),
        ('{"traceEvents": []}', "this is a Chrome trace, not a benchmark file; give it where a trace is asked for"),
        ('{"format": "perflab.gate"}', f"this is a gate's report, not what it judged; {GIVE}"),
        (
            '{"version": 2, "t.time": {"code": "", "param_names": []}}',
            "this is asv's index of benchmarks, which holds no results; give the folder that it lies in",
        ),
        (
            '{"mean": {}, "median": {}, "slope": null}',
            "this is one file of criterion, which does not name its benchmark; give the folder target/criterion",
        ),
    ],
)
def test_what_is_no_benchmark_file(content: bytes | str, sentence: str) -> None:
    assert refusal(content) == sentence


@pytest.mark.parametrize(
    "content, sentence",
    [
        (
            changed(benchmarks=[]),
            "there are no benchmarks in it; did all fail, or was --benchmark-disable on? Run them again",
        ),
        (changed(benchmarks=[3]), "an entry of benchmarks has no name; run them again with --benchmark-json"),
        (changed(datetime="now"), "the time is 'now'; give ISO 8601 such as 2026-01-31T12:00:00+00:00"),
        (changed(datetime=None), "the time is None; give ISO 8601 such as 2026-01-31T12:00:00+00:00"),
        (with_stats(), "t.py::test_add: neither stats.data nor a min; run it again with --benchmark-json"),
        (with_stats(data={}), "t.py::test_add: neither stats.data nor a min; run it again with --benchmark-json"),
        (with_stats(data=["1"]), "t.py::test_add: a sample is '1', not a number; measure it again"),
        (with_stats(min=True), "t.py::test_add: a sample is True, not a number; measure it again"),
        (with_stats(data=[-1e-9]), "t.py::test_add: a sample is -1e-09; use a monotonic timer and measure again"),
    ],
)
def test_a_broken_benchmark_file(content: str, sentence: str) -> None:
    assert refusal(content) == sentence


@settings(max_examples=200)
@given(st.integers(1, len(CURRENT.strip()) - 1))
def test_a_file_cut_anywhere_is_said_to_be_cut(at: int) -> None:
    part = CURRENT.strip()[:at]
    assert refusal(part) == f"the JSON is cut short after {len(part.strip())} characters; copy the whole file"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    ["benchmarks", "machine_info", "commit_info", "stats", "data", "fullname", "results", "x"]
                ),
                x,
            )
        ),
    )
)
def test_any_json_is_a_run_or_a_sentence(data: object) -> None:
    assert refusal(json.dumps(data))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkFormatError) as error:
        formats.read(tmp_path / "gone.json")
    assert str(error.value) == f"{tmp_path / 'gone.json'}: No such file or directory; {GIVE}"
    with pytest.raises(BenchmarkFormatError, match="no benchmark results are in it"):
        formats.read(tmp_path)


@pytest.mark.skipif(not CASES.is_dir(), reason="the sample files beside the checkout are absent")
@pytest.mark.parametrize(
    "name, results, samples",
    [
        ("asv_result_v1", 12, 12),
        ("google_benchmark_base", 14, 14),
        ("google_benchmark_head", 14, 14),
        ("hyperfine_two", 2, 40),
        ("pytest_benchmark_531_odd", 21, 39_946),
        ("pytest_benchmark_py311", 4, 4),
        ("pytest_benchmark_py312", 1, 1),
        ("pytest_benchmark_v2_2015", 1, 1),
    ],
)
def test_sample_files_are_read(name: str, results: int, samples: int) -> None:
    run = formats.read(CASES / f"{name}.json")
    assert (len(run.results), sum(len(result.samples) for result in run.results)) == (results, samples)


@pytest.mark.skipif(not CASES.is_dir(), reason="the sample files beside the checkout are absent")
@pytest.mark.parametrize(
    "name, words",
    [("asv_benchmarks_index", "asv's index"), ("asv_result_columns", "no benchmark in it has a result")],
)
def test_sample_files_without_results_are_refused(name: str, words: str) -> None:
    with pytest.raises(BenchmarkFormatError, match=words):
        formats.read(CASES / f"{name}.json")


@pytest.mark.skipif(not CASES.is_dir(), reason="the sample files beside the checkout are absent")
def test_odd_names_and_one_round() -> None:
    run = formats.read(CASES / "pytest_benchmark_531_odd.json")
    names = [result.benchmark.name for result in run.results]
    assert {"test_odd.py::test_param[a/b]", "test_odd.py::TestC::test_param", "test_odd.py::test_param[nl\\n]"} < set(
        names
    )
    assert min(len(result.samples) for result in run.results) == 1
