"""The engine of replays: the allocator that the runtime uses, over addresses with no memory behind them."""

from itertools import pairwise

import numpy as np

from perflab.runtime import _core
from perflab.runtime.alloc_conf import parse_alloc_conf
from perflab.runtime.errors import ArgumentError, OutOfMemoryError

from .errors import ReplayError
from .memory_history import Kind, MemoryHistory

_ENDLESS = 1 << 44  # bytes: more than any device has
_LEAST = 512  # bytes of a block, and what sizes are rounded to
_LARGEST_SMALL, _SMALL_SEGMENT = 1 << 20, 2 << 20  # the largest block of the small pool, and its segments


class OutOfMemory(Exception):
    """The device has not enough for a block of `bytes`."""

    def __init__(self, bytes: int) -> None:
        super().__init__(f"no memory for {bytes} bytes")
        self.bytes = bytes


class Engine:
    """An allocator with the options of `conf` on a device of `capacity` bytes, None for one without end.

    Raises ReplayError for a configuration that there is not.
    """

    def __init__(self, conf: str, capacity: int | None) -> None:
        try:
            options = parse_alloc_conf(conf, f"configuration '{conf}'")
        except ArgumentError as error:
            raise ReplayError(str(error)) from None
        self._core = _core.AllocatorReplay(_ENDLESS if capacity is None else capacity, options)
        self._blocks: dict[int, int] = {}  # the core's numbers by id
        self._pools = {0: 0}

    @property
    def reserved(self) -> int:
        """Bytes that it has of the device."""
        return self._core.reserved

    @property
    def device_allocations(self) -> int:
        """How often the device gave memory."""
        return self._core.stats()["num_device_alloc"]

    def begin(self, history: MemoryHistory, *, as_it_was: bool) -> None:
        """Allocate what was there before the recording began: `as_it_was`, with the segments that are known and each
        block in its place, or else the blocks alone."""
        earlier = history.requests(slice(history.earlier))
        if as_it_was:
            gaps = [
                gap
                for row in np.flatnonzero(history.kind[: history.earlier] == Kind.SEGMENT).tolist()
                for gap in self._lay_out(history, row)
            ]
            for gap in gaps:
                self._core.free(gap)
        for kind, number, size, stream, pool in earlier:
            if kind == Kind.ALLOC and number not in self._blocks:
                self.apply(kind, number, size, stream, pool)

    def apply(self, kind: int, number: int, size: int, stream: int, pool: int) -> None:
        """Do what a row of a history says; raises OutOfMemory."""
        if kind == Kind.ALLOC:
            self._blocks[number] = self._allocate(size, stream, pool)
        elif kind == Kind.FREE:
            self._core.free(self._blocks.pop(number))
        elif kind == Kind.RELEASE:
            self._core.empty_cache()

    def _allocate(self, size: int, stream: int, pool: int) -> int:
        if pool not in self._pools:
            self._pools[pool] = self._core.make_pool()
        try:
            return self._core.allocate(size, stream, self._pools[pool])
        except OutOfMemoryError:
            raise OutOfMemory(size) from None

    def _lay_out(self, history: MemoryHistory, segment: int) -> list[int]:
        """Make a segment, and allocate its blocks and its gaps from its beginning on: nothing else is free meanwhile,
        so each comes to stand in its place. Gives the gaps, which are to be freed when all segments are made.
        """
        at, size = int(history.address[segment]), int(history.bytes[segment])
        stream, pool = int(history.stream[segment]), int(history.pool[segment])
        end, is_small = at + size, size <= _SMALL_SEGMENT
        whole = [_LARGEST_SMALL] * 2 if is_small else [size]
        for piece in [self._allocate(bytes, stream, pool) for bytes in whole]:
            self._core.free(piece)
        gaps: list[int] = []

        def skip(length: int) -> None:
            while length >= (_LEAST if is_small else _LARGEST_SMALL):
                piece = min(length, _LARGEST_SMALL) if is_small else length
                gaps.append(self._allocate(piece, stream, pool))
                length -= piece

        address = history.address[: history.earlier]
        inside = (history.kind[: history.earlier] == Kind.ALLOC) & (address >= at) & (address < end)
        rows = np.flatnonzero(inside)[np.argsort(address[inside], kind="stable")].tolist()
        for row, behind in pairwise([*rows, None]):
            begin, limit = int(address[row]), end if behind is None else int(address[behind])
            skip(begin - at)
            length = -(-max(int(history.bytes[row]), 1) // _LEAST) * _LEAST
            if not is_small and limit - begin - length <= _LARGEST_SMALL:
                length = limit - begin  # what was left was too little for a block of its own
            self._blocks[int(history.id[row])] = self._allocate(length, stream, pool)
            at = begin + length
        skip(end - at)
        return gaps
