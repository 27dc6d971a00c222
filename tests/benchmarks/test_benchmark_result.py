"""Run and its JSON."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflab.benchmarks.errors import BenchmarkFormatError
from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Result, Run

MACHINE = Machine.of(name="ci-7", cpu="AMD EPYC", cores=2, os="Linux x86_64", python="CPython 3.11")
CREATED = datetime(2026, 1, 31, 12, tzinfo=UTC)


def run(*results: Result) -> Run:
    return Run("demo", "abc1234", "main", MACHINE, CREATED, "pytest-benchmark 5.3.1", results)


def data() -> dict[str, object]:
    return json.loads(run(Result(Benchmark("add", {"n": "4"}), (1e-7, 2e-7))).to_json())


samples = st.lists(st.floats(0, allow_nan=False, allow_infinity=False), min_size=1).map(tuple)


@given(st.text(), st.dictionaries(st.text(), st.text()), samples, st.none() | st.text(), st.booleans())
def test_json_gives_back_the_same_run(
    name: str, params: dict[str, str], values: tuple[float, ...], branch: str | None, dirty: bool
) -> None:
    before = Run("demo", None, branch, MACHINE, CREATED, "t", (Result(Benchmark(name, params), values),), dirty)
    after = Run.from_json(before.to_json())
    assert after == before
    assert after.to_json() == before.to_json()


def test_the_file_is_what_the_docstring_draws() -> None:
    assert data() == {
        "format": "perflab.run",
        "version": 1,
        "project": "demo",
        "commit": "abc1234",
        "branch": "main",
        "dirty": False,
        "machine": {"name": "ci-7", "cpu": "AMD EPYC", "cores": 2, "os": "Linux x86_64", "python": "CPython 3.11"},
        "created": "2026-01-31T12:00:00+00:00",
        "tool": "pytest-benchmark 5.3.1",
        "environment": {},
        "results": [{"name": "add", "params": {"n": "4"}, "unit": "s", "direction": "lower", "samples": [1e-7, 2e-7]}],
    }


@pytest.mark.parametrize(
    "version, message",
    [
        (2, "the run file is of version 2 and this perflab reads version 1; upgrade perflab"),
        (0, "the run file is of version 0 and this perflab reads version 1; measure again with this perflab"),
        (None, "the run file is of version None and this perflab reads version 1; measure again with this perflab"),
    ],
)
def test_another_version_is_refused(version: int | None, message: str) -> None:
    with pytest.raises(BenchmarkFormatError) as error:
        Run.from_json(json.dumps({**data(), "version": version}))
    assert str(error.value) == message


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"format": "x"},
            'a run file has "format": "perflab.run" at its top, and this has not; write it with Run.to_json',
        ),
        ({"results": 3}, "results is int where a run file has list; write it with Run.to_json"),
        ({"commit": 3}, "commit is int where a run file has str; write it with Run.to_json"),
        ({"machine": None}, "machine is NoneType where a run file has dict; write it with Run.to_json"),
        ({"machine": {}}, "name is missing where a run file has str; write it with Run.to_json"),
        ({"results": [7]}, "an entry of results is int, not an object; write the file with Run.to_json"),
        ({"created": "soon"}, "the time is 'soon'; give ISO 8601 such as 2026-01-31T12:00:00+00:00"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(BenchmarkFormatError) as error:
        Run.from_json(json.dumps({**data(), **change}))
    assert str(error.value) == message


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("samples", [], "add: it has no samples; measure at least one round"),
        ("samples", ["1"], "add: a sample is '1', not a number; measure it again"),
        ("samples", [True], "add: a sample is True, not a number; measure it again"),
        ("samples", [-1.0], "add: a sample is -1.0; use a monotonic timer and measure again"),
        ("samples", [float("nan")], "add: a sample is nan; use a monotonic timer and measure again"),
        ("samples", [10**400], "add: a sample is inf; use a monotonic timer and measure again"),
        ("direction", "up", 'direction is \'up\'; give "lower" or "higher", whichever is better'),
    ],
)
def test_a_wrong_result_is_refused(field: str, value: object, message: str) -> None:
    broken = data()
    broken["results"][0][field] = value  # type: ignore[index]
    with pytest.raises(BenchmarkFormatError) as error:
        Run.from_json(json.dumps(broken))
    assert str(error.value) == message


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(BenchmarkFormatError, match="a run file is JSON, and this is not"):
        Run.from_json("perflab")


def test_a_benchmark_comes_once_in_a_run() -> None:
    twice = Result(Benchmark("add"), (1.0,))
    with pytest.raises(BenchmarkFormatError, match="add: it comes twice in one run; give each benchmark its own name"):
        run(twice, twice)


def test_a_benchmark_is_name_parameters_unit_and_direction() -> None:
    one = Benchmark("add", {"a": "1", "b": "2"})
    assert hash(one) == hash(Benchmark("add", {"b": "2", "a": "1"}))
    others = [Benchmark("sub", one.params), Benchmark("add"), Benchmark("add", one.params, "ns")]
    others.append(Benchmark("add", one.params, direction="higher"))
    assert len({one.key, *(other.key for other in others)}) == 5


def test_the_best_sample_stands_for_the_process() -> None:
    assert Result(Benchmark("add"), (5.0, 1.0, 2.0)).best == 1.0
    assert Result(Benchmark("add", unit="ops/s", direction="higher"), (5.0, 1.0, 2.0)).best == 5.0


def test_the_median_is_what_people_look_at() -> None:
    assert Result(Benchmark("add"), (5.0, 1.0, 2.0)).median == 2.0
