"""Perfetto's own traces (.pftrace): track events, with what they name by number.

Other data sources of Perfetto, such as what the scheduler of the kernel did, are counted and left out.
https://perfetto.dev/docs/reference/synthetic-track-event
"""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..builder import TraceBuilder
from ..errors import ProfilerError, TraceFormatError
from ..perfetto import FLOW_NAMES, protos
from ..trace import Int64s, Json, Trace
from . import lenient
from .chrome import TRUNCATED
from .container import Plain
from .findings import Findings
from .perfetto_clocks import Clocks
from .perfetto_edges import Edges, append, arrays
from .perfetto_packets import Packet, Packets
from .perfetto_tracks import Tracks, text

FORMAT = "Perfetto"
_CLEARED, _NEEDS_STATE = 1, 2  # flags of a packet
_BEGIN, _END, _INSTANT, _COUNTER = range(1, 5)  # types of track events
_BUFFERED = 1 << 14  # values of arguments that are kept as objects
# Packets that put nothing on a timeline.
_SILENT = frozenset(
    "trace_config trace_stats trace_uuid system_info service_event synchronization_marker process_stats trigger"
    " chrome_trigger trace_provenance trace_attributes extension_descriptor translation_table ui_state".split()
)


def read(plain: Plain, name: str, findings: Findings) -> Trace:
    """The trace in a file of packets; raises TraceFormatError."""
    try:
        protos()
    except ProfilerError as error:
        raise TraceFormatError(f"{name}: a protobuf trace; {error}, which `traceconv json` makes of it") from None
    packets, reader = Packets(plain, name, findings), _Reader(findings)
    is_alien = False  # some packets are there, and none is of Perfetto: other tools write protobuf too
    for packet in packets:
        reader.take(packet)
        is_alien = not reader.is_known
    if is_alien:
        raise TraceFormatError(
            f"{name}: protobuf, but not of Perfetto; pprof and XProf's .xplane.pb look so: give what they write as JSON"
        )
    return reader.build(packets.is_whole)


@dataclass(slots=True)
class _Sequence:
    """What a sequence of packets has said, on which later ones build."""

    is_known: bool = False  # nothing of it was lost since it began anew
    has_begun: bool = False
    names: dict[int, int] = field(default_factory=dict)  # ids of strings, by number
    categories: dict[int, str] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    clock: int = 0
    track: Hashable = 0
    counters: tuple[int, ...] = ()
    double_counters: tuple[int, ...] = ()
    sums: dict[int, float] = field(default_factory=dict)  # of counters that tell differences

    def clear(self) -> None:
        """Forget what is named by number."""
        self.is_known, self.clock, self.counters, self.double_counters = True, 0, (), ()
        for told in (self.names, self.categories, self.keys, self.texts, self.sums):
            told.clear()


