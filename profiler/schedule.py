"""When to record: a pure function from the number of a step to what the profiler does during it."""

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias


class ProfilerAction(Enum):
    """What happens during a step."""

    NONE = 0
    WARMUP = 1  # records, and throws it away
    RECORD = 2
    RECORD_AND_SAVE = 3  # the last recorded step of a cycle: at its end the trace is ready


Schedule: TypeAlias = Callable[[int], ProfilerAction]


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Schedule:
    """Skip `skip_first` steps, then cycle through `wait`, `warmup` and `active` steps, `repeat` times (0: for ever).

    Where `skip_first_wait` is not 0 the first cycle has no `wait`.

    With wait=1, warmup=1, active=2, repeat=1, skip_first=1:

        step    0     1     2       3       4                5...
        action  NONE  NONE  WARMUP  RECORD  RECORD_AND_SAVE  NONE

    Raises ValueError where a number is negative or `active` is less than 1.
    """
    numbers = {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}
    numbers["skip_first_wait"] = skip_first_wait
    for name, number in numbers.items():
        if number < 0:
            raise ValueError(f"schedule: {name} is {number}; it must be 0 or more")
    if active < 1:
        raise ValueError(f"schedule: active is {active}; at least one step of a cycle must be recorded")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"schedule: step is {step}; steps count from 0")
        if step < skip_first:
            return ProfilerAction.NONE
        cycles, place = divmod(step - skip_first + (wait if skip_first_wait else 0), cycle)
        if (repeat and cycles >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == cycle - 1 else ProfilerAction.RECORD

    return action


def always(_step: int) -> ProfilerAction:
    """The schedule of a profile without one."""
    return ProfilerAction.RECORD
