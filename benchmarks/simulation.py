"""How often a rule cries wolf and what it catches: ours beside the usual ones, on made-up and on recorded noise.

    python -m perflab.benchmarks.simulation [--streams 1000]

Recorded noise is in noise.npz, as logarithms of results of code that did not change:

numpy_i7, numpy_atom    asv results of NumPy's commits over years on two machines (github.com/pv/numpy-bench), 100
                        benchmarks each, drawn by chance. The median of 31 commits around is taken out, so what lasted
                        for 16 commits or more counts as a change of the code; what is left is noise.
shared, shared_median   12 small workloads in 700 processes, one after the other, on 2 cores of a virtual machine that
                        others kept busy: the least and the median of 20 rounds of each process. Nothing is taken out.

The rule was chosen on numpy_i7; the others were held out.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .history import change_points
from .interleave import ROUND, order
from .stats import Comparison, Verdict, compare, holm, verdict
from .suspects import is_suspect

NOISE = Path(__file__).with_name("noise.npz")
RECORDED = ("numpy_i7", "numpy_atom", "shared")
COMMITS = 110  # a stream: what the rules learn from, then what they are judged on
LEARNED = 65
MIN_EFFECT = 0.03  # the gate's own
WITHIN = 5  # commits after which a step must have been told

Values = NDArray[np.float64]
# Indices of the results at which a rule says that it got slower; as long as it goes on saying so, once.
Rule = Callable[[Sequence[float]], list[int]]


# ---- rules


def ours(values: Sequence[float]) -> list[int]:
    """The change points of history.py."""
    return [change.seen for change in change_points(values) if change.ratio > 1]


def over_previous(share: float) -> Rule:
    """More than so much slower than the result before."""
    return lambda values: _begins(np.diff(np.log(values), prepend=math.inf) > math.log1p(share))


def z_score(limit: float, window: int) -> Rule:
    """So many standard deviations above the mean of the results before."""

    def rule(values: Sequence[float]) -> list[int]:
        said = np.zeros(len(values), bool)
        for at in range(10, len(values)):
            before = np.asarray(values[max(0, at - window) : at])
            said[at] = values[at] - before.mean() > limit * before.std(ddof=1)
        return _begins(said)

    return rule


RULES: Mapping[str, Rule] = {
    "perflab": ours,
    "10 % over the previous": over_previous(0.10),
    "5 % over the previous": over_previous(0.05),
    "z score of 5 over 100": z_score(5, 100),
    "z score of 3 over 20": z_score(3, 20),
}


def _begins(said: NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(said & ~np.concatenate([[False], said[:-1]])).tolist()


# ---- noise


@cache
def recorded(name: str) -> Values:
    """Logarithms of recorded results, a row a benchmark, in the order of their measuring."""
    with np.load(NOISE) as file:
        return np.asarray(file[name], float)


def synthetic(name: str, random: np.random.Generator, count: int) -> Values:
    """Made-up streams around 1 with a spread of 2 %: "normal", "outliers", "drifting" or "two levels"."""
    noise = random.normal(scale=0.02, size=(count, COMMITS))
    if name == "outliers":
        noise += random.exponential(0.2, noise.shape) * (random.random(noise.shape) < 0.05)
    elif name == "drifting":  # each result leans on the one before
        for at in range(1, COMMITS):
            noise[:, at] = 0.6 * noise[:, at - 1] + 0.8 * noise[:, at]
    elif name == "two levels":  # as memory happens to lie
        noise = noise / 2 + 0.05 * (random.random(noise.shape) < 0.3)
    return np.exp(noise)


SYNTHETIC = ("normal", "outliers", "drifting", "two levels")


def streams(name: str, count: int, seed: int = 0) -> Values:
    """Streams of results of unchanged code, a row each."""
    random = np.random.default_rng(seed)
    if name in SYNTHETIC:
        return synthetic(name, random, count)
    rows = recorded(name)
    which = random.integers(len(rows), size=count)
    begin = random.integers(rows.shape[1] - COMMITS + 1, size=count)
    return np.exp(np.stack([rows[row, at : at + COMMITS] for row, at in zip(which, begin, strict=True)]))


# ---- history


@dataclass(frozen=True, slots=True)
class Figures:
    """What a rule did: false alarms among 1000 results of unchanged code, and shares of slow-downs told in time."""

    false_alarms: float
    step_5: float
    step_10: float
    drift: float


def measure(rule: Rule, noise: Values) -> Figures:
    """Steps begin at LEARNED and must be told within 5 commits; drifts of 1 % a commit, before the stream's end."""
    at = np.arange(COMMITS)
    judged = COMMITS - LEARNED

    def told(values: Values, within: int) -> Iterator[int]:
        return (sum(LEARNED <= index < LEARNED + within for index in rule(row)) for row in values.tolist())

    def caught(factor: Values, within: int) -> float:
        return sum(count > 0 for count in told(noise * factor, within)) / len(noise)

    return Figures(
        false_alarms=1000 * sum(told(noise, judged)) / (len(noise) * judged),
        step_5=caught(np.where(at < LEARNED, 1, 1.05), WITHIN),
        step_10=caught(np.where(at < LEARNED, 1, 1.10), WITHIN),
        drift=caught(1.01 ** np.maximum(0, at - LEARNED + 1), judged),
    )


# ---- two commits


