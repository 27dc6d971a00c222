"""Perfetto's traces as the package's own builder makes them, and what is read of them."""

import io
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from perflab.profiler import Track, importers
from perflab.profiler.importers import Import

BEGIN, END, INSTANT, COUNTER = (
    messages.TrackEvent.TYPE_SLICE_BEGIN,
    messages.TrackEvent.TYPE_SLICE_END,
    messages.TrackEvent.TYPE_INSTANT,
    messages.TrackEvent.TYPE_COUNTER,
)
CLEARED, NEEDS_STATE = 1, 2
REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6


def load(data: bytes | TraceProtoBuilder, largest: int | None = None) -> Import:
    packed = data if isinstance(data, bytes) else data.serialize()
    found = importers.read(io.BytesIO(packed), largest, mask=False)
    found.trace.check()
    return found


def packet(builder: TraceProtoBuilder, time: int | None = None, **fields: Any) -> Any:
    made = builder.add_packet()
    made.trusted_packet_sequence_id = 1
    if time is not None:
        made.timestamp = time
    for key, value in fields.items():
        setattr(made, key, value)
    return made


def event(builder: TraceProtoBuilder, time: int, type: int, name: str = "", track: int = 2, **fields: Any) -> Any:
    made = packet(builder, time).track_event
    made.type, made.track_uuid = type, track
    if name:
        made.name = name
    for key, value in fields.items():
        getattr(made, key).extend(value) if isinstance(value, list) else setattr(made, key, value)
    return made


def thread(builder: TraceProtoBuilder, uuid: int = 2, pid: int = 71, tid: int = 72, name: str = "main") -> None:
    told = packet(builder).track_descriptor
    told.uuid, told.thread.pid, told.thread.tid, told.thread.thread_name = uuid, pid, tid, name


def snapshot(builder: TraceProtoBuilder, primary: int = 0, sequence: int = 1, **clocks: tuple[Any, ...]) -> None:
    made = packet(builder, trusted_packet_sequence_id=sequence).clock_snapshot
    if primary:
        made.primary_trace_clock = primary
    for id, (time, *unit) in clocks.items():
        clock = made.clocks.add(clock_id=int(id[1:]), timestamp=time)
        if unit:
            clock.unit_multiplier_ns, clock.is_incremental = unit


def track_of(found: Import, row: int) -> Track:
    return found.trace.tracks[found.trace.slices.track[row]]
