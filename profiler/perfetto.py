"""Perfetto's protobuf traces: writes them. `importers.read` reads them.

    packet { clock_snapshot { clocks { clock_id: 6 timestamp: 0 } clocks { clock_id: 1 timestamp: 1764475000000000 } } }
    packet { track_descriptor { uuid: 2 parent_uuid: 1 thread { pid: 71 tid: 71 thread_name: "main" } } }
    packet { timestamp: 12250 track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name_iid: 3 category_iids: 2 } }
    packet { timestamp: 13281 track_event { type: TYPE_SLICE_END track_uuid: 2 } }

The package `perfetto` brings the messages. Its reader of traces is a program that it downloads; nothing here calls it.
"""

import os
from collections.abc import Iterator
from heapq import merge
from itertools import starmap
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .chrome_write import to_json
from .errors import ProfilerError
from .trace import ArgColumn, Args, Int64s, Json, Trace, Track, encodable
from .whole_file import whole_file

FLOW_NAMES = "flowNames"  # in the metadata of a file: by name, the first of its flows
_MISSING = "traces of Perfetto need its messages: pip install 'perflab[perfetto]', or use Chrome JSON"
_SEQUENCE = 1
_REALTIME, _BOOTTIME = 1, 6
_AT_ONCE = 1 << 10  # packets
_INT32, _INT64, _UINT64 = range(-(2**31), 2**31), range(-(2**63), 2**63), range(2**64)
Message: TypeAlias = Any


def protos() -> Any:
    """The messages of Perfetto; raises ProfilerError where the package is not installed."""
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError:
        raise ProfilerError(_MISSING) from None
    return perfetto_trace_pb2


