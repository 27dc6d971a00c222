"""What is read of Perfetto's own traces, and what is said of them."""

import zlib
from collections.abc import Callable
from typing import Any

import pytest
import zstandard
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from perflab.profiler import TraceFormatError, Track

from .packets import (
    BEGIN,
    BOOTTIME,
    CLEARED,
    COUNTER,
    END,
    INSTANT,
    MONOTONIC,
    NEEDS_STATE,
    REALTIME,
    event,
    load,
    packet,
    snapshot,
    thread,
    track_of,
)
from .test_formats import kinds, slices


def test_slices_of_a_thread_with_what_they_name_by_number() -> None:
    builder = TraceProtoBuilder()
    process = packet(builder).track_descriptor
    process.uuid, process.process.pid, process.process.process_name = 1, 71, "python"
    thread(builder)
    first = packet(builder, 100, sequence_flags=CLEARED)
    first.trace_packet_defaults.track_event_defaults.track_uuid = 2
    data = first.interned_data
    data.event_names.add(iid=7, name="matmul")
    data.event_categories.add(iid=3, name="cpu_op")
    data.event_categories.add(iid=4, name="gemm")
    data.debug_annotation_names.add(iid=9, name="rows")
    first.track_event.type, first.track_event.name_iid = BEGIN, 7
    first.track_event.category_iids.extend([3, 4])
    first.track_event.debug_annotations.add(name_iid=9, int_value=-5)
    event(builder, 110, BEGIN, "inner", track=0)
    event(builder, 130, END, track=0)
    event(builder, 150, END, track=0, debug_annotations=[messages.DebugAnnotation(name="late", bool_value=True)])
    found = load(builder)
    assert found.format == "Perfetto"
    assert slices(found.trace) == [("matmul", 100, 50, 0), ("inner", 110, 20, 1)]
    assert [found.trace.strings[number] for number in found.trace.slices.category] == ["cpu_op,gemm", ""]
    assert found.trace.args_of(0) == {"rows": -5, "late": True}
    assert track_of(found, 0) == Track(71, 72, "main", "python")
    assert kinds(found) == {}


def test_numbers_of_one_sequence_mean_nothing_in_another_and_end_when_it_begins_anew() -> None:
    builder = TraceProtoBuilder()
    for sequence, name in ((1, "one"), (2, "two"), (1, "again")):
        made = packet(builder, 10, trusted_packet_sequence_id=sequence, sequence_flags=CLEARED)
        made.interned_data.event_names.add(iid=1, name=name)
    for time, sequence in ((20, 1), (30, 2)):
        made = packet(builder, time, trusted_packet_sequence_id=sequence, sequence_flags=NEEDS_STATE)
        made.track_event.type, made.track_event.name_iid = INSTANT, 1
    found = load(builder)
    assert [found.trace.strings[name] for name in found.trace.instants.name] == ["again", "two"]
    assert found.trace.instants.time.tolist() == [20, 30]


def test_packets_in_any_order_of_time() -> None:
    builder = TraceProtoBuilder()
    for time, type, name in ((50, END, ""), (10, BEGIN, "a"), (40, END, ""), (20, BEGIN, "b")):
        event(builder, time, type, name)
    assert slices(load(builder).trace) == [("a", 10, 40, 0), ("b", 20, 20, 1)]


def test_slices_without_an_end_and_ends_without_a_begin() -> None:
    builder = TraceProtoBuilder()
    event(builder, 5, END)
    event(builder, 10, BEGIN, "open")
    event(builder, 20, BEGIN, "f")
    event(builder, 30, END, "g")  # of another name
    event(builder, 40, END, "f")
    event(builder, 70, INSTANT, "last", track=9)
    found = load(builder)
    assert slices(found.trace) == [("open", 10, 60, 0), ("f", 20, 20, 1)]
    assert found.trace.args_of(0) == {"unfinished": True}
    assert kinds(found) == {"unfinished": 1, "stray-end": 2}
    assert found.findings[0].examples == ("'open' from 10 ns",)


