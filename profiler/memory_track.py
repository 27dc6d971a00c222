"""Memory on the timeline: every allocation and free, running totals, and what the system gave the process."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from .analysis.blocks import CATEGORIES, CATEGORY, STACK
from .analysis.memory import RESIDENT
from .analysis.ops import MEMORY
from .builder import TraceBuilder
from .causes import stack_of
from .events import ALLOC, FREE, OUTPUT_ALLOCATED
from .events import STACK as STACK_EVENT
from .memory_held import HeldByCategory
from .memory_uses import MemoryUses
from .stretches import Stretch, kernel_begins
from .trace import Int64s, Json

Samples: TypeAlias = Sequence[tuple[int, int]]


class MemoryTrack:
    """Adds running totals of memory to a builder, as instants and counters, stretch by stretch.

    reserved, resident: (tick, bytes) as sampled. allocated: bytes when the recording began. uses: what memory was for.
    stacks: Python's, by number.
    """

    def __init__(
        self,
        builder: TraceBuilder,
        ns: Callable[[Int64s], Int64s],
        main: int,
        reserved: Samples,
        resident: Samples,
        allocated: int,
        uses: MemoryUses,
        stacks: list[Json],
    ) -> None:
        (reserved_at, self._reserved), (resident_at, self._resident) = (
            np.array(samples, dtype=np.int64).reshape(-1, 2).T for samples in (reserved, resident)
        )
        self._builder, self._ns, self._main = builder, ns, main
        self._sampled, self._resident_at = ns(reserved_at), ns(resident_at)
        self._shown = self._resident_shown = 0  # samples
        self._allocated = allocated
        self._uses, self._stacks = uses, stacks
        self._held = HeldByCategory(builder, main, "Allocated", allocated, uses.earlier)
        self._categories: list[Json] = list(CATEGORIES)

    def add(self, stretch: Stretch, middle: Stretch, tracks: Callable[[Int64s], Int64s], until: float) -> None:
        """What changed in a stretch; in its `middle` are the ops that allocated their outputs in it."""
        builder, allocated_counter = self._builder, self._builder.string("Allocated")
        first, self._shown = self._shown, int(np.searchsorted(self._sampled, until))
        shown = slice(first, self._shown)
        builder.counters(self._sampled[shown], self._main, builder.string("Reserved"), self._reserved[shown])
        of_process = slice(self._resident_shown, int(np.searchsorted(self._resident_at, until)))
        self._resident_shown = of_process.stop
        times, values = self._resident_at[of_process], self._resident[of_process]
        builder.counters(times, self._main, builder.string(RESIDENT), values)
        if first == 0 < self._shown:
            builder.counters(self._sampled[0], self._main, allocated_counter, self._allocated)
            self._held.begin(int(self._sampled[0]))
        kind = stretch["kind"]
        taken, given = stretch.at(kind == ALLOC), stretch.at(kind == FREE)
        outputs = middle.at(middle["flags"] & OUTPUT_ALLOCATED > 0)
        changes = Stretch.joined((taken, given, outputs))
        if not len(changes):
            return
        time = np.concatenate((self._ns(taken["t0"]), self._ns(given["t0"]), kernel_begins(outputs, self._ns)))
        size = changes["bytes"].astype(np.int64)
        size[len(taken) : len(taken) + len(given)] *= -1
        stack = np.zeros(len(changes), dtype=np.int64)
        stack[: len(taken)] = stack_of(taken, stretch.at(kind == STACK_EVENT))
        order = np.argsort(time, kind="stable")
        time, size, stack, changes = time[order], size[order], stack[order], changes.at(order)
        allocated = self._allocated + np.cumsum(size)
        self._allocated = int(allocated[-1])
        builder.counters(time, self._main, allocated_counter, allocated)
        category = self._uses.category(changes.number)
        self._held.change(time, category, size)
        instant = builder.string("cpu_instant_event")
        first = builder.instants(time, tracks(changes.thread), builder.string(MEMORY), instant)
        handles = np.arange(first, first + len(time))
        builder.instant_args("Addr", handles, changes["address"].astype(np.int64))
        builder.instant_args("Bytes", handles, size)
        builder.instant_args("Total Allocated", handles, allocated)
        builder.instant_args(CATEGORY, handles[size > 0], category[size > 0], table=self._categories)
        if stack.any():
            builder.instant_args(STACK, handles[stack > 0], stack[stack > 0], table=self._stacks)
