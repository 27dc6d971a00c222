"""MemoryHistory: what an allocator was asked for, in order, and what it had reserved meanwhile.

It is read from our traces, from traces of torch.profiler with profile_memory=True, and from torch's memory snapshots.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .analysis.blocks import DEVICE_TYPES, EARLIER
from .analysis.memory import value_at
from .analysis.ops import MEMORY
from .errors import TraceFormatError
from .importers import plain_pickle, torch_snapshot
from .importers import read as read_trace
from .importers.torch_snapshot import SEGMENT
from .trace import Args, Int64s, Trace

UNKNOWN = -1
_DEVICES = {number: kind for kind, number in DEVICE_TYPES.items()}


class Kind(IntEnum):
    """What a row of a history is."""

    ALLOC = 0
    FREE = 1  # from here on the block may be handed out again
    RELEASE = 2  # cached memory went back to the device: the cache was emptied, or the device was full
    SEGMENT = 3  # among the earliest rows: memory that the allocator had of the device before


@dataclass(frozen=True, slots=True, eq=False)
class MemoryHistory:
    """What was asked of the allocator of one device, in order; equal to itself alone.

    The row that allocates a block and the row that frees it have its `id`, a number from 0 on. The first `earlier` rows
    are what was there before the recording began. `reserved` is what the allocator that was recorded had of the device
    after each row; UNKNOWN in every row where the recording does not tell.
    """

    device: str
    time: Int64s  # ns since the trace began
    kind: NDArray[np.int8]
    id: Int64s  # UNKNOWN where RELEASE or SEGMENT
    bytes: Int64s  # as asked for; 0 where RELEASE
    stream: Int64s
    pool: Int64s  # 0: the one that is there by itself, others in the order in which they come
    address: Int64s
    reserved: Int64s  # bytes
    device_allocations: int  # how often the device was asked for memory; UNKNOWN where the recording does not tell
    earlier: int

    def __len__(self) -> int:
        return len(self.time)

    def requests(self, rows: slice) -> Iterator[tuple[int, int, int, int, int]]:
        """Kind, id, bytes, stream and pool of each of the rows."""
        columns = (self.kind, self.id, self.bytes, self.stream, self.pool)
        return zip(*(column[rows].tolist() for column in columns), strict=True)

    @property
    def allocated(self) -> Int64s:
        """Bytes in use after each row, as they were asked for."""
        signs = np.select([self.kind == Kind.ALLOC, self.kind == Kind.FREE], [1, -1], 0)
        total: Int64s = np.cumsum(signs * self.bytes)
        return total


def read(path: str | os.PathLike[str]) -> MemoryHistory:
    """The history in a file: a trace of ours or of torch.profiler, packed or not, or a memory snapshot of torch.

    Of several devices it is that of the one that held most. Raises TraceFormatError where the file tells of no
    allocations, OSError where it cannot be opened.
    """
    name = Path(path).name
    with open(path, "rb") as file:
        is_pickle = file.read(2) in plain_pickle.MAGIC
        file.seek(0)
        trace = torch_snapshot.read(file, name) if is_pickle else read_trace(file).trace
    found = history(trace)
    if len(found) == found.earlier:
        raise TraceFormatError(
            f"{name}: it tells of no allocations. perflab's profile() records them, torch.profiler does with"
            " profile_memory=True, and snapshots hold them after torch.cuda.memory._record_memory_history()"
        )
    return found


def history(trace: Trace) -> MemoryHistory:
    """The history in the `[memory]` instants of a trace; empty where it has none."""
    rows, device = _of_one_device(trace)
    count, args = len(trace.instants), trace.instant_args

    def column(key: str, missing: int = 0) -> Int64s:
        whole: Int64s = args[key].dense(count, missing) if key in args else np.full(count, missing, dtype=np.int64)
        return whole[rows]

    is_segment = trace.instants.name[rows] == trace.string_id(SEGMENT)
    size, asked = column("Bytes"), column("Asked Bytes")
    allocated = column("Total Allocated", UNKNOWN)
    if np.any(allocated[~is_segment] < 0):
        allocated = np.cumsum(np.where(is_segment, 0, size))
    reserved = column("Total Reserved", UNKNOWN)
    if "Total Reserved" not in args and device == "cpu":  # perflab's own has a counter of it
        reserved = value_at(trace.instants.time[rows], *trace.counter("Reserved"))
    if np.any(reserved < allocated):  # torch says 0 of the CPU; others look at it from time to time
        reserved[:] = UNKNOWN
    log = _Log(bool(is_segment.any()), _told_as_earlier(trace, rows))
    columns = (
        trace.instants.time[rows], size, asked, column("Stream"), _pools(args, count)[rows], column("Addr"), allocated,
        reserved,
    )  # fmt: skip
    for segment, *entry in zip(is_segment.tolist(), *(one.tolist() for one in columns), strict=True):
        if segment:
            log.segment(_Entry(*entry))
        else:
            log.block(_Entry(*entry))
    return log.history(device)


def _of_one_device(trace: Trace) -> tuple[Int64s, str]:
    """The instants of blocks and segments of the device, in one process, that held most; and the device's name."""
    instants, args = trace.instants, trace.instant_args
    is_block = instants.name == trace.string_id(MEMORY)
    rows = np.flatnonzero(is_block | (instants.name == trace.string_id(SEGMENT)))
    if not is_block.any():
        return rows[:0], ""
    count = len(instants)
    processes = {pid: place for place, pid in enumerate(dict.fromkeys(track.pid for track in trace.tracks))}
    process = np.array([processes[track.pid] for track in trace.tracks])[instants.track]
    kind, number = (args[key].dense(count) if key in args else np.zeros(count) for key in ("Device Type", "Device Id"))
    total = args["Total Allocated"].dense(count) if "Total Allocated" in args else is_block
    most = rows[np.argmax(total[rows])]
    same = (process == process[most]) & (kind == kind[most]) & (number == number[most])
    word = _DEVICES.get(int(kind[most]), f"device {int(kind[most])}")
    return rows[same[rows]], word if word == "cpu" else f"{word}:{int(number[most])}"


