"""The clock of torch's recorder, held against ours.

While torch records, we enter and leave a part of a fixed name a few times, and read our clock before, between and
after. So torch's stamp of each begin and each end lies between two of ours, whatever clock it reads and however it
converts it; all of them together leave a narrow interval for how far its clock is ahead.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .trace import Int64s

UNCERTAINTY = "torchClockUncertaintyNanoseconds"  # metadata: how far moments of torch's may be off
DRIFT = "torchClockDrift"  # metadata: how much faster than ours torch's clock ran; it is corrected

Readings: TypeAlias = NDArray[np.int64]  # a row for each part: before it, between begin and end, behind it


@dataclass(frozen=True, slots=True)
class Anchor:
    """At the moment `at` of the other clock it is `ahead` of ours, give or take `uncertainty`; all in ns."""

    at: int
    ahead: int
    uncertainty: int


def anchor(begin: Int64s, end: Int64s, ours: Readings) -> Anchor:
    """The anchor of parts that began and ended at these moments of the other clock."""
    stamps = np.concatenate((begin, end))
    at_most = int(np.min(stamps - np.concatenate((ours[:, 0], ours[:, 1]))))
    at_least = int(np.max(stamps - np.concatenate((ours[:, 1], ours[:, 2]))))
    return Anchor(int(stamps.mean()), (at_least + at_most) // 2, (abs(at_most - at_least) + 1) // 2)


@dataclass(frozen=True, slots=True)
class OtherClock:
    """A clock that was held against ours twice; between the two, and beyond them, its drift is even."""

    first: Anchor
    last: Anchor

    @property
    def drift(self) -> float:
        """How much faster than ours it runs: 1e-6 is a microsecond a second."""
        span = self.last.at - self.first.at
        return (self.last.ahead - self.first.ahead) / span if span > 0 else 0.0

    @property
    def uncertainty(self) -> int:
        """How far a moment between the two may be off, ns."""
        return max(self.first.uncertainty, self.last.uncertainty)

    def ours(self, moments: Int64s) -> Int64s:
        """Moments of the other clock on ours, ns; their order stays."""
        since = moments - self.first.at
        found: Int64s = moments - self.first.ahead - np.rint(since * self.drift).astype(np.int64)
        return found