class _Reader:
    def __init__(self, findings: Findings) -> None:
        self.is_known = False  # something in it is Perfetto's
        self._findings = findings
        self._builder = TraceBuilder()
        self._builder.string("")  # has the id 0
        self._clocks = Clocks()
        self._tracks = Tracks()
        self._sequences: dict[int, _Sequence] = defaultdict(_Sequence)
        self._edges = Edges()
        self._instants = (array("q"), array("i"), array("i"), array("i"), array("i"))
        self._counters = (array("q"), array("i"), array("i"), array("d"))
        self._args: tuple[dict[str, list[tuple[int, Json]]], ...] = (defaultdict(list), defaultdict(list))
        self._waiting = 0  # values of arguments
        self._strangers = Counter[str]()  # packets by what they hold
        self._lost = Counter[str]()

    def take(self, packet: Packet) -> None:
        """Take in one packet."""
        number = packet.trusted_packet_sequence_id
        self.is_known = (
            self.is_known or number > 0 or packet.HasField("timestamp") or packet.HasField("track_descriptor")
        )
        sequence = self._sequences[number]
        if packet.previous_packet_dropped and sequence.has_begun:
            sequence.is_known = False
            self._lost["packets were lost on the way"] += 1
        sequence.has_begun = True
        flags = packet.sequence_flags
        if flags & _CLEARED or packet.incremental_state_cleared:
            sequence.clear()
        if packet.HasField("interned_data"):
            self._intern(packet.interned_data, sequence)
        if packet.HasField("trace_packet_defaults"):
            self._defaults(packet.trace_packet_defaults, sequence)
        kind = packet.WhichOneof("data")
        if kind == "track_event":
            if flags & _NEEDS_STATE and not sequence.is_known:
                self._lost["events came without what they name by number"] += 1
            else:
                self._event(packet, sequence)
        elif kind == "track_descriptor":
            self._tracks.describe(packet.track_descriptor)
        elif kind == "clock_snapshot":
            self._clocks.snapshot(packet.clock_snapshot, number)
        elif kind is not None:
            self._other(kind, packet, sequence)

    def _intern(self, data: Packet, sequence: _Sequence) -> None:
        for entry in data.event_names:
            sequence.names[entry.iid] = self._builder.string(text(entry.name))
        for told, entries in (
            (sequence.categories, data.event_categories),
            (sequence.keys, data.debug_annotation_names),
        ):
            for entry in entries:
                told[entry.iid] = text(entry.name)
        for entry in data.debug_annotation_string_values:
            sequence.texts[entry.iid] = text(entry.str)

    def _defaults(self, defaults: Packet, sequence: _Sequence) -> None:
        sequence.clock = defaults.timestamp_clock_id
        events = defaults.track_event_defaults
        sequence.track = events.track_uuid or sequence.track
        sequence.counters = tuple(events.extra_counter_track_uuids)
        sequence.double_counters = tuple(events.extra_double_counter_track_uuids)

    def _other(self, kind: str, packet: Packet, sequence: _Sequence) -> None:
        if kind == "thread_descriptor":  # as it was told before tracks had descriptors
            sequence.track = self._tracks.name_thread(packet.thread_descriptor)
        elif kind == "process_descriptor":
            process = packet.process_descriptor
            self._tracks.name_process(process.pid, process.process_name, process.cmdline)
        elif kind == "process_tree":
            for process in packet.process_tree.processes:
                self._tracks.name_process(process.pid, "", process.cmdline)
        elif kind == "chrome_events":
            for told in packet.chrome_events.metadata:
                self._builder.metadata[text(told.name)] = _metadata(told)
        elif kind not in _SILENT:
            self._strangers[kind] += 1
        if kind == "trace_stats":
            buffers = packet.trace_stats.buffer_stats
            if sum(each.chunks_overwritten + each.chunks_discarded + each.trace_writer_packet_loss for each in buffers):
                self._lost["its buffer was full, and the oldest went"] += 1

    def _event(self, packet: Packet, sequence: _Sequence) -> None:
        event = packet.track_event
        sequence_id = packet.trusted_packet_sequence_id
        clock = packet.timestamp_clock_id or sequence.clock
        at = self._clocks.read(packet.timestamp, clock, sequence_id) if packet.HasField("timestamp") else None
        if at is None:
            self._findings.add("no-time", examples=[ascii(text(event.name))[:60]])
            return
        uuid = event.track_uuid or sequence.track
        track, kind = self._tracks.number(uuid), event.type
        if kind == _BEGIN:
            handle = self._edges.begin(*at, track, self._name(event, sequence), self._category(event, sequence))
            self._take_args(0, handle, event, sequence)
        elif kind == _END:
            handle = self._edges.end(*at, track, self._name(event, sequence), self._category(event, sequence))
            if event.debug_annotations:
                self._edges.end_args[handle] = dict(self._args_of(event, sequence))
        elif kind == _INSTANT:
            names = max(self._name(event, sequence), 0), max(self._category(event, sequence), 0)
            append(self._instants, *at, track, *names)
            self._take_args(1, len(self._instants[0]) - 1, event, sequence)
            self._findings.add("unbound-flow", len(event.flow_ids) + len(event.terminating_flow_ids))
        elif kind != _COUNTER:
            self._strangers["track events of another type"] += 1
            return
        if kind <= _END and (event.flow_ids or event.terminating_flow_ids):
            self._edges.flows(event.flow_ids, event.terminating_flow_ids)
        if kind == _COUNTER or event.extra_counter_values or event.extra_double_counter_values:
            for counter, value in _values(event, sequence, uuid):
                self._count(*at, counter, value, sequence)

    def _name(self, event: Packet, sequence: _Sequence) -> int:
        """The id of an event's name, -1 where it has none."""
        if event.name_iid:
            return sequence.names.get(event.name_iid, -1)
        return self._builder.string(text(event.name)) if event.name else -1

    def _category(self, event: Packet, sequence: _Sequence) -> int:
        told = [sequence.categories.get(number, "") for number in event.category_iids]
        if event.categories:
            told += map(text, event.categories)
        return self._builder.string(",".join(told)) if told else -1

    def _count(self, time: int, clock: int, counter: Any, value: float, sequence: _Sequence) -> None:
        multiplier, is_sum = self._tracks.scale(counter)
        if is_sum:
            value = sequence.sums[counter] = sequence.sums.get(counter, 0) + value
        value *= multiplier
        if math.isfinite(value):
            append(self._counters, time, clock, self._tracks.number(counter), value)
        else:
            self._findings.add("not-a-number")

    def _args_of(self, event: Packet, sequence: _Sequence) -> Iterable[tuple[str, Json]]:
        for told in event.debug_annotations:
            yield _key(told, sequence), self._value(told, sequence)

    def _value(self, told: Packet, sequence: _Sequence) -> Json:
        if told.dict_entries:
            return {_key(entry, sequence): self._value(entry, sequence) for entry in told.dict_entries}
        if told.array_values:
            return [self._value(entry, sequence) for entry in told.array_values]
        kind = told.WhichOneof("value")
        if kind is None:
            return None
        value = getattr(told, kind)
        if kind == "string_value_iid":
            return sequence.texts.get(value, "")
        if kind == "pointer_value":
            return hex(value)
        if kind == "nested_value":
            return _nested(value)
        if kind == "legacy_json_value":
            return _json(text(value))
        if kind == "double_value" and not math.isfinite(value):
            self._findings.add("not-a-number")
            return None
        return text(value) if isinstance(value, str | bytes) else value

    def _take_args(self, which: int, handle: int, event: Packet, sequence: _Sequence) -> None:
        if not event.debug_annotations:
            return
        for key, value in self._args_of(event, sequence):
            self._args[which][key].append((handle, value))
            self._waiting += 1
        if self._waiting >= _BUFFERED:
            self._flush()

    def _flush(self) -> None:
        for give, columns in zip((self._builder.slice_args, self._builder.instant_args), self._args, strict=True):
            for key, rows in columns.items():
                handles, values = zip(*rows, strict=True)
                give(key, handles, values)
            columns.clear()
        self._waiting = 0

    def build(self, is_whole: bool) -> Trace:
        """The trace of all packets taken in."""
        builder, edges = self._builder, self._edges
        tracks = np.array([builder.track(track) for track in self._tracks.listed()], dtype=np.int32)
        counter_names = np.array([builder.string(name) for name in self._tracks.counter_names()], dtype=np.int32)
        instants, counters = map(arrays, (self._instants, self._counters))
        instant_time, counter_time = (self._aligned(*columns[:2]) for columns in (instants, counters))
        edge_time = self._aligned(*edges.times())
        last = max((int(times.max()) for times in (edge_time, instant_time, counter_time) if len(times)), default=0)
        start, duration, track, name, category = edges.slices(edge_time, last, self._findings, builder.strings)
        builder.slices(start, duration, tracks[track], np.maximum(name, 0), np.maximum(category, 0))
        self._flush()
        for handle, args in edges.late_args():
            for key, value in args.items():
                builder.slice_args(key, handle, [value])
        _, _, track, name, category = instants
        builder.instants(instant_time, tracks[track], name, category)
        _, _, track, value = counters
        builder.counters(counter_time, tracks[track], counter_names[track], value)
        metadata = builder.metadata
        firsts = metadata.pop(FLOW_NAMES, None)
        flow, source, target = edges.arrows(edge_time, self._findings)
        builder.flows(_flow_names(flow, firsts, builder), source, target)
        if base := self._clocks.base_ns():
            metadata["baseTimeNanoseconds"] = base
        if not is_whole:
            metadata[TRUNCATED] = True
        for why, count in self._lost.items():
            self._findings.add("dropped", count, [f"{why}: {count:,}"], tool=FORMAT, why=why)
        told = [f"{kind}: {count:,}" for kind, count in self._strangers.most_common()]
        self._findings.add("other-packets", self._strangers.total(), told)
        return builder.build()

    def _aligned(self, time: Int64s, clock: Any) -> Int64s:
        return self._clocks.aligned(time, clock, self._findings)


