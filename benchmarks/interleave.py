"""Measures two sides in turn, a process at a time, so that what the machine does it does to both.

The order is made of blocks A B B A or B A A B, by chance: within a block both sides stand at the same mean place, so a
machine that speeds up or slows down does so for both, and neither side is always the one that runs second.
"""

import random
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

from . import formats
from .errors import MeasuringFailed
from .quantity import percent
from .result import Run

FILE = "{file}"
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
        processes: of each side.
        limit: seconds after which a process is given up.
        seed: of the order.
    """

    command: Sequence[str]
    processes: int = 10
    limit: float = 600
    seed: int = 0

    def __post_init__(self) -> None:
        if not any(FILE in word for word in self.command):
            raise MeasuringFailed(
                f"the command names no {FILE}: say where it writes its results, as in --benchmark-json {FILE}"
            )
        if self.processes < 1:
            raise MeasuringFailed(f"{self.processes} processes measure nothing; give at least 1 of each side")


def measure(plan: Plan, trees: Mapping[str, Path], out: Path, say: Callable[[str], None]) -> list[str]:
    """Runs both sides in turn, and leaves a file a process in out/base and out/head.

    Args:
        trees: the folders of "base" and "head".
        say: is told what runs now.

    Returns: sentences on what the report should say: processes that failed, and an effect of the order.

    Raises:
        MeasuringFailed: no process of a side left results; with what the last one said.
    """
    names = {"A": "base", "B": "head"}
    files: list[tuple[str, Path]] = []
    failed: dict[str, list[str]] = {name: [] for name in trees}
    for name in trees:
        (out / name).mkdir(parents=True)
    turns = order(plan.processes, plan.seed)
    for number, turn in enumerate(turns, 1):
        name = names[turn]
        say(f"{number}/{len(turns)} {name}")
        file = (out / name / f"{number:03}.json").absolute()
        problem = _run([word.replace(FILE, str(file)) for word in plan.command], trees[name], plan.limit)
        if problem:
            failed[name].append(problem)
        if file.exists() and file.stat().st_size:
            files.append((name, file))
        else:
            file.unlink(missing_ok=True)
            failed[name] += [] if problem else [f"it wrote no {file.name}"]
    for name, problems in failed.items():
        if not any(side == name for side, _ in files):
            raise MeasuringFailed(f"no process of {name} left results: {problems[-1]}; mend that first")
    notes = [
        f"{len(problems)} of {plan.processes} processes of {name} failed: {problems[-1]}."
        for name, problems in failed.items()
        if problems
    ]
    effect = order_effect([(side, formats.read(path)) for side, path in files])
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


def _run(command: Sequence[str], folder: Path, limit: float) -> str | None:
    """Runs one process; what went wrong, in words."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=limit)
    except subprocess.TimeoutExpired:
        return f"it took more than {limit:g} s"
    except OSError as error:
        return f"{command[0]} cannot be run ({error.strerror})"
    if done.returncode == 0:
        return None
    said = (done.stdout + done.stderr).strip().splitlines()
    return f"it ended with {done.returncode}" + (f", saying {said[-1]!r}" if said else "")
