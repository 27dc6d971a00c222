"""What recording costs while it is on: an op more, and a whole step against itself unprofiled."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import pytest

from perflab.benchmarks.beside import Figure, Measure, Sampler, Times, statement
from perflab.benchmarks.models import make_step
from perflab.benchmarks.quantity import SECONDS, quantity
from perflab.profiler import profile, record_function
from perflab.runtime import _core

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


def test_an_op_in_the_core(measure: Measure) -> None:
    """What the core itself takes for an op with its kernel, two slices by three stamps; each sample is the least of
    eight times 500."""

    def sample() -> float:
        op_and_free, _, free_and_stamp, two_stamps = _core.measure_event_costs()
        return (op_and_free - free_and_stamp + two_stamps / 2) / 1e9

    took = measure.in_turn({"an op with its kernel": sample})["an op with its kernel"].least
    what = "an op with its kernel, recorded in C++"
    measure.table.figures.append(Figure(what, quantity(took, SECONDS), goal="<= 30 ns", met=took <= 30e-9))


@pytest.mark.parametrize(("name", "most"), [("mlp_tiny", 1.08), ("lstm", 1.12)])
def test_profiled_step(measure: Measure, name: str, most: float) -> None:
    def make(library: ModuleType) -> Sampler:
        return statement("step()", {"step": make_step(library, name)}, collect=True, seconds=SAMPLE_SECONDS)

    ratios = {name: on.least / off.least for name, (on, off) in on_and_off(measure, make).items()}
    measure.benchmark.extra_info |= {f"{name} on / off": ratio for name, ratio in ratios.items()}
    words = {name: f"{ratio:.2f}" for name, ratio in ratios.items()}
    what, met = f"{name} step: profiled / not", ratios["perflab"] <= most
    measure.table.figures.append(Figure(what, words["perflab"], words.get("torch", ""), goal=f"<= {most}", met=met))


def test_stacks_of_a_step(measure: Measure) -> None:
    """Sampled every ms."""
    pytest.importorskip("pyinstrument")
    step = statement("step()", {"step": make_step(measure.ours, "mlp_tiny")}, collect=True, seconds=SAMPLE_SECONDS)
    times = measure.in_turn({"on": profiled(step, lambda: profile(with_stack=True)), "off": step}, ROUNDS)
    ratio = times["on"].least / times["off"].least
    what = "mlp_tiny step: profiled with Python's stack / not"
    measure.table.figures.append(Figure(what, f"{ratio:.2f}", goal="<= 1.15", met=ratio <= 1.15))


def test_a_named_part(measure: Measure) -> None:
    part = statement("with name('part'): pass", {"name": record_function})
    times = measure.in_turn({"on": profiled(part, profile), "off": part})
    took = times["on"].least
    what = f"record_function entered and left; not recorded {quantity(times['off'].least, SECONDS)}"
    measure.table.figures.append(Figure(what, quantity(took, SECONDS), goal="<= 150 ns", met=took <= 150e-9))