def test_tracks() -> None:
    builder = TraceProtoBuilder()
    thread(builder)
    rows: list[tuple[int, int, str, Callable[[Any], Any]]] = [
        (1, 0, "", lambda told: told.process.MergeFrom(messages.ProcessDescriptor(pid=71, cmdline=["py"]))),
        (3, 1, "queue", lambda told: None),
        (4, 1, "queue", lambda told: None),
        (5, 2, "main", lambda told: None),  # beside the thread, under its name
        (6, 2, "requests", lambda told: None),
        (7, 0, "GPU", lambda told: None),
        (8, 7, "stream 7", lambda told: None),
        (9, 0, "alone", lambda told: None),
    ]  # fmt: skip
    for uuid, parent, name, more in rows:
        told = packet(builder).track_descriptor
        told.uuid = uuid
        if parent:
            told.parent_uuid = parent
        if name:
            told.name = name
        more(told)
    for uuid in (*range(1, 10), 10, 0):
        event(builder, 10 * uuid, BEGIN, f"on {uuid}", track=uuid)
        event(builder, 10 * uuid + 5, END, track=uuid)
    found = load(builder)
    on = {name: track_of(found, row) for row, (name, *_) in enumerate(slices(found.trace))}
    assert on == {
        "on 0": Track(0, 0), "on 1": Track(71, 0, "", "py"), "on 2": Track(71, 72, "main", "py"),
        "on 3": Track(71, "queue", "queue", "py"), "on 4": Track(71, "queue #2", "queue", "py"),
        "on 5": Track(71, 72, "main", "py"), "on 6": Track(71, "requests", "requests", "py"),
        "on 7": Track(0, "GPU", "GPU"), "on 8": Track("GPU", "stream 7", "stream 7", "GPU"),
        "on 9": Track(0, "alone", "alone"), "on 10": Track(0, "track 10"),
    }  # fmt: skip


def test_a_thread_as_it_was_told_before_tracks_had_descriptors() -> None:
    builder = TraceProtoBuilder()
    packet(builder).thread_descriptor.MergeFrom(messages.ThreadDescriptor(pid=5, tid=6, thread_name="worker"))
    packet(builder).process_tree.processes.add(pid=5, cmdline=["/usr/bin/train", "--fast"])
    event(builder, 1, BEGIN, "a", track=0)
    event(builder, 3, END, track=0)
    assert track_of(load(builder), 0) == Track(5, 6, "worker", "/usr/bin/train")


def test_counters() -> None:
    builder = TraceProtoBuilder()
    thread(builder)
    for uuid, name, multiplier, is_incremental in (
        (11, "memory", 1024, False),
        (12, "hits", 1, True),
        (13, "load", 1, False),
    ):
        told = packet(builder).track_descriptor
        told.uuid, told.parent_uuid, told.name = uuid, 2, name
        told.counter.unit_multiplier, told.counter.is_incremental = multiplier, is_incremental
    event(builder, 10, COUNTER, track=11, counter_value=3)
    event(builder, 20, COUNTER, track=13, double_counter_value=0.25)
    event(builder, 25, COUNTER, track=13, double_counter_value=float("nan"))
    event(builder, 26, COUNTER, track=11, double_counter_value=1e308)  # times 1024
    event(builder, 30, BEGIN, "f", extra_counter_track_uuids=[12, 11], extra_counter_values=[5, 4])
    event(builder, 40, END, extra_counter_track_uuids=[12], extra_counter_values=[2])
    found = load(builder)
    values = {name: [column.tolist() for column in found.trace.counter(name)] for name in ("memory", "hits", "load")}
    assert values == {"memory": [[10, 30], [3072.0, 4096.0]], "hits": [[30, 40], [5.0, 7.0]], "load": [[20], [0.25]]}
    assert {found.trace.tracks[track] for track in found.trace.counters.track} == {Track(71, 72, "main")}
    assert slices(found.trace) == [("f", 30, 10, 0)]
    assert kinds(found) == {"not-a-number": 2}


