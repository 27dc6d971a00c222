"""Measures two sides in turn, a process at a time, so that what the machine does it does to both.

The order is made of blocks A B B A or B A A B, by chance: within a block both sides stand at the same mean place, so a
machine that speeds up or slows down does so for both, and neither side is always the one that runs second.

It is done in rounds of two blocks. The first measures all benchmarks; those after it measure only what may have
changed, until nothing is left that may or a side has had its number of processes. Ending early where nothing changed
costs no false alarm; a difference is told at the end alone.
"""

import json
import os
import random
import statistics
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import TypeAlias

from . import formats
from .errors import MeasuringFailed
from .quantity import percent
from .result import Run

FILE = "{file}"
ROUND = 4  # processes of each side: two blocks
ONLY = "PERFLAB_ONLY"  # set for rounds after the first: the names to measure, a JSON list; the pytest plugin obeys it
TRACES = "PERFLAB_SUITE_TRACES"  # set in a process that is profiled: where its traces go
MATTERS = 0.03  # an order effect from which on it is said


def order(processes: int, seed: int = 0) -> str:
    """So many processes of each side, A and B."""
    chance, turns = random.Random(seed), ""
    while len(turns) < 2 * processes:
        turns += chance.choice(("ABBA", "BAAB"))
    return turns[: 2 * processes]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run.

    Attributes:
        command: run in each side's folder, once a process; "{file}" in it is the file that it must write.
        processes: of each side, at most.
        limit: seconds after which a process is given up.
        seed: of the order.
    """

    command: Sequence[str]
    processes: int = 24
    limit: float = 600
    seed: int = 0

    def __post_init__(self) -> None:
        if not any(FILE in word for word in self.command):
            raise MeasuringFailed(
                f"the command names no {FILE}: say where it writes its results, as in --benchmark-json {FILE}"
            )
        if self.processes < 1:
            raise MeasuringFailed(f"{self.processes} processes measure nothing; give at least 1 of each side")


# The names of the benchmarks that may have changed, by what base and head have measured so far.
Suspects: TypeAlias = Callable[[Sequence[Run], Sequence[Run]], Collection[str]]


def measure(
    plan: Plan, trees: Mapping[str, Path], out: Path, suspects: Suspects, say: Callable[[str], None]
) -> list[str]:
    """Runs both sides in turn, and leaves a file a process in out/base and out/head.

    Args:
        trees: the folders of "base" and "head".
        suspects: is asked after each round what the next one shall measure.
        say: is told what runs now.

    Returns: sentences on what the report should say: processes that failed, and an effect of the order.

    Raises:
        MeasuringFailed: no process of a side left results; with what the last one said.
    """
    left = _Left(plan, trees, out)
    turns, only = order(plan.processes, plan.seed), None
    for begin in range(0, len(turns), 2 * ROUND):
        if begin:
            only = sorted(suspects(left.runs("base"), left.runs("head")))
            if not only:
                break
        for number, turn in enumerate(turns[begin : begin + 2 * ROUND], begin + 1):
            name = "base" if turn == "A" else "head"
            say(f"{number}/{len(turns)} {name}" + (f": {len(only)} that may have changed" if only else ""))
            left.run(number, name, only)
    return left.notes()


def trace(plan: Plan, trees: Mapping[str, Path], out: Path, only: Collection[str]) -> list[str]:
    """Runs one process more of each side, whose times do not count: perflab's pytest plugin and `perflab bench` leave
    traces of the benchmarks in `only` in out/base and out/head.

    Returns: a sentence for each side that failed.
    """
    notes = []
    for name, folder in trees.items():
        command = [word.replace(FILE, str(out / f"{name}.json")) for word in plan.command]
        told = {ONLY: json.dumps(sorted(only)), TRACES: str(out / name)}
        problem = _run(command, folder, plan.limit, told)
        if problem:
            notes.append(f"Profiling {name} failed: {problem}.")
    return notes


class _Left:
    """What the processes left."""

    def __init__(self, plan: Plan, trees: Mapping[str, Path], out: Path) -> None:
        self._plan = plan
        self._trees = trees
        self._out = out
        self._ran: list[tuple[str, Run]] = []
        self._count = dict.fromkeys(trees, 0)
        self._failed: dict[str, list[str]] = {name: [] for name in trees}
        for name in trees:
            (out / name).mkdir(parents=True)

    def run(self, number: int, name: str, only: Sequence[str] | None) -> None:
        """One process of a side; of all benchmarks, or `only` some."""
        file = (self._out / name / f"{number:03}.json").absolute()
        command = [word.replace(FILE, str(file)) for word in self._plan.command]
        told = {} if only is None else {ONLY: json.dumps(only)}
        problem = _run(command, self._trees[name], self._plan.limit, told)
        self._count[name] += 1
        if file.exists() and file.stat().st_size:
            self._ran.append((name, formats.read(file)))
        else:
            file.unlink(missing_ok=True)
            problem = problem or f"it wrote no {file.name}"
        if problem:
            self._failed[name].append(problem)

    def runs(self, name: str) -> list[Run]:
        found = [run for side, run in self._ran if side == name]
        if not found:
            raise MeasuringFailed(f"no process of {name} left results: {self._failed[name][-1]}; mend that first")
        return found

    def notes(self) -> list[str]:
        for name in self._trees:
            self.runs(name)
        notes = [
            f"{len(problems)} of {self._count[name]} processes of {name} failed: {problems[-1]}."
            for name, problems in self._failed.items()
            if problems
        ]
        effect = order_effect(self._ran)
        if abs(effect) >= MATTERS:
            notes.append(
                f"The second of two neighbouring processes took {_more(effect)} time; "
                "the order was by chance, so the verdicts hold."
            )
        return notes


def order_effect(runs: Sequence[tuple[str, Run]]) -> float:
    """Logarithm of the second over the first of two neighbours, of the median benchmark; both orders count alike."""
    pairs: dict[str, dict[bool, list[float]]] = {}
    for (first, before), (second, after) in zip(runs[::2], runs[1::2], strict=False):
        if first == second:
            continue
        values = {result.benchmark.key: result.best for result in before.results}
        for result in after.results:
            if values.get(result.benchmark.key, 0) > 0 and result.best > 0:
                change = log(result.best / values[result.benchmark.key])
                pairs.setdefault(result.benchmark.name, {}).setdefault(first == "base", []).append(change)
    # both orders weigh the same, so that the sides' difference cancels
    effects = [
        statistics.fmean(map(statistics.median, orders.values())) for orders in pairs.values() if len(orders) == 2
    ]
    return statistics.median(effects) if effects else 0.0


def _more(effect: float) -> str:
    return f"{percent(exp(abs(effect))).lstrip('+')} {'more' if effect > 0 else 'less'}"


def _run(command: Sequence[str], folder: Path, limit: float, told: Mapping[str, str]) -> str | None:
    """Runs one process, `told` in its environment; what went wrong, in words."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **told},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {limit:g} s"
    except OSError as error:
        return f"{command[0]} cannot be run ({error.strerror})"
    if done.returncode == 0:
        return None
    said = (done.stdout + done.stderr).strip().splitlines()
    return f"it ended with {done.returncode}" + (f", saying {said[-1]!r}" if said else "")
