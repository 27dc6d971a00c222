"""Measures things in turn in one process, so that what disturbs the machine disturbs all alike, and tells their ratio.

A sample is short (2 ms), so that some samples fall between two preemptions: read the least; the median shows the noise.
"""

import statistics
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .quantity import SECONDS, quantity

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

SAMPLE_SECONDS = 0.002
ROUNDS = 50

Sampler = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds a call, one for each sample."""

    samples: tuple[float, ...]

    @property
    def least(self) -> float:
        return min(self.samples)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    def __str__(self) -> str:
        return f"{quantity(self.least, SECONDS)} / {quantity(self.median, SECONDS)}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A line of the table: what was measured, what came, and the goal in words with whether it was met.

    also: what came of the peer with other settings, and the ratio to that.
    """

    what: str
    ours: str
    peer: str = ""
    value: str = ""
    goal: str = ""
    met: bool | None = None
    also: str = ""


@dataclass(slots=True)
class Table:
    """The figures of a session; `settings` are those that the figures' last column speaks of."""

    figures: list[Figure] = field(default_factory=list)
    settings: str = ""

    def lines(self, peer: str) -> list[str]:
        """Aligned text; `peer` heads the other's column."""
        words = {None: "", True: "met", False: "missed"}
        rows = [["", "perflab", peer, "ratio", "goal", "", self.settings]]
        rows += [[it.what, it.ours, it.peer, it.value, it.goal, words[it.met], it.also] for it in self.figures]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [
            "  ".join(
                [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
            ).rstrip()
            for row in rows
        ]


def statement(
    text: str, namespace: Mapping[str, Any], *, collect: bool = False, seconds: float = SAMPLE_SECONDS
) -> Sampler:
    """Samples a statement run in `namespace`; `collect` leaves Python's cycle collector on, as training loops do."""
    timer = timeit.Timer(text, "import gc; gc.enable()" if collect else "pass", globals=dict(namespace))
    timer.timeit(3)
    calls, took = 1, timer.timeit(1)
    while took < 0.7 * seconds:
        calls = max(calls + 1, min(8 * calls, int(calls * seconds / max(took, 1e-7))))
        took = timer.timeit(calls)
    return lambda: timer.timeit(calls) / calls


class Clock:
    """A clock that only samples move: through it pytest-benchmark records what a sampler measured."""

    __name__ = "sampled"

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class Measure:
    """What a benchmark measures with.

    Attributes:
        benchmark: pytest-benchmark's fixture, on `clock`: it records the first of what is measured in turn.
        table: what is printed at the end.
        ours: perflab.runtime.
        torch: PyTorch, None where it is not installed.
    """

    benchmark: "BenchmarkFixture"
    clock: Clock
    table: Table
    ours: ModuleType
    torch: ModuleType | None

    def in_turn(self, samplers: Mapping[str, Sampler], rounds: int = ROUNDS) -> dict[str, Times]:
        """Samples each in turn, `rounds` times; pytest-benchmark records the first, extra_info the others."""
        samples: dict[str, list[float]] = {name: [] for name in samplers}
        recorded = next(iter(samplers))

        def once() -> None:
            for name, sampler in samplers.items():
                seconds = sampler()
                samples[name].append(seconds)
                if name == recorded:
                    self.clock.now += seconds

        self.benchmark.pedantic(once, rounds=rounds)  # type: ignore[no-untyped-call]
        times = {name: Times(tuple(taken)) for name, taken in samples.items()}
        for name, taken in times.items():
            self.benchmark.extra_info[f"{name} least"] = taken.least
            self.benchmark.extra_info[f"{name} median"] = taken.median
        return times

    def beside(
        self,
        what: str,
        text: str,
        make: Callable[[ModuleType], Mapping[str, Any]],
        *,
        at_most: float | None = None,
        collect: bool = False,
        rounds: int = ROUNDS,
        other: Sampler | None = None,
    ) -> None:
        """Times one statement on perflab and, where it is installed, on PyTorch: `make` gives its names for either.

        other: PyTorch with other settings. With --benchmark-disable it runs once, on perflab.
        """
        if self.benchmark.disabled:
            timer = timeit.Timer(text, globals=dict(make(self.ours)))
            self.benchmark.pedantic(timer.timeit, args=(1,))  # type: ignore[no-untyped-call]
            return
        samplers = {"perflab": statement(text, make(self.ours), collect=collect)}
        if self.torch:
            samplers["torch"] = statement(text, make(self.torch), collect=collect)
        times = self.in_turn(samplers, rounds)
        goal = "" if at_most is None else f"<= {at_most:g}"
        if "torch" not in times:
            self.table.figures.append(Figure(what, str(times["perflab"]), goal=goal))
            return
        ratio = times["perflab"].least / times["torch"].least
        self.benchmark.extra_info["ratio"] = ratio
        met = None if at_most is None else ratio <= at_most
        also = ""
        if other:  # by itself: who comes after another process finds its core asleep
            alone = Times(tuple(other() for _ in range(rounds)))
            also = f"{alone} {times['perflab'].least / alone.least:.3f}"
        ours, peer = str(times["perflab"]), str(times["torch"])
        self.table.figures.append(Figure(what, ours, peer, f"{ratio:.3f}", goal, met, also))

    def figure(
        self, what: str, ours: str, peer: str = "", value: str = "", goal: str = "", met: bool | None = None
    ) -> None:
        """Adds a line to the table and its value to extra_info."""
        self.table.figures.append(Figure(what, ours, peer, value, goal, met))
        self.benchmark.extra_info[what] = value or ours
