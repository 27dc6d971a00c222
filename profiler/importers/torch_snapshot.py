"""torch's memory snapshots, which `torch.cuda.memory._dump_snapshot` pickles.

A pickle can run code where it is loaded; here it can build plain data alone, and all else is refused. The trace has
`[memory]` instants as torch.profiler writes them, and `[segment]` instants where memory came from the device or went
back to it; `Bytes` is below 0 where it goes. Segments and blocks from before the history stand at its beginning and
have the category `before`.
"""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO, NoReturn, TypeAlias

import numpy as np

from ..builder import TraceBuilder
from ..errors import TraceFormatError
from ..trace import Json, Trace, Track

FORMAT = "torch memory snapshot"
MAGIC = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")  # pickles, by protocol
MEMORY, SEGMENT = "[memory]", "[segment]"  # names of instants
EARLIER = "before"  # the category of what was there before
_CUDA = 1  # torch's number of the kind of device, as in its traces
_TAKEN = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
_GROWS = ("segment_map", "segment_unmap")
_FREED = ("free_completed", "free")  # `free` is that of snapshots before torch 2.0
_ACTIVE = "active"  # how the states of blocks in use begin
# What reading one raises that is damaged, or not of torch.
DAMAGE = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError, KeyError, OverflowError,
    MemoryError,
)  # fmt: skip


def read(file: IO[bytes], name: str) -> Trace:
    """The history of a snapshot as a trace; raises TraceFormatError where it is none, or names anything to be run."""
    return trace(load(file, name), name)


def load(file: IO[bytes], name: str) -> dict[str, Json]:
    """What a snapshot holds: dicts, lists, tuples, strings and numbers; raises TraceFormatError."""
    try:
        document = _PlainUnpickler(file).load()
        end = file.tell()
    except _Forbidden as error:
        raise TraceFormatError(
            f"{name}: this pickle names {error}, and a memory snapshot holds plain data alone; nothing of it was run."
            " Give a file that torch.cuda.memory._dump_snapshot wrote"
        ) from None
    except DAMAGE as error:
        raise TraceFormatError(f"{name}: the pickle is damaged ({_one_line(error)}); dump the snapshot again") from None
    if isinstance(document, list):  # torch.cuda.memory_snapshot() by itself
        document = {"segments": document}
    if not isinstance(document, dict) or not isinstance(document.get("segments"), list):
        raise TraceFormatError(
            f"{name}: a pickle, but no memory snapshot: it has no list 'segments'; give a file that"
            " torch.cuda.memory._dump_snapshot wrote"
        )
    # One object may stand in many places: what is walked must not be longer than what was read.
    entries = sum(map(len, _lists(document)))
    if entries > end:
        raise TraceFormatError(f"{name}: {entries:,} entries in {end:,} bytes is no snapshot that torch wrote")
    return document


class _Forbidden(Exception):
    """The pickle names something that is no plain data."""


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        raise _Forbidden(f"{module}.{name}")

    def persistent_load(self, pid: Json) -> NoReturn:
        raise _Forbidden("objects outside of itself")


def _lists(document: dict[str, Json]) -> Iterator[list[Json]]:
    yield document["segments"]
    yield from (segment["blocks"] for segment in document["segments"] if _has_list(segment, "blocks"))
    if _has_list(document, "device_traces"):
        yield from (entries for entries in document["device_traces"] if isinstance(entries, list))


def _has_list(value: Json, key: str) -> bool:
    return isinstance(value, dict) and isinstance(value.get(key), list)


def trace(document: dict[str, Json], name: str) -> Trace:
    """The history that a loaded snapshot holds; raises TraceFormatError where entries are not those of torch."""
    builder = TraceBuilder({"tool": FORMAT})
    histories = document.get("device_traces") or []
    try:
        devices = {int(segment.get("device", 0)) for segment in document["segments"]} | set(range(len(histories)))
        columns = [
            _device(number, document["segments"], histories[number] if number < len(histories) else [])
            for number in sorted(devices)
        ]
        began = min((found.time[0] for found in columns if found.time), default=0)
        for found in columns:
            found.write(builder, began)
    except DAMAGE as error:
        raise TraceFormatError(
            f"{name}: a memory snapshot with entries that torch does not write ({_one_line(error)}); dump it again"
        ) from None
    builder.metadata["baseTimeNanoseconds"] = began
    return builder.build()


_Entry: TypeAlias = dict[str, Json]


