"""Memory in use by what it is for, as a counter for each category."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .analysis.blocks import CATEGORIES, EARLIER
from .builder import TraceBuilder
from .memory_uses import Earlier
from .trace import Int64s


class HeldByCategory:
    """Adds the counters of one device to a builder; they add up to what is allocated.

    name: of the counter of all; track: where they stand; allocated: bytes when the recording began, of which `earlier`
    are known.
    """

    def __init__(
        self, builder: TraceBuilder, track: int, name: str, allocated: int, earlier: Iterable[Earlier]
    ) -> None:
        self._builder, self._track = builder, track
        self._names = np.array([builder.string(f"{name}: {word}") for word in CATEGORIES], dtype=np.int64)
        self._held = np.zeros(len(CATEGORIES), dtype=np.int64)
        for block in earlier:
            self._held[CATEGORIES.index(block.category)] += block.bytes
        self._held[CATEGORIES.index(EARLIER)] += allocated - self._held.sum()

    def begin(self, time: int) -> None:
        """What was there then."""
        some = self._held > 0
        self._builder.counters(time, self._track, self._names[some], self._held[some])

    def change(self, time: Int64s, category: NDArray[np.uint8], size: Int64s) -> None:
        """Blocks came, and went where size is below 0; in the order of time."""
        held = np.empty_like(size)
        for code in np.unique(category).tolist():
            rows = np.flatnonzero(category == code)
            held[rows] = self._held[code] + np.cumsum(size[rows])
            self._held[code] = held[rows[-1]]
        self._builder.counters(time, self._track, self._names[category], held)
