"""The smallest change that a gate can tell on a machine, from processes that all ran the same code.

Two groups are drawn from the processes, one is slowed down, and the gate's test asks whether they differ. The floor is
the least slow-down that it finds in nearly all such draws: what is smaller drowns in the noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .quantity import percent
from .result import Benchmark, Result, Run
from .stats import rank_test, runs_needed

CHANGES = (0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
DRAWS = 200
CAUGHT = 0.85  # of the draws


@dataclass(frozen=True, slots=True)
class Floor:
    """What can be gated of one benchmark.

    Attributes:
        spread: the middle half of its processes, as a share of their median.
        change: the smallest of CHANGES that is told; None where even the largest is not.
        asked: the change that the benchmark itself says it cares about.
    """

    benchmark: Benchmark
    spread: float
    change: float | None
    asked: float | None

    @property
    def refusal(self) -> str | None:
        """Why what the benchmark asks for cannot be gated, a sentence."""
        if self.asked is None or (self.change is not None and self.asked >= self.change):
            return None
        told = "no change" if self.change is None else f"{percent(1 + self.change)} at least"
        return (
            f"{self.benchmark.name} asks for {percent(1 + self.asked)}, and {told} can be told: "
            "raise what it asks for, or measure more processes."
        )


def floors(runs: Sequence[Run], processes: int, alpha: float = 0.05, seed: int = 0) -> list[Floor]:
    """The floor of each benchmark in gates of so many processes a side, the noisiest first.

    Args:
        runs: one for each process, of one commit on one machine.
    """
    found: dict[Benchmark, list[Result]] = {}
    for run in runs:
        for result in run.results:
            found.setdefault(result.benchmark, []).append(result)
    least = alpha / max(len(found), 1)
    floors = []
    for benchmark, results in found.items():
        values = np.array([result.best for result in results])
        low, middle, high = np.percentile(values, [25, 50, 75])
        spread = float((high - low) / middle) if middle > 0 else 0.0
        change = _floor(values, processes, least, np.random.default_rng(seed))
        floors.append(Floor(benchmark, spread, change, results[-1].min_effect))
    return sorted(floors, key=lambda each: (-(each.change or np.inf), -each.spread, each.benchmark.key))


def enough(runs: int, processes: int, benchmarks: int, alpha: float = 0.05) -> str | None:
    """Why these runs tell no floor, a sentence; None where they do."""
    needed = runs_needed(alpha, benchmarks)
    if processes < needed:
        return f"{processes} processes a side tell nothing of {benchmarks} benchmarks: ask for {needed} at least."
    if runs < processes:
        return f"There are {runs} runs, and a side has {processes} processes: measure as many."
    return None


def _floor(values: np.ndarray, processes: int, least: float, random: np.random.Generator) -> float | None:
    draws = random.choice(values, size=(DRAWS, 2, processes)).tolist()
    low, high = 0, len(CHANGES)  # a larger change is told at least as often
    while low < high:
        at = (low + high) // 2
        factor = 1 + CHANGES[at]
        told = sum(rank_test(base, [factor * value for value in head]) <= least for base, head in draws)
        low, high = (low, at) if told >= CAUGHT * DRAWS else (at + 1, high)
    return CHANGES[low] if low < len(CHANGES) else None


def table(floors: Sequence[Floor], processes: int) -> str:
    """Text for a terminal, ending in a newline."""
    lines = [f"smallest change told in {CAUGHT:.0%} of gates of {processes} + {processes} processes", ""]
    width = max((len(each.benchmark.name) for each in floors), default=0)
    for each in floors:
        change = "none" if each.change is None else percent(1 + each.change)
        lines.append(f"{each.benchmark.name:{width}}  spread {each.spread:6.1%}  {change:>9}")
    refused = [each.refusal for each in floors if each.refusal]
    return "\n".join([*lines, *([""] if refused else []), *refused, ""])