def write(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write `trace` to `path`; the file appears whole or not at all, as that of chrome_write.write.

    Ids that are texts come back as the names of their threads and processes: Perfetto knows numbers alone. Times before
    zero move all of them behind it.
    Raises ProfilerError without the package `perfetto`, OSError where the file cannot be written.
    """
    with whole_file(path) as place, open(place, "wb") as file:
        for piece in encode(trace):
            file.write(piece)


def encode(trace: Trace) -> Iterator[bytes]:
    """The file's bytes, in pieces whose size does not depend on the length of the trace."""
    writer = _Writer(trace)
    for step in (writer.head, writer.slices, writer.instants, writer.counters):
        for _ in step():  # which stops after each packet
            if len(writer.batch.packet) >= _AT_ONCE:
                yield writer.take()
    yield writer.take()


class _Writer:
    """Adds packets to a batch, which `take` serializes; the steps yield after each."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._protos = protos()
        self._types = self._protos.TrackEvent
        self.batch = self._protos.Trace()
        self._shift = max(-trace.span()[0], 0)
        self._interned: tuple[set[int], set[int], dict[str, int]] = (set(), set(), {})  # names, categories, keys
        self._uuids = range(1, len(trace.tracks) + 1)
        self._flow_ids, self._flow_names = _flow_ids(trace)

    def take(self) -> bytes:
        """The bytes of the batch, which is empty then."""
        data: bytes = self.batch.SerializeToString()
        self.batch = self._protos.Trace()
        return data

    def _packet(self) -> Message:
        packet = self.batch.packet.add()
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = packet.SEQ_NEEDS_INCREMENTAL_STATE
        return packet

    def head(self) -> Iterator[None]:
        packet = self._packet()
        packet.sequence_flags = packet.SEQ_INCREMENTAL_STATE_CLEARED
        metadata = dict(self._trace.metadata)
        base = metadata.pop("baseTimeNanoseconds", 0)
        if isinstance(base, int) and 0 < base - self._shift < 2**62:
            snapshot = packet.clock_snapshot
            snapshot.primary_trace_clock = _BOOTTIME
            snapshot.clocks.add(clock_id=_BOOTTIME, timestamp=0)
            snapshot.clocks.add(clock_id=_REALTIME, timestamp=base - self._shift)
        if self._flow_names:
            metadata[FLOW_NAMES] = self._flow_names
        if metadata:
            told = self._packet().chrome_events.metadata
            for key, value in metadata.items():
                told.add(name=encodable(key), json_value=to_json(value))
        yield from self._tracks()

    def _tracks(self) -> Iterator[None]:
        processes: dict[int | str, int] = {}
        named: dict[tuple[int | str, int | str], int] = {}
        for track, uuid in zip(self._trace.tracks, self._uuids, strict=True):
            if track.pid not in processes:
                processes[track.pid] = len(self._uuids) + len(processes) + 1
                self._process(track, processes[track.pid])
            told = self._packet().track_descriptor
            told.uuid = uuid
            main = named.setdefault((track.pid, track.tid), uuid)
            told.parent_uuid = processes[track.pid] if main == uuid else main
            if main == uuid and _is_number(track.pid, _INT32) and _is_number(track.tid, _INT64):
                told.thread.pid, told.thread.tid = track.pid, track.tid
                if track.name:
                    told.thread.thread_name = track.name
            else:
                told.name = track.name or str(track.tid)
            yield

    def _process(self, track: Track, uuid: int) -> None:
        told = self._packet().track_descriptor
        told.uuid = uuid
        if _is_number(track.pid, _INT32):
            told.process.pid = track.pid
            if track.process:
                told.process.process_name = track.process
        else:
            told.name = track.process or str(track.pid)

    def slices(self) -> Iterator[None]:
        slices = self._trace.slices
        args, flows = _ByRow(self._trace.slice_args), _Flows(self._trace, self._flow_ids)
        ends = slices.end
        opened: list[list[int]] = [[] for _ in self._uuids]
        columns = (slices.start, slices.track, slices.parent, slices.name, slices.category)
        for row, (start, track, parent, *names) in enumerate(_by_rows(*columns)):
            while opened[track] and opened[track][-1] != parent:
                self._end(opened[track].pop(), ends, flows)
                yield
            event = self._event(start, track, self._types.TYPE_SLICE_BEGIN, *names)
            starting, ending = flows.at(row)
            event.flow_ids.extend(starting)
            event.terminating_flow_ids.extend(ending)
            self._add_args(event, args.of(row))
            opened[track].append(row)
            yield
        for left in opened:
            while left:
                self._end(left.pop(), ends, flows)
                yield

    def _end(self, row: int, ends: Int64s, flows: "_Flows") -> None:
        packet = self._packet()
        packet.timestamp = int(ends[row]) + self._shift
        packet.track_event.type = self._types.TYPE_SLICE_END
        packet.track_event.track_uuid = self._uuids[self._trace.slices.track[row]]
        packet.track_event.terminating_flow_ids.extend(flows.late.pop(row, ()))

    def instants(self) -> Iterator[None]:
        instants, args = self._trace.instants, _ByRow(self._trace.instant_args)
        columns = (instants.time, instants.track, instants.name, instants.category)
        for row, (time, track, *names) in enumerate(_by_rows(*columns)):
            self._add_args(self._event(time, track, self._types.TYPE_INSTANT, *names), args.of(row))
            yield

    def counters(self) -> Iterator[None]:
        counters = self._trace.counters
        known: dict[tuple[int, int], int] = {}
        for time, track, name, value in _by_rows(counters.time, counters.track, counters.name, counters.value):
            if (track, name) not in known:
                told = self._packet().track_descriptor
                known[track, name] = told.uuid = 2 * len(self._uuids) + len(known) + 1  # behind tracks and processes
                told.parent_uuid = self._uuids[track]
                told.name = self._trace.strings[name]
                told.counter.SetInParent()
            packet = self._packet()
            packet.timestamp = time + self._shift
            packet.track_event.type = self._types.TYPE_COUNTER
            packet.track_event.track_uuid = known[track, name]
            packet.track_event.double_counter_value = value
            yield

    def _event(self, time: int, track: int, type: int, name: int, category: int) -> Message:
        packet = self._packet()
        packet.timestamp = time + self._shift
        event = packet.track_event
        event.type, event.track_uuid = type, self._uuids[track]
        names, categories, _ = self._interned
        strings = self._trace.strings
        for number, known, kind in ((name, names, "event_names"), (category, categories, "event_categories")):
            if strings[number] and number not in known:
                known.add(number)
                getattr(packet.interned_data, kind).add(iid=number + 1, name=strings[number])
        if strings[name]:
            event.name_iid = name + 1
        if strings[category]:
            event.category_iids.append(category + 1)
        return event

    def _add_args(self, event: Message, args: list[tuple[str, Json]]) -> None:
        if not args:
            return
        keys, packet = self._interned[2], self.batch.packet[-1]
        for key, value in args:
            if key not in keys:
                keys[key] = len(keys) + 1
                packet.interned_data.debug_annotation_names.add(iid=keys[key], name=encodable(key))
            _put(event.debug_annotations.add(name_iid=keys[key]), value)


class _ByRow:
    """The arguments of rows that are asked for in ascending order."""

    def __init__(self, args: Args) -> None:
        self._rows = merge(*starmap(_told, args.items()), key=itemgetter(0))
        self._next = next(self._rows, None)

    def of(self, row: int) -> list[tuple[str, Json]]:
        """Keys and values of a row."""
        found = []
        while self._next is not None and self._next[0] == row:
            found.append(self._next[1:])
            self._next = next(self._rows, None)
        return found


def _told(key: str, column: ArgColumn) -> Iterator[tuple[int, str, Json]]:
    table = column.table
    for row, value in _by_rows(column.rows, column.values):
        yield row, key, value if table is None else table[value]


def _by_rows(*columns: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of columns, of which few are objects at a time."""
    for at in range(0, len(columns[0]), _AT_ONCE):
        yield from zip(*(column[at : at + _AT_ONCE].tolist() for column in columns), strict=True)


class _Flows:
    """The arrows of slices that are asked for in ascending order. Where an arrow begins no earlier than the slice that
    it leads to, it ends with that slice: `late` holds these."""

    def __init__(self, trace: Trace, ids: Int64s) -> None:
        flows, start = trace.flows, trace.slices.start
        is_late = start[flows.target] <= start[flows.source]
        by_target = np.argsort(flows.target, kind="stable")
        by_target = by_target[~is_late[by_target]]
        self._sources, self._source_ids = flows.source, ids
        self._targets, self._target_ids = flows.target[by_target], ids[by_target]
        self._at = [0, 0]
        self.late: dict[int, list[int]] = {}
        for target, number in zip(flows.target[is_late].tolist(), ids[is_late].tolist(), strict=True):
            self.late.setdefault(target, []).append(number)

    def at(self, row: int) -> tuple[list[int], list[int]]:
        """Ids of flows that start in a slice, and of those that end there."""
        starting = self._taken(0, row, self._sources, self._source_ids)
        return starting, self._taken(1, row, self._targets, self._target_ids)

    def _taken(self, which: int, row: int, rows: Int64s, ids: Int64s) -> list[int]:
        first = at = self._at[which]
        while at < len(rows) and rows[at] == row:
            at += 1
        self._at[which] = at
        return ids[first:at].tolist() if at > first else []


def _flow_ids(trace: Trace) -> tuple[Int64s, dict[str, int]]:
    """A number for each arrow, those of one name in a row, and the first of each name."""
    order = np.argsort(trace.flows.name, kind="stable")
    ids = np.empty(len(order), dtype=np.int64)
    ids[order] = np.arange(1, len(order) + 1)
    names, first = np.unique(trace.flows.name[order], return_index=True)
    return ids, {trace.strings[name]: at + 1 for name, at in zip(names.tolist(), first.tolist(), strict=True)}


def _is_number(value: int | str, reach: range) -> bool:
    return isinstance(value, int) and value in reach


def _put(told: Message, value: Json) -> None:
    """Fill in a debug annotation."""
    if isinstance(value, bool):
        told.bool_value = value
    elif isinstance(value, int) and value in _INT64:
        told.int_value = value
    elif isinstance(value, int) and value in _UINT64:
        told.uint_value = value
    elif isinstance(value, float):
        told.double_value = value
    elif isinstance(value, str):
        told.string_value = encodable(value)
    elif isinstance(value, list | tuple) and value:
        for item in value:
            _put(told.array_values.add(), item)
    elif isinstance(value, dict) and value:
        for key, item in value.items():
            _put(told.dict_entries.add(name=encodable(str(key))), item)
    else:
        told.legacy_json_value = to_json(value)
