"""What a cached block of memory costs: to get it and give it back, recorded, on eight threads.

The core alone is timed, without Python: `torch.empty`, which stands beside it, is a call from Python and does more.
"""

import os
import threading
import time

import pytest

from perflab.benchmarks.beside import Figure, Measure, Sampler, Times, statement
from perflab.benchmarks.quantity import SECONDS, quantity
from perflab.profiler import profile
from perflab.runtime import _core

pytestmark = pytest.mark.perflab(counters="off")

TIMES = 20_000
THREADS = 8
SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "8 MiB": 8 << 20}
CPU = 0


def cycles(size: int) -> Sampler:
    """Seconds for a storage of so many bytes, made and dropped."""

    def sample() -> float:
        began = time.perf_counter()
        _core.cycle_storage(CPU, size, TIMES)
        return (time.perf_counter() - began) / TIMES

    return sample


def recorded(sampler: Sampler) -> Sampler:
    def sample() -> float:
        with profile():
            return sampler()

    return sample


def on_threads(sampler: Sampler) -> Sampler:
    """What one costs a processor while eight threads make and drop at once."""
    processors = min(len(os.sched_getaffinity(0)), THREADS)

    def sample() -> float:
        threads = [threading.Thread(target=sampler) for _ in range(THREADS)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return (time.perf_counter() - began) / (TIMES * THREADS) * processors

    return sample


def show(measure: Measure, what: str, ours: float, goal: str = "", met: bool | None = None, peer: str = "") -> None:
    measure.table.figures.append(Figure(what, quantity(ours, SECONDS), peer, goal=goal, met=met))


@pytest.mark.parametrize("size", SIZES)
def test_a_cached_block(measure: Measure, size: str) -> None:
    samplers = {"perflab": cycles(SIZES[size])}
    if measure.torch:
        samplers["torch"] = statement("empty(n)", {"empty": measure.torch.empty, "n": SIZES[size] // 4})
    times = measure.in_turn(samplers)
    ours, peer = times["perflab"].least, _words(times.get("torch"))
    show(measure, f"allocate and free {size}", ours, "<= 40 ns", ours <= 40e-9, peer)


def test_a_recorded_block(measure: Measure) -> None:
    sampler = cycles(1 << 10)
    times = measure.in_turn({"recorded": recorded(sampler), "not": sampler}, rounds=15)
    more = (times["recorded"].least - times["not"].least) / 2
    show(measure, "recording an allocation or a free: more", more, "<= 20 ns", more <= 20e-9)


def test_eight_threads(measure: Measure) -> None:
    sampler = cycles(1 << 10)
    times = measure.in_turn({"eight": on_threads(sampler), "one": sampler}, rounds=15)
    ratio = times["eight"].least / times["one"].least
    show(
        measure,
        "allocate and free 1 KiB on eight threads",
        times["eight"].least,
        f"{ratio:.1f} of one's, <= 3",
        ratio <= 3,
    )


def _words(times: Times | None) -> str:
    return quantity(times.least, SECONDS) if times else ""