def _values(event: Packet, sequence: _Sequence, track: Hashable) -> Iterable[tuple[Any, float]]:
    """Counters by their tracks, with their values: the event's own, and those that came along."""
    if event.HasField("counter_value"):
        yield track, event.counter_value
    elif event.HasField("double_counter_value"):
        yield track, event.double_counter_value
    yield from zip(event.extra_counter_track_uuids or sequence.counters, event.extra_counter_values, strict=False)
    doubles = event.extra_double_counter_track_uuids or sequence.double_counters
    yield from zip(doubles, event.extra_double_counter_values, strict=False)


def _key(told: Packet, sequence: _Sequence) -> str:
    return sequence.keys.get(told.name_iid, "") if told.name_iid else text(told.name)


def _nested(value: Packet) -> Json:
    if value.nested_type == value.DICT:
        return {text(key): _nested(each) for key, each in zip(value.dict_keys, value.dict_values, strict=False)}
    if value.nested_type == value.ARRAY:
        return [_nested(each) for each in value.array_values]
    for kind in ("int_value", "double_value", "bool_value", "string_value"):
        if value.HasField(kind):
            plain = getattr(value, kind)
            if kind == "string_value":
                return text(plain)
            return plain if math.isfinite(plain) else None
    return None


def _json(value: str) -> Json:
    try:
        return lenient.loads(value.encode())
    except ValueError:
        return value


def _metadata(told: Packet) -> Json:
    kind = told.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(told, kind)
    if kind == "json_value":
        return _json(text(value))
    return text(value) if isinstance(value, str | bytes) else value


def _flow_names(flow: Int64s, firsts: Json, builder: TraceBuilder) -> Int64s:
    """Ids of the names of flows: perflab writes from which number on each has which."""
    known = {}
    if isinstance(firsts, dict):
        known = {first: name for name, first in firsts.items() if type(first) is int and 0 < first < 2**62}
    bounds = sorted(known)
    names = [builder.string("flow"), *(builder.string(known[first]) for first in bounds)]
    return np.array(names, dtype=np.int64)[np.searchsorted(np.array(bounds, dtype=np.int64), flow, side="right")]
