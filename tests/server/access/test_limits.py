"""How often someone may ask, on a clock of the test's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflab.server.access import limits as module
from perflab.server.access.limits import Limits, Rate, neighbourhood

RATE = Rate(per_second=2, burst=3)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_burst_then_a_steady_rate(clock: Clock) -> None:
    limits = Limits(clock)
    assert [limits.wait("a", RATE) for _ in range(4)] == [0, 0, 0, 0.5]
    assert limits.wait("a", RATE) == 0.5  # who is refused takes nothing
    clock.now += 0.25
    assert limits.wait("a", RATE) == 0.25
    clock.now += 0.25
    assert [limits.wait("a", RATE) for _ in range(2)] == [0, 0.5]
    clock.now += 1000
    assert [limits.wait("a", RATE) for _ in range(4)] == [0, 0, 0, 0.5]  # a bucket holds no more than a burst


def test_each_has_a_bucket_of_its_own(clock: Clock) -> None:
    limits = Limits(clock)
    assert [limits.wait(key, RATE) for key in "aaabbb"] == [0] * 6
    assert limits.wait("a", RATE) == limits.wait("b", RATE) == 0.5


def test_buckets_do_not_fill_the_memory(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BUCKETS", 3)
    limits = Limits(clock)
    assert [limits.wait("first", Rate(1, 1)) for _ in range(2)] == [0, 1]
    for key in range(3):
        limits.wait(key, RATE)
    assert len(limits._buckets) == 3
    assert limits.wait("first", Rate(1, 1)) == 0  # forgotten


@given(st.lists(st.floats(0, 2), max_size=60), st.floats(0.1, 10), st.integers(1, 20))
def test_never_more_than_the_rate_allows(pauses: list[float], per_second: float, burst: int) -> None:
    clock = Clock()
    limits, rate = Limits(clock), Rate(per_second, burst)
    taken: list[float] = []
    for pause in pauses:
        clock.now += pause
        if limits.wait("a", rate) == 0:
            taken.append(clock.now)
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            assert last - first + 1 <= burst + (taken[last] - taken[first]) * per_second + 1e-6


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("testclient", "testclient", True),
    ],
)
def test_addresses_of_one_machine_count_together(one: str, other: str, same: bool) -> None:
    assert (neighbourhood(one) == neighbourhood(other)) is same