def test_flows() -> None:
    builder = TraceProtoBuilder()
    for place, name in enumerate("abc"):
        flow = {"terminating_flow_ids": [2**64 - 1]} if name == "c" else {"flow_ids": [2**64 - 1]}
        event(builder, 10 * place, BEGIN, name, track=20 + place, **flow)
        event(builder, 10 * place + 5, END, track=20 + place)
    event(builder, 60, BEGIN, "d", flow_ids=[8])
    event(builder, 61, END, terminating_flow_ids=[9])
    event(builder, 70, INSTANT, "i", flow_ids=[10])
    found = load(builder)
    flows = found.trace.flows
    assert list(zip(found.trace.name_of(flows.source), found.trace.name_of(flows.target), strict=True)) == [
        ("a", "b"), ("b", "c"),
    ]  # fmt: skip
    assert kinds(found) == {"lone-flow-start": 1, "lone-flow-end": 1, "unbound-flow": 1}


def test_clocks_are_put_on_the_traces_own_by_the_snapshot_before() -> None:
    builder = TraceProtoBuilder()
    snapshot(builder, c6=(1000,), c3=(400,), c1=(10**18,))
    snapshot(builder, c6=(2000,), c3=(1500,))  # they drift
    for time, clock in ((500, MONOTONIC), (1600, MONOTONIC), (100, MONOTONIC), (1234, 0), (10**18 + 7, REALTIME)):
        made = packet(builder, time)
        made.track_event.type = INSTANT
        if clock:
            made.timestamp_clock_id = clock
    found = load(builder)
    assert found.trace.instants.time.tolist() == [700, 1007, 1100, 1234, 2100]
    assert found.trace.metadata == {"baseTimeNanoseconds": 10**18 - 1000}
    assert kinds(found) == {}


def test_a_clock_of_a_sequence_counts_from_packet_to_packet() -> None:
    builder = TraceProtoBuilder()
    for sequence, zero in ((1, 5000), (2, 9000)):
        snapshot(builder, sequence=sequence, c64=(3, 1000, True), c6=(zero,))
        defaults = packet(builder, trusted_packet_sequence_id=sequence).trace_packet_defaults
        defaults.timestamp_clock_id = 64
        for step in (1, 2):
            packet(builder, step, trusted_packet_sequence_id=sequence).track_event.type = INSTANT
    assert load(builder).trace.instants.time.tolist() == [6000, 8000, 10_000, 12_000]


def test_the_clock_that_the_snapshots_name_is_the_traces() -> None:
    builder = TraceProtoBuilder()
    snapshot(builder, MONOTONIC, c3=(1000,), c6=(11_000,))
    for time, clock in ((1000, MONOTONIC), (12_000, BOOTTIME)):
        packet(builder, time, timestamp_clock_id=clock).track_event.type = INSTANT
    assert load(builder).trace.instants.time.tolist() == [1000, 2000]


def test_a_clock_that_nothing_ties_to_the_others_is_told_of() -> None:
    builder = TraceProtoBuilder()
    packet(builder, 10).track_event.type = INSTANT
    packet(builder, 20, timestamp_clock_id=200).track_event.type = INSTANT
    packet(builder, 2**64 - 1).track_event.type = INSTANT
    packet(builder).track_event.type = INSTANT
    found = load(builder)
    assert found.trace.instants.time.tolist() == [10, 20]
    assert kinds(found) == {"other-clock": 1, "no-time": 2}
    assert next(finding for finding in found.findings if finding.kind == "other-clock").examples == ("clock 200",)


