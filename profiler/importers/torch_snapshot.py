"""torch's memory snapshots, which `torch.cuda.memory._dump_snapshot` pickles.

They are read as plain data (plain_pickle.py). The trace has `[memory]` instants as torch.profiler writes them, and
`[segment]` instants where memory came from the device or went back to it; `Bytes` is below 0 where it goes. Segments
and blocks from before the history stand at its beginning and have the category `before`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO, TypeAlias

import numpy as np

from ..builder import TraceBuilder
from ..errors import TraceFormatError
from ..trace import Json, Trace, Track
from . import plain_pickle

FORMAT = "torch memory snapshot"
MEMORY, SEGMENT = "[memory]", "[segment]"  # names of instants
EARLIER = "before"  # the category of what was there before
_CUDA = 1  # torch's number of the kind of device, as in its traces
_TAKEN = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
_GROWS = ("segment_map", "segment_unmap")
_FREED = ("free_completed", "free")  # `free` is that of snapshots before torch 2.0
_ACTIVE = "active"  # how the states of blocks in use begin
# What walking through one raises whose entries are not of torch.
DAMAGE = (ValueError, TypeError, AttributeError, IndexError, KeyError, OverflowError, RecursionError)


def read(file: IO[bytes], name: str) -> Trace:
    """The history of a snapshot as a trace; raises TraceFormatError where it is none, or names anything to be run."""
    return trace(load(file, name), name)


def load(file: IO[bytes], name: str) -> dict[str, Json]:
    """What a snapshot holds: dicts, lists, tuples, strings and numbers; raises TraceFormatError."""
    data = file.read()
    try:
        document = plain_pickle.load(data)
    except plain_pickle.Forbidden as error:
        raise TraceFormatError(
            f"{name}: this pickle {error}, and a memory snapshot holds plain data alone; nothing of it was run."
            " Give a file that torch.cuda.memory._dump_snapshot wrote"
        ) from None
    except plain_pickle.Damaged as error:
        raise TraceFormatError(f"{name}: the pickle is damaged ({error}); dump the snapshot again") from None
    if isinstance(document, list):  # torch.cuda.memory_snapshot() by itself
        document = {"segments": document}
    if not isinstance(document, dict) or not isinstance(document.get("segments"), list):
        raise TraceFormatError(
            f"{name}: a pickle, but no memory snapshot: it has no list 'segments'; give a file that"
            " torch.cuda.memory._dump_snapshot wrote"
        )
    # One object may stand in many places: what is walked must not be longer than what was read.
    entries = sum(map(len, _lists(document)))
    if entries > len(data):
        raise TraceFormatError(f"{name}: {entries:,} entries in {len(data):,} bytes is no snapshot that torch wrote")
    return document


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
        owners = Owners()
        columns = [
            _device(number, document["segments"], histories[number] if number < len(histories) else [], owners)
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
    owners: "Owners"
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
        first, second = (int(part) for part in entry.get("pool_id") or (0, 0))
        self.pool.append(f"({first}, {second})" if first or second else "")
        self.op.append(self.owners.of(entry))

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


def _device(number: int, segments: list[_Entry], entries: list[_Entry], owners: "Owners") -> _Device:
    """The history of one device; first come the segments and the blocks that were there before it."""
    own = [segment for segment in segments if int(segment.get("device", 0)) == number]
    found = _Device(number, owners)
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
        for entry in blocks(segment, owners):
            if text(entry["state"]).startswith(_ACTIVE) and entry["addr"] not in live:
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


def blocks(segment: _Entry, owners: "Owners") -> Iterator[_Entry]:
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
            "op": owners.of(block),
        }
        address += block["size"]


class Owners:
    """What allocated the blocks. A stack that many entries share is walked once."""

    def __init__(self) -> None:
        self._known = dict[int, str]()  # by the identity of the stack, which the document holds

    def of(self, entry: _Entry) -> str:
        """The entry's op, else the op that stands innermost in its stack, else Python's innermost function, else ""."""
        if op := entry.get("op"):
            return text(op)
        frames = entry.get("frames")
        if not frames:
            return ""
        if id(frames) not in self._known:
            self._known[id(frames)] = _owner(frames)
        return self._known[id(frames)]


def _owner(frames: Json) -> str:
    for frame in frames:
        op = text(frame["name"]).removeprefix("at::_ops::")
        if op != frame["name"]:
            return f"aten::{op.split('::')[0]}"
    for frame in frames:
        if text(frame["filename"]).endswith(".py"):
            return f"{frame['name']} ({PurePosixPath(frame['filename']).name}:{int(frame['line'])})"
    return ""


def text(value: Json) -> str:
    """The value, a string; raises TypeError for anything else, which could be endless where it is written out."""
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} in place of a text")
    return value


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:120]
