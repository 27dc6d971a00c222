"""What a cached block of memory costs: to get it and give it back, recorded, on eight threads.

The core alone is timed, without Python: `torch.empty`, which stands beside it, is a call from Python and does more.
"""

import os
import threading
import time

import pytest

from perflab.benchmarks.beside import Figure, Measure, Sampler, statement
from perflab.benchmarks.quantity import SECONDS, quantity
from perflab.profiler import profile
from perflab.runtime import _core
from perflab.runtime.device import Device

pytestmark = pytest.mark.perflab(counters="off")

TIMES = 20_000
THREADS = 8
SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "8 MiB": 8 << 20}
DEVICES = ("cpu", "sim")


def cycles(device: str, size: int) -> Sampler:
    """Seconds for a storage of so many bytes, made and dropped."""
    number = Device(device).number

    def sample() -> float:
        began = time.perf_counter()
        _core.cycle_storage(number, size, TIMES)
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


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", SIZES)
def test_a_cached_block(measure: Measure, size: str, device: str) -> None:
    samplers = {"perflab": cycles(device, SIZES[size])}
    if measure.torch and device == "cpu":
        samplers["torch"] = statement("empty(n)", {"empty": measure.torch.empty, "n": SIZES[size] // 4})
    times = measure.in_turn(samplers)
    ours = times["perflab"].least
    peer = quantity(times["torch"].least, SECONDS) if "torch" in times else ""
    show(measure, f"allocate and free {size} ({device})", ours, "<= 40 ns", ours <= 40e-9, peer)


@pytest.mark.parametrize("device", DEVICES)
def test_a_recorded_block(measure: Measure, device: str) -> None:
    sampler = cycles(device, 1 << 10)
    times = measure.in_turn({"recorded": recorded(sampler), "not": sampler}, rounds=15)
    more = (times["recorded"].least - times["not"].least) / 2
    show(measure, f"recording an allocation or a free ({device}): more", more, "<= 20 ns", more <= 20e-9)


@pytest.mark.parametrize("device", DEVICES)
def test_eight_threads(measure: Measure, device: str) -> None:
    sampler = cycles(device, 1 << 10)
    times = measure.in_turn({"eight": on_threads(sampler), "one": sampler}, rounds=15)
    ours, goal = times["eight"].least, 3 * times["one"].least
    show(
        measure,
        f"allocate and free 1 KiB on eight threads ({device})",
        ours,
        f"<= {quantity(goal, SECONDS)}",
        ours <= goal,
    )
