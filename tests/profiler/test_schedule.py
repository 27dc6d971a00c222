from itertools import product

import pytest

from perflab.profiler import ProfilerAction, schedule

NONE, WARMUP, RECORD, SAVE = ProfilerAction


def spelled_out(
    wait: int, warmup: int, active: int, repeat: int, skip_first: int, skip_wait: int, steps: int
) -> list[ProfilerAction]:
    cycle = [NONE] * wait + [WARMUP] * warmup + [RECORD] * (active - 1) + [SAVE]
    cycles = (cycle * (repeat or steps))[wait if skip_wait else 0 :]
    return ([NONE] * skip_first + cycles + [NONE] * steps)[:steps]


@pytest.mark.parametrize("repeat", range(3))
def test_every_small_schedule(repeat: int) -> None:
    for wait, warmup, active, skip_first, skip_wait in product(range(3), range(3), range(1, 4), range(3), range(2)):
        numbers = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
        action = schedule(**numbers, skip_first_wait=skip_wait)
        expected = spelled_out(wait, warmup, active, repeat, skip_first, skip_wait, 24)
        assert [action(step) for step in range(24)] == expected


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"wait": -1, "warmup": 0, "active": 1}, "wait is -1"),
        ({"wait": 0, "warmup": -2, "active": 1}, "warmup is -2"),
        ({"wait": 0, "warmup": 0, "active": 0}, "active is 0; at least one step"),
        ({"wait": 0, "warmup": 0, "active": 1, "repeat": -1}, "repeat is -1"),
        ({"wait": 0, "warmup": 0, "active": 1, "skip_first": -1}, "skip_first is -1"),
        ({"wait": 0, "warmup": 0, "active": 1, "skip_first_wait": -1}, "skip_first_wait is -1"),
    ],
)
def test_impossible_schedules_are_refused(numbers: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        schedule(**numbers)


def test_steps_count_from_zero() -> None:
    with pytest.raises(ValueError, match="step is -1"):
        schedule(wait=1, warmup=0, active=1)(-1)
