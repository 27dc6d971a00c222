"""What recording costs while it is on: an op more, and a whole step against itself unprofiled."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import pytest

from perflab.benchmarks.beside import Figure, Measure, Sampler, Times, statement
from perflab.benchmarks.models import make_step
from perflab.benchmarks.quantity import SECONDS, quantity
from perflab.profiler import profile

pytestmark = pytest.mark.perflab(counters="off")

Profile = Callable[[], AbstractContextManager[Any]]
# long enough that the recorder's memory, taken by the huge page, costs each event its share
SAMPLE_SECONDS = 0.02
ROUNDS = 15
OPS = "a + b; a + b; a + b; a + b; a + b; a + b; a + b; a + b; a + b; a + b"


def profiled(sampler: Sampler, start: Profile) -> Sampler:
    """The same sample inside a profiler session; starting and stopping it is outside of the time taken."""

    def sample() -> float:
        with start():
            return sampler()

    return sample


def on_and_off(measure: Measure, make: Callable[[ModuleType], Sampler]) -> dict[str, tuple[Times, Times]]:
    """Recorded and not, of each library."""
    ours = make(measure.ours)
    samplers = {"perflab": profiled(ours, profile), "perflab off": ours}
    if measure.torch:
        theirs, torch = make(measure.torch), measure.torch
        cpu = [torch.profiler.ProfilerActivity.CPU]
        samplers |= {"torch": profiled(theirs, lambda: torch.profiler.profile(activities=cpu)), "torch off": theirs}
    times = measure.in_turn(samplers, ROUNDS)
    return {name: (times[name], times[f"{name} off"]) for name in ("perflab", "torch") if name in times}


def ten_adds(library: ModuleType) -> Sampler:
    ones = library.ones((1, 1))
    return statement(OPS, {"a": ones, "b": ones}, seconds=SAMPLE_SECONDS)


def test_recording_an_op(measure: Measure) -> None:
    times = on_and_off(measure, ten_adds)
    more = {name: (on.least - off.least) / 10 for name, (on, off) in times.items()}
    measure.benchmark.extra_info |= {f"{name} more an op": seconds for name, seconds in more.items()}
    words = {name: quantity(seconds, SECONDS, signed=True) for name, seconds in more.items()}
    what, met = "recording (op, kernel, memory): more an op", more["perflab"] <= 45e-9
    measure.table.figures.append(Figure(what, words["perflab"], words.get("torch", ""), goal="<= 45 ns", met=met))


def test_profiled_step(measure: Measure) -> None:
    def make(library: ModuleType) -> Sampler:
        return statement("step()", {"step": make_step(library, "mlp_tiny")}, collect=True, seconds=SAMPLE_SECONDS)

    ratios = {name: on.least / off.least for name, (on, off) in on_and_off(measure, make).items()}
    measure.benchmark.extra_info |= {f"{name} on / off": ratio for name, ratio in ratios.items()}
    words = {name: f"{ratio:.2f}" for name, ratio in ratios.items()}
    what, met = "mlp_tiny step: profiled / not", ratios["perflab"] <= 1.08
    measure.table.figures.append(Figure(what, words["perflab"], words.get("torch", ""), goal="<= 1.08", met=met))