def test_arguments_of_every_type() -> None:
    builder = TraceProtoBuilder()
    annotation = messages.DebugAnnotation
    nested = annotation.NestedValue
    told = [
        annotation(name="bool", bool_value=False), annotation(name="uint", uint_value=2**64 - 1),
        annotation(name="double", double_value=0.5), annotation(name="nan", double_value=float("nan")),
        annotation(name="text", string_value="x"), annotation(name="pointer", pointer_value=255),
        annotation(name="json", legacy_json_value='{"a":[1,null]}'), annotation(name="none"),
        annotation(name="list", array_values=[annotation(int_value=1), annotation(string_value="y")]),
        annotation(name="dict", dict_entries=[annotation(name="k", dict_entries=[annotation(name="l", int_value=2)])]),
        annotation(name="nested", nested_value=nested(
            nested_type=nested.DICT, dict_keys=["p", "q"],
            dict_values=[
                nested(string_value="z"), nested(nested_type=nested.ARRAY, array_values=[nested(int_value=3)]),
            ])),
    ]  # fmt: skip
    made = event(builder, 1, INSTANT, debug_annotations=told)
    last = builder.trace.packet[-1]
    last.interned_data.debug_annotation_string_values.add(iid=4, str=b"often\xff")
    made.debug_annotations.add(name="interned", string_value_iid=4)
    found = load(builder)
    assert found.trace.instant_args_of(0) == {
        "bool": False, "uint": 2**64 - 1, "double": 0.5, "nan": None, "text": "x", "pointer": "0xff",
        "json": {"a": [1, None]}, "none": None, "list": [1, "y"], "dict": {"k": {"l": 2}},
        "nested": {"p": "z", "q": [3]}, "interned": "often\ufffd",
    }  # fmt: skip
    assert kinds(found) == {"not-a-number": 1}


def test_packets_that_were_lost() -> None:
    builder = TraceProtoBuilder()
    made = packet(builder, 1, sequence_flags=NEEDS_STATE)  # how it began was overwritten
    made.track_event.type = INSTANT
    made = packet(builder, 2, sequence_flags=CLEARED, previous_packet_dropped=1)
    made.track_event.type = INSTANT
    made = packet(builder, 3, sequence_flags=NEEDS_STATE, previous_packet_dropped=1)
    made.track_event.type = INSTANT
    found = load(builder)
    assert found.trace.instants.time.tolist() == [2]
    (finding,) = found.findings
    assert (finding.kind, finding.severity, finding.count) == ("dropped", "error", 4)
    assert finding.examples == (
        "events came without what they name by number: 2", "packets were lost on the way: 2",
    )  # fmt: skip


def test_packets_of_other_data_sources_are_counted() -> None:
    builder = TraceProtoBuilder()
    event(builder, 1, INSTANT)
    packet(builder, 2).ftrace_events.cpu = 1
    packet(builder, 2).ftrace_events.cpu = 2
    packet(builder, 2).trace_config.duration_ms = 5
    packet(builder, 3).track_event.type = messages.TrackEvent.TYPE_UNSPECIFIED
    found = load(builder)
    (finding,) = found.findings
    assert (finding.kind, finding.count) == ("other-packets", 3)
    assert finding.examples == ("ftrace_events: 2", "track events of another type: 1")


@pytest.mark.parametrize("field", ["compressed_packets", "zstd_compressed_packets"])
def test_packets_that_are_packed_together(field: str) -> None:
    inner, builder = TraceProtoBuilder(), TraceProtoBuilder()
    for time, type, name in ((10, BEGIN, "a"), (40, END, "")):
        event(inner, time, type, name)
    packed = (zlib.compress if field == "compressed_packets" else zstandard.compress)(inner.serialize())
    setattr(builder.add_packet(), field, packed)
    event(builder, 50, INSTANT, "later")
    found = load(builder)
    assert slices(found.trace) == [("a", 10, 30, 0)]
    assert len(found.trace.instants) == 1
    setattr(builder.trace.packet[0], field, packed[: len(packed) // 2])
    assert "cut" in kinds(load(builder)) or len(load(builder).trace.slices) == 0


def test_what_is_packed_in_a_packet_counts_against_the_cap() -> None:
    builder = TraceProtoBuilder()
    event(builder, 1, INSTANT)
    inner = TraceProtoBuilder()
    event(inner, 1, INSTANT, "x" * (8 << 20))
    builder.add_packet().compressed_packets = zlib.compress(inner.serialize())
    with pytest.raises(TraceFormatError, match="it unpacks to more than 4 MiB"):
        load(builder, 4 << 20)
