"""Runs made by hand: one value a run, so that the statistics under test are plain to see."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import pytest

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Result, Run

MACHINE = Machine.of(name="bench-1", cpu="AMD EPYC", cores=2, os="Linux x86_64", python="CPython 3.11")
BASE = "1111111111111111111111111111111111111111"
HEAD = "2222222222222222222222222222222222222222"

Values = Mapping[str, Sequence[float]]
MakeRuns = Callable[..., list[Run]]


def make(
    values: Values, commit: str = BASE, machine: Machine = MACHINE, unit: str = "s", dirty: bool = False
) -> list[Run]:
    """One run for each position: {"add": [1.0, 1.1]} makes two runs of one benchmark."""
    count = max((len(column) for column in values.values()), default=0)
    created = datetime(2026, 1, 31, 12, tzinfo=UTC)
    return [
        Run(
            project="demo",
            commit=commit,
            branch="main",
            machine=machine,
            created=created,
            tool="pytest-benchmark 5.3.1",
            results=tuple(
                Result(Benchmark(name, unit=unit), (column[index],))
                for name, column in values.items()
                if index < len(column)
            ),
            dirty=dirty,
        )
        for index in range(count)
    ]


@pytest.fixture
def runs() -> MakeRuns:
    """Base runs by name of benchmark."""
    return make


@pytest.fixture
def head_runs() -> MakeRuns:
    """Head runs by name of benchmark."""
    return lambda values, **more: make(values, commit=HEAD, **more)
