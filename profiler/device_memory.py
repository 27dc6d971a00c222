"""Memory of devices on the timeline: each allocation and free as an instant, and what is allocated as counters."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .analysis.blocks import CATEGORIES, CATEGORY, DEVICE_TYPES, OTHER_DEVICE, STACK
from .analysis.ops import MEMORY
from .builder import TraceBuilder
from .causes import stack_of
from .events import ALLOC, DEVICE_MASK, FREE, POOL_SHIFT
from .events import STACK as STACK_EVENT
from .memory_held import HeldByCategory
from .memory_uses import MemoryUses
from .stretches import Stretch
from .trace import Int64s, Json, Track


class DeviceMemory:
    """Adds what changed to a builder, stretch by stretch. devices: names by number; allocated: bytes on each of those
    with memory in use when the recording began; reserved: device, tick and bytes, as sampled; used: those whose memory
    changed; uses: what memory was for; stacks: Python's, by number.
    """

    def __init__(
        self,
        builder: TraceBuilder,
        ns: Callable[[Int64s], Int64s],
        devices: Sequence[str],
        allocated: Mapping[int, int],
        reserved: Sequence[tuple[int, int, int]],
        used: set[int],
        uses: MemoryUses,
        stacks: list[Json],
    ) -> None:
        self._builder, self._ns, self._devices, self._uses, self._stacks = builder, ns, devices, uses, stacks
        self._allocated = {number: allocated.get(number, 0) for number in used}
        self._tracks, self._held = dict[int, int](), dict[int, HeldByCategory]()
        for number in sorted(used):
            track = self._tracks[number] = builder.track(Track(number, 0, "stream 0", devices[number]))
            earlier = [block for block in uses.earlier if block.device == number]
            held = HeldByCategory(builder, track, self._name(number), self._allocated[number], earlier)
            self._held[number] = held
        self._reserved = np.array([row for row in reserved if row[0] in used], dtype=np.int64).reshape(-1, 3)
        self._reserved[:, 1] = np.maximum(ns(self._reserved[:, 1]), 0)
        self._begun = False

    def _name(self, number: int) -> str:
        """With the device's: counters of one name are one curve."""
        return f"Allocated {self._devices[number]}"

    def add(self, stretch: Stretch, tracks: Callable[[Int64s], Int64s], until: float) -> None:
        """What was allocated and freed in a stretch, which ends at `until`; tracks: of threads."""
        if not self._begun:
            for held in self._held.values():
                held.begin(0)
            self._begun = True
        self._add_reserved(until)
        kind, device = stretch["kind"], stretch["flags"] & DEVICE_MASK
        changed = ((kind == ALLOC) | (kind == FREE)) & (device > 0)
        stacks = stretch.at(kind == STACK_EVENT)
        for number in np.unique(device[changed]).tolist():
            self._add(number, stretch.at(changed & (device == number)), stacks, tracks)

    def _add_reserved(self, until: float) -> None:
        shown, self._reserved = np.split(self._reserved, [np.searchsorted(self._reserved[:, 1], until)])
        for number, track in self._tracks.items():
            _, time, size = shown[shown[:, 0] == number].T
            self._builder.counters(time, track, self._builder.string(f"Reserved {self._devices[number]}"), size)

    def _add(self, number: int, changes: Stretch, stacks: Stretch, tracks: Callable[[Int64s], Int64s]) -> None:
        builder = self._builder
        changes = changes.at(np.argsort(changes["t0"], kind="stable"))
        sign = np.where(changes["kind"] == ALLOC, 1, -1)
        asked, size = changes["bytes"].astype(np.int64) * sign, changes["t1"] * sign
        total = self._allocated[number] + np.cumsum(size)
        self._allocated[number] = int(total[-1])
        time = self._ns(changes["t0"])
        builder.counters(time, self._tracks[number], builder.string(self._name(number)), total)
        of_use = self._uses.category(changes.number)
        self._held[number].change(time, of_use, size)
        category = builder.string("cpu_instant_event")
        first = builder.instants(time, tracks(changes.thread), builder.string(MEMORY), category)
        handles = np.arange(first, first + len(changes))
        kind, _, index = self._devices[number].partition(":")
        for key, values in (
            ("Addr", changes["address"].astype(np.int64)),
            ("Bytes", size),
            ("Asked Bytes", asked),
            ("Total Allocated", total),
            ("Device Type", np.full(len(changes), DEVICE_TYPES.get(kind, OTHER_DEVICE))),
            ("Device Id", np.full(len(changes), int(index))),
            ("Stream", changes["sequence"].astype(np.int64)),
        ):
            builder.instant_args(key, handles, values)
        taken = sign > 0
        builder.instant_args(CATEGORY, handles[taken], of_use[taken], table=list(CATEGORIES))
        stack = np.zeros(len(changes), dtype=np.int64)
        stack[taken] = stack_of(changes.at(taken), stacks)
        if stack.any():
            builder.instant_args(STACK, handles[stack > 0], stack[stack > 0], table=self._stacks)
        pool = changes["flags"].astype(np.int64) >> POOL_SHIFT
        builder.instant_args("Pool", handles[pool > 0], pool[pool > 0])
