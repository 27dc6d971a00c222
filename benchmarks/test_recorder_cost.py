"""What recording costs while it is on: an op more, and a whole step against itself unprofiled."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from perflab.benchmarks.beside import Figure, Measure, Sampler, Times, statement
from perflab.benchmarks.quantity import SECONDS, quantity
from perflab.profiler import profile

Mlp = Callable[..., Callable[[], Any]]
Profile = Callable[[], AbstractContextManager[Any]]
OPS = "a + b; a + b; a + b; a + b; a + b; a + b; a + b; a + b; a + b; a + b"


def profiled(sampler: Sampler, start: Profile) -> Sampler:
    """The same sample inside a profiler session; starting and stopping it is outside of the time taken."""

    def sample() -> float:
        with start():
            return sampler()

    return sample


def on_and_off(measure: Measure, make: Callable[[ModuleType], Sampler], rounds: int) -> dict[str, Times]:
    ours = make(measure.ours)
    samplers = {"perflab": profiled(ours, profile), "perflab off": ours}
    if measure.torch:
        theirs, torch = make(measure.torch), measure.torch
        cpu = [torch.profiler.ProfilerActivity.CPU]
        samplers |= {"torch": profiled(theirs, lambda: torch.profiler.profile(activities=cpu)), "torch off": theirs}
    return measure.in_turn(samplers, rounds)


def sides(times: dict[str, Times]) -> list[str]:
    return [name for name in ("perflab", "torch") if name in times]


def ten_adds(library: ModuleType) -> Sampler:
    ones = library.ones((1, 1))
    return statement(OPS, {"a": ones, "b": ones})


def test_recording_an_op(measure: Measure) -> None:
    times = on_and_off(measure, ten_adds, rounds=30)
    more = {
        name: (times[name].least - times[f"{name} off"].least) / 10 for name in ("perflab", "torch") if name in times
    }
    measure.benchmark.extra_info |= {f"{name} more an op": seconds for name, seconds in more.items()}
    words = {name: quantity(seconds, SECONDS, signed=True) for name, seconds in more.items()}
    goal, met = "<= 45 ns", more["perflab"] <= 45e-9
    measure.table.figures.append(
        Figure(
            "recording (op, kernel, memory): more an op", words["perflab"], words.get("torch", ""), goal=goal, met=met
        )
    )


def test_profiled_step(measure: Measure, mlp: Mlp) -> None:
    times = on_and_off(
        measure, lambda library: statement("step()", {"step": mlp(library, 32, 64, 64, 10)}, collect=True), rounds=30
    )
    ratios = {name: times[name].least / times[f"{name} off"].least for name in sides(times)}
    measure.benchmark.extra_info |= {f"{name} on / off": ratio for name, ratio in ratios.items()}
    words = {name: f"{ratio:.2f}" for name, ratio in ratios.items()}
    goal, met = "<= 1.1", ratios["perflab"] <= 1.1
    measure.table.figures.append(
        Figure("mlp_tiny step: profiled / not", words["perflab"], words.get("torch", ""), goal=goal, met=met)
    )