@dataclass(frozen=True, slots=True)
class Told:
    """Which benchmarks of a suite a rule calls slower, and how many processes a side each took, on average."""

    slower: list[bool]
    processes: float


# A row a benchmark, a value a process.
PairRule = Callable[[Values, Values], Told]


def at_once(base: Values, head: Values) -> Told:
    """What the gate calls a regression of folders that hold so many processes."""
    compared = [compare(a, b) for a, b in zip(base.tolist(), head.tolist(), strict=True)]
    return Told(_regressed(compared), base.shape[1])


def by_rounds(base: Values, head: Values) -> Told:
    """What `perflab gate --against` does: all benchmarks in the first round, suspects alone in those after it."""
    sides = list(zip(base.tolist(), head.tolist(), strict=True))
    taken, left = [0] * len(sides), list(range(len(sides)))
    compared: dict[int, Comparison] = {}
    while left and taken[left[0]] < base.shape[1]:
        for row in left:
            taken[row] = min(taken[row] + ROUND, base.shape[1])
            compared[row] = compare(*(side[: taken[row]] for side in sides[row]))
        left = [row for row in left if is_suspect(compared[row].ratio, MIN_EFFECT)]
    return Told(_regressed([compared[row] for row in range(len(sides))]), sum(taken) / len(taken))


def _regressed(compared: Sequence[Comparison]) -> list[bool]:
    corrected = holm([comparison.p_value for comparison in compared])
    return [
        verdict(comparison, p, benchmarks=len(compared), min_effect=MIN_EFFECT) == Verdict.REGRESSION
        for comparison, p in zip(compared, corrected, strict=True)
    ]


def over_base(base: Values, head: Values) -> Told:
    """More than 5 % over base, as pytest-benchmark's --benchmark-compare-fail has it."""
    return Told([bool(more) for more in head.mean(axis=1) > 1.05 * base.mean(axis=1)], base.shape[1])


@dataclass(frozen=True, slots=True)
class Design:
    """How two commits are measured and judged.

    Attributes:
        processes: of each side, at most.
        in_turn: A B B A in blocks by chance; else first all of base, then all of head.
        value: what a process gives: "shared", the least of its rounds, or "shared_median".
    """

    processes: int
    in_turn: bool
    value: str
    rule: PairRule


DESIGNS: Mapping[str, Design] = {
    "perflab, in turn by rounds, up to 24 + 24": Design(24, True, "shared", by_rounds),
    "in turn, 10 + 10 processes": Design(10, True, "shared", at_once),
    "in turn, 10 + 10 processes, medians": Design(10, True, "shared_median", at_once),
    "base before head, 10 + 10 processes": Design(10, False, "shared", at_once),
    "least:5%, a process each": Design(1, True, "shared", over_base),
    "median:5%, a process each": Design(1, True, "shared_median", over_base),
}


@dataclass(frozen=True, slots=True)
class Flagged:
    """Shares of benchmarks, and of whole suites of 12, flagged though the code is the same; of slow-downs caught; and
    how many processes a side a benchmark of unchanged code takes."""

    benchmarks: float
    suites: float
    step_5: float
    step_10: float
    processes: float


def judge_twice(design: Design, count: int, seed: int = 0) -> Flagged:
    """Judges `count` suites of the shared machine's workloads against themselves, and with one of them slowed down."""
    rows, random = recorded(design.value), np.random.default_rng(seed)
    flagged, caught, taken = np.zeros((count, len(rows)), bool), {1.05: 0, 1.10: 0}, 0.0
    for suite in range(count):
        begin = random.integers(rows.shape[1] - 2 * design.processes + 1)
        values = np.exp(rows[:, begin : begin + 2 * design.processes])
        turns = order(design.processes, suite) if design.in_turn else sorted("AB" * design.processes)
        is_head = np.array([turn == "B" for turn in turns])
        base, head = values[:, ~is_head], values[:, is_head]
        told = design.rule(base, head)
        flagged[suite], taken = told.slower, taken + told.processes
        changed = suite % len(rows)
        for factor in caught:
            factors = np.where(np.arange(len(rows)) == changed, factor, 1)[:, None]
            caught[factor] += design.rule(base, head * factors).slower[changed]
    shares = flagged.mean(), flagged.any(axis=1).mean(), caught[1.05] / count, caught[1.10] / count
    return Flagged(*shares, processes=taken / count)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m perflab.benchmarks.simulation", description="Prints the tables.")
    parser.add_argument("--streams", type=int, default=1000, metavar="N", help="default: %(default)s")
    count = parser.parse_args().streams
    print("noise       rule                      false alarms of 1000    +5 %   +10 %  1 % a commit")
    for name in (*RECORDED, *SYNTHETIC):
        noise = streams(name, count)
        for said, rule in RULES.items():
            it = measure(rule, noise)
            shares = f"{it.step_5:8.1%}{it.step_10:8.1%}{it.drift:14.1%}"
            print(f"{name:12}{said:26}{it.false_alarms:20.1f}{shares}", flush=True)
    print("\ntwo commits                               benchmarks flagged  suites of 12    +5 %   +10 %  processes")
    for said, design in DESIGNS.items():
        two = judge_twice(design, count)
        shares = f"{two.benchmarks:18.2%}{two.suites:14.1%}{two.step_5:8.1%}{two.step_10:8.1%}"
        print(f"{said:42}{shares}{two.processes:11.1f}", flush=True)


if __name__ == "__main__":
    main()
