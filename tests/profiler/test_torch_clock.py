"""Another clock held against ours: made up clocks whose truth is known."""

import numpy as np
import pytest

from perflab.profiler.torch_clock import Anchor, OtherClock, Readings, anchor
from perflab.profiler.trace import Int64s


def compared(ours_at: int, ahead: int, drift: float, seed: int) -> tuple[Int64s, Int64s, Readings]:
    """16 parts from the moment `ours_at` on: when the other clock says they began and ended, and our readings."""
    rng = np.random.default_rng(seed)
    waits = rng.integers(40, 4000, size=(16, 5)).cumsum(axis=1) + np.arange(16)[:, None] * 50_000 + ours_at
    before, begin, between, end, behind = waits.T
    other = [moments + ahead + np.rint(moments * drift).astype(np.int64) for moments in (begin, end)]
    return other[0], other[1], np.stack((before, between, behind), axis=1)


@pytest.mark.parametrize("drift", [0.0, 3e-6, -2e-5])
@pytest.mark.parametrize("seed", range(5))
def test_moments_are_right_within_the_uncertainty(drift: float, seed: int) -> None:
    ahead = 1_790_000_000_000_000_000
    first, last = (anchor(*compared(at, ahead, drift, seed + at)) for at in (1_000_000, 3_000_000_000))
    clock = OtherClock(first, last)
    truth = np.linspace(1_000_000, 3_001_000_000, 1001).astype(np.int64)
    found = clock.ours(truth + ahead + np.rint(truth * drift).astype(np.int64))
    # while the 16 parts ran the drift itself moved the clocks by a little
    assert np.abs(found - truth).max() <= clock.uncertainty + abs(drift) * 1e6 + 2
    assert clock.uncertainty < 1000  # of brackets that are 2000 wide on average
    assert clock.drift == pytest.approx(drift, abs=2 * clock.uncertainty / 3e9)
    assert np.all(np.diff(found) > 0)


def test_the_interval_is_what_all_readings_leave() -> None:
    ours = np.array([[0, 100, 200], [1000, 1010, 1200]])
    # ahead by 5000: begins at 60 and 1004, ends at 150 and 1013 of ours
    found = anchor(np.array([5060, 6004]), np.array([5150, 6013]), ours)
    # the begins leave 4960 to 5060 and 4994 to 5004, the ends 4950 to 5050 and 4813 to 5003
    assert found == Anchor(at=5556, ahead=4998, uncertainty=5)


def test_two_anchors_of_one_moment_have_no_drift() -> None:
    one = Anchor(at=10**18, ahead=7, uncertainty=3)
    clock = OtherClock(one, one)
    assert clock.drift == 0.0
    assert clock.ours(np.array([10**18 + 5])).tolist() == [10**18 - 2]
