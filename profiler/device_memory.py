"""Memory of devices on the timeline: each allocation and free as an instant, and what is allocated as a counter."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .analysis.blocks import CATEGORIES, CATEGORY
from .analysis.ops import MEMORY
from .builder import TraceBuilder
from .events import ALLOC, DEVICE_MASK, FREE, POOL_SHIFT
from .memory_uses import MemoryUses
from .stretches import Stretch
from .trace import Int64s, Track

# PyTorch's numbers of device types; 20 is that of backends it does not know.
TYPES = {"cpu": 0, "cuda": 1, "hip": 6, "xpu": 12, "sim": 20}


class DeviceMemory:
    """Adds what changed to a builder, stretch by stretch. devices: names by number; allocated: bytes on each of those
    with memory in use when the recording began; uses: what memory was for.
    """

    def __init__(
        self,
        builder: TraceBuilder,
        ns: Callable[[Int64s], Int64s],
        devices: Sequence[str],
        allocated: Mapping[int, int],
        used: set[int],
        uses: MemoryUses | None,
    ) -> None:
        self._builder, self._ns, self._devices, self._uses = builder, ns, devices, uses
        self._allocated = {number: allocated.get(number, 0) for number in used}
        self._tracks = {number: builder.track(Track(number, 0, "stream 0", devices[number])) for number in sorted(used)}

    def add(self, stretch: Stretch, tracks: Callable[[Int64s], Int64s]) -> None:
        """What was allocated and freed in a stretch; tracks: of threads."""
        kind, device = stretch["kind"], stretch["flags"] & DEVICE_MASK
        changed = ((kind == ALLOC) | (kind == FREE)) & (device > 0)
        for number in np.unique(device[changed]).tolist():
            self._add(number, stretch.at(changed & (device == number)), tracks)

    def _add(self, number: int, changes: Stretch, tracks: Callable[[Int64s], Int64s]) -> None:
        builder = self._builder
        changes = changes.at(np.argsort(changes["t0"], kind="stable"))
        sign = np.where(changes["kind"] == ALLOC, 1, -1)
        asked, size = changes["bytes"].astype(np.int64) * sign, changes["t1"] * sign
        total = self._allocated[number] + np.cumsum(size)
        self._allocated[number] = int(total[-1])
        time = self._ns(changes["t0"])
        # with its name: counters of one name are one curve
        name = builder.string(f"Allocated {self._devices[number]}")
        builder.counters(time, self._tracks[number], name, total)
        category = builder.string("cpu_instant_event")
        first = builder.instants(time, tracks(changes.thread), builder.string(MEMORY), category)
        handles = np.arange(first, first + len(changes))
        kind, _, index = self._devices[number].partition(":")
        for key, values in (
            ("Addr", changes["address"].astype(np.int64)),
            ("Bytes", size),
            ("Asked Bytes", asked),
            ("Total Allocated", total),
            ("Device Type", np.full(len(changes), TYPES.get(kind, 20))),
            ("Device Id", np.full(len(changes), int(index))),
            ("Stream", changes["sequence"].astype(np.int64)),
        ):
            builder.instant_args(key, handles, values)
        taken = sign > 0
        if self._uses is not None and taken.any():
            of_use = self._uses.category(changes.number[taken])
            builder.instant_args(CATEGORY, handles[taken], of_use, table=list(CATEGORIES))
        pool = changes["flags"].astype(np.int64) >> POOL_SHIFT
        builder.instant_args("Pool", handles[pool > 0], pool[pool > 0])
