"""A training step in a thread beside a busy Python thread: what each of them keeps of its speed."""

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from perflab.benchmarks.beside import Figure, Measure

pytestmark = pytest.mark.perflab(counters="off")

SECONDS = 0.4
ROUNDS = 5


class Spinner(threading.Thread):
    """Counts in pure Python until told to stop."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0
        self.wanted = True

    def run(self) -> None:
        while self.wanted:
            self.turns += 1


@contextmanager
def spinning() -> Iterator[Spinner]:
    spinner = Spinner()
    spinner.start()
    try:
        yield spinner
    finally:
        spinner.wanted = False
        spinner.join()


def short_step(library: ModuleType) -> Callable[[], None]:
    """About a microsecond: three ops forward and backward on 8x8."""
    ones = np.ones((8, 8), np.float32)
    x, w = library.from_numpy(ones), library.from_numpy(ones.copy()).requires_grad_()
    relu = library.relu

    def step() -> None:
        w.grad = None
        relu(x @ w).sum().backward()

    return step


def long_graph(library: ModuleType) -> Callable[[], Any]:
    """A graph whose backward pass takes about a tenth of a second in kernels."""
    w = library.from_numpy(np.full((512, 512), 0.001, np.float32)).requires_grad_()

    def graph() -> Any:
        h = w
        for _ in range(20):
            h = h @ w
        return h.sum()

    return graph


def seconds_a_call(step: Callable[[], object]) -> float:
    """Over a fixed time, so that whole turns of the GIL go by."""
    calls, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < SECONDS:
        step()
        calls += 1
    return passed / calls


def beside_spinner(step: Callable[[], object]) -> float:
    with spinning():
        return seconds_a_call(step)


def python_step() -> None:
    """About as long as the short step, in Python alone: what a fair share of the GIL leaves."""
    total = 0
    for number in range(30):
        total += number


def test_short_steps_beside_a_spinning_thread(measure: Measure) -> None:
    steps = {"perflab": short_step(measure.ours), "python": python_step}
    if measure.torch:
        steps["torch"] = short_step(measure.torch)
    samplers = {name: partial(beside_spinner, step) for name, step in steps.items()}
    alone = {f"{name} alone": partial(seconds_a_call, step) for name, step in steps.items()}
    times = measure.in_turn(samplers | alone, ROUNDS)
    kept = {name: times[f"{name} alone"].median / times[name].median for name in steps}
    measure.benchmark.extra_info |= {f"{name} kept": share for name, share in kept.items()}
    ours, theirs = f"{kept['perflab']:.2f}", f"{kept['torch']:.2f}" if measure.torch else ""
    what = f"speed that a {times['perflab alone'].median * 1e6:.1f} us step keeps beside a spinning thread"
    measure.table.figures.append(Figure(what, ours, theirs, goal=">= 0.5", met=kept["perflab"] >= 0.5))
    measure.table.figures.append(Figure("the same, of a step in Python alone", f"{kept['python']:.2f}"))


def test_a_spinning_thread_beside_long_backwards(measure: Measure) -> None:
    graphs = {"perflab": long_graph(measure.ours)}
    if measure.torch:
        graphs["torch"] = long_graph(measure.torch)
    kept: dict[str, list[float]] = {name: [] for name in graphs}

    def backward(name: str) -> float:
        with spinning() as spinner:
            loss = graphs[name]()
            alone = turns_a_second(spinner, lambda: time.sleep(SECONDS))[0]
            beside, seconds = turns_a_second(spinner, loss.backward)
        kept[name].append(beside / alone)
        return seconds

    times = measure.in_turn({name: partial(backward, name) for name in graphs}, ROUNDS)
    shares = {name: statistics.median(share) for name, share in kept.items()}
    measure.benchmark.extra_info |= {f"{name} kept": share for name, share in shares.items()}
    ours, theirs = f"{shares['perflab']:.2f}", f"{shares['torch']:.2f}" if measure.torch else ""
    what = f"speed that a spinning thread keeps beside a backward of {times['perflab'].median * 1e3:.0f} ms"
    measure.table.figures.append(Figure(what, ours, theirs))


def turns_a_second(spinner: Spinner, work: Callable[[], object]) -> tuple[float, float]:
    """The spinner's speed while this thread works, and the seconds that took."""
    before, begin = spinner.turns, time.perf_counter()
    work()
    seconds = time.perf_counter() - begin
    return (spinner.turns - before) / seconds, seconds