@dataclass
class _Device:
    """What happened on a device, as columns."""

    number: int
    time: list[int] = field(default_factory=list)
    is_segment: list[bool] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    address: list[int] = field(default_factory=list)
    stream: list[int] = field(default_factory=list)
    pool: list[str] = field(default_factory=list)
    op: list[str] = field(default_factory=list)
    earlier: int = 0  # rows of what was there before
    reserved: int = 0  # before the first row

    def add(self, time: int, entry: _Entry, size: int, *, is_segment: bool = False) -> None:
        self.time.append(time)
        self.is_segment.append(is_segment)
        self.bytes.append(size)
        self.address.append(int(entry["addr"]))
        self.stream.append(int(entry.get("stream", 0)))
        self.pool.append("" if tuple(entry.get("pool_id") or ()) in ((), (0, 0)) else str(tuple(entry["pool_id"])))
        self.op.append(entry.get("op") or owner(entry.get("frames") or ()))

    def write(self, builder: TraceBuilder, began: int) -> None:
        """Add the instants and the counter of what is reserved."""
        count = len(self.time)
        if not count:
            return
        time, size, address, stream = (
            np.array(column, dtype=np.int64) for column in (self.time, self.bytes, self.address, self.stream)
        )
        time -= began
        is_segment = np.array(self.is_segment)
        reserved = self.reserved + np.cumsum(np.where(is_segment, size, 0))
        allocated = np.cumsum(np.where(is_segment, 0, size))
        streams, places = np.unique(stream, return_inverse=True)
        process = f"cuda:{self.number}"
        tracks = [builder.track(Track(process, one, f"stream {one}", process)) for one in streams.tolist()]
        names = np.where(is_segment, builder.string(SEGMENT), builder.string(MEMORY))
        first = builder.instants(time, np.array(tracks)[places], names, builder.string("cpu_instant_event"))
        handles = np.arange(first, first + count)
        for key, values in (
            ("Addr", address), ("Bytes", size), ("Device Id", np.full(count, self.number)),
            ("Device Type", np.full(count, _CUDA)), ("Stream", stream), ("Total Reserved", reserved),
        ):  # fmt: skip
            builder.instant_args(key, handles, values)
        builder.instant_args("Total Allocated", handles[~is_segment], allocated[~is_segment])
        for key, texts in (("Pool", self.pool), ("Op", self.op), ("Category", [EARLIER] * self.earlier)):
            told = [row for row, text in enumerate(texts) if text]
            if told:
                builder.instant_args(key, handles[told], [texts[row] for row in told])
        changed = is_segment | (np.arange(count) == 0)
        builder.counters(time[changed], tracks[0], builder.string("Reserved"), reserved[changed])
        builder.counters(time[~is_segment], tracks[0], builder.string("Allocated"), allocated[~is_segment])


def _device(number: int, segments: list[_Entry], entries: list[_Entry]) -> _Device:
    """The history of one device; first come the segments and the blocks that were there before it."""
    own = [segment for segment in segments if int(segment.get("device", 0)) == number]
    found = _Device(number)
    live, mapped = dict[int, int](), set[int]()  # since the history began: sizes of blocks, segments
    earlier, segments_before = dict[int, _Entry](), dict[int, _Entry]()  # by address
    rows: list[tuple[int, _Entry, int, bool]] = []
    for place, entry in enumerate(entries):
        action, size, address = entry["action"], int(entry.get("size", 0)), int(entry.get("addr", 0))
        time = int(entry.get("time_us", place)) * 1000
        if action in _TAKEN:
            rows.append((time, entry, size * _TAKEN[action], True))
            if action == "segment_alloc":
                mapped.add(address)
            elif action == "segment_free" and address not in mapped:
                segments_before[address] = entry
        elif action == "alloc":
            live[address] = size
            rows.append((time, entry, size, False))
        elif action in _FREED:
            known = live.pop(address, None)
            if known is None:
                earlier[address] = entry
            rows.append((time, entry, -(size if known is None else known), False))
    for segment in own:
        if segment["address"] not in mapped:
            segments_before[segment["address"]] = {**segment, "addr": segment["address"], "size": segment["total_size"]}
        for entry in blocks(segment):
            if str(entry["state"]).startswith(_ACTIVE) and entry["addr"] not in live:
                earlier[entry["addr"]] = entry
    if any(segment.get("is_expandable") for segment in own) or any(
        row[1]["action"] in _GROWS for row in rows if row[3]
    ):
        segments_before.clear()  # those that grow are told by what they have at the end
    began = rows[0][0] if rows else 0
    for is_segment, there in ((True, segments_before), (False, earlier)):
        for _, entry in sorted(there.items()):
            found.add(began, entry, int(entry["size"]), is_segment=is_segment)
    found.earlier = len(found.time)
    for time, entry, size, is_segment in rows:
        found.add(time, entry, size, is_segment=is_segment)
    changes = zip(found.bytes, found.is_segment, strict=True)
    found.reserved = sum(int(segment["total_size"]) for segment in own) - sum(
        size for size, is_one in changes if is_one
    )
    return found


def blocks(segment: _Entry) -> Iterator[_Entry]:
    """The blocks of a segment, in the words of the history."""
    address = segment["address"]
    for block in segment["blocks"]:
        yield {
            "addr": block.get("address", address),
            "size": block.get("requested_size") or block["size"],
            "bytes": block["size"],
            "state": block["state"],
            "stream": segment.get("stream", 0),
            "pool_id": segment.get("segment_pool_id"),
            "op": block.get("op") or owner(block.get("frames") or ()),
        }
        address += block["size"]


def owner(frames: Json) -> str:
    """The op that stands innermost in a stack of torch's, else the innermost function of Python; empty for neither."""
    for frame in frames:
        op = str(frame["name"]).removeprefix("at::_ops::")
        if op != frame["name"]:
            return f"aten::{op.split('::')[0]}"
    for frame in frames:
        if str(frame["filename"]).endswith(".py"):
            return f"{frame['name']} ({PurePosixPath(str(frame['filename'])).name}:{frame['line']})"
    return ""


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:120]