def _told_as_earlier(trace: Trace, rows: Int64s) -> int:
    """How many of the first rows are of blocks that were there before, as the trace says itself."""
    column = trace.instant_args.get("Category")
    return 0 if column is None else sum(column.at(row) == EARLIER for row in rows[: len(column)].tolist())


def _pools(args: Args, count: int) -> Int64s:
    """The number of each instant's pool. Traces name pools as they like; no name is the one that is always there."""
    numbers = np.zeros(count, dtype=np.int64)
    known = {"": 0, "0": 0}
    for row, name in args["Pool"] if "Pool" in args else ():
        numbers[row] = known.setdefault(str(name), len(known) - 1)
    return numbers


class _Entry(NamedTuple):
    """A row as a trace tells it: `change` is below 0 for a free, `allocated` and `reserved` are after it."""

    time: int
    change: int
    asked: int  # 0 where not told
    stream: int
    pool: int
    address: int
    allocated: int
    reserved: int


@dataclass
class _Log:
    """Gives blocks their ids, and finds what was there before: what goes without having come, and the rest."""

    tells_segments: bool
    told: int  # how many of the first entries are of what was there before
    rows: list[tuple[int, ...]] = field(default_factory=list)  # the columns of a MemoryHistory, from time to reserved
    strays: list[tuple[_Entry, int]] = field(default_factory=list)  # frees of what was there before, ids
    live: dict[int, tuple[int, int]] = field(default_factory=dict)  # id and bytes by address
    ids: int = 0
    taken: int = 0  # times that the device was asked for memory
    before: int = 0  # bytes in use before the first row
    reserved: int = UNKNOWN

    def segment(self, entry: _Entry) -> None:
        if len(self.rows) < self.told:
            self._row(entry, Kind.SEGMENT, UNKNOWN, entry.change)
        elif entry.change > 0:
            self.taken += 1
        else:
            self._release(entry)

    def block(self, entry: _Entry) -> None:
        if not self.tells_segments:
            self.taken += entry.reserved > self.reserved >= 0
            if entry.reserved < self.reserved:
                self._release(entry)
            self.reserved = entry.reserved
        if not self.ids:
            self.before = entry.allocated - entry.change
        if entry.change < 0 or entry.address in self.live:  # in the second case the free of the block was not recorded
            self._free(entry)
        if entry.change > 0:
            asked = entry.asked or entry.change
            self.live[entry.address] = self.ids, asked
            self._row(entry, Kind.ALLOC, self.ids, asked)
            self.ids += 1

    def _free(self, entry: _Entry) -> None:
        if entry.address in self.live:
            number, size = self.live.pop(entry.address)
        else:
            number, size = self.ids, entry.asked or -entry.change
            self.strays.append((entry, number))
            self.ids += 1
        self._row(entry, Kind.FREE, number, size)

    def _release(self, entry: _Entry) -> None:
        """Segments that go one behind the other are one row, with what was reserved after the last of them."""
        if self.rows and self.rows[-1][1] == Kind.RELEASE:
            self.rows.pop()
        self._row(entry, Kind.RELEASE, UNKNOWN, 0)

    def _row(self, entry: _Entry, kind: Kind, number: int, size: int) -> None:
        self.rows.append((entry.time, kind, number, size, entry.stream, entry.pool, entry.address, entry.reserved))

    def history(self, device: str) -> MemoryHistory:
        """Everything, with what was there before in front."""
        there = sorted(self.strays, key=lambda one: one[0].address)
        began, held = (self.rows[0][0], self.rows[0][-1]) if self.rows else (0, UNKNOWN)
        front = [
            (began, Kind.ALLOC, number, entry.asked or -entry.change, entry.stream, entry.pool, entry.address, held)
            for entry, number in there
        ]
        rest = self.before + sum(entry.change for entry, _ in there)
        if rest > 0:  # no more is known of it
            front.insert(0, (began, Kind.ALLOC, self.ids, rest, 0, 0, UNKNOWN, held))
        columns = np.array([*front, *self.rows], dtype=np.int64).reshape(-1, 8).T
        time, kind, number, size, stream, pool, address, reserved = columns
        is_told = self.tells_segments or bool(np.any(reserved >= 0))
        return MemoryHistory(
            device=device,
            time=time,
            kind=kind.astype(np.int8),
            id=number,
            bytes=size,
            stream=stream,
            pool=pool,
            address=address,
            reserved=reserved,
            device_allocations=self.taken if is_told else UNKNOWN,
            earlier=self.told + len(front),
        )
