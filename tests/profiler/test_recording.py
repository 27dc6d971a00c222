import io
from typing import Any

import numpy as np

from perflab.profiler import Trace, Track, chrome
from perflab.profiler.analysis.averages import key_averages
from perflab.profiler.analysis.gil import GilWait, gil_waits
from perflab.profiler.analysis.graph import AutogradGraph, autograd_graph
from perflab.profiler.analysis.memory import memory_curve
from perflab.profiler.analysis.steps import Step, steps
from perflab.profiler.chrome_write import encode
from perflab.profiler.conversion import backward_name, to_trace
from perflab.profiler.events import (
    ALLOC,
    ANNOTATION,
    COMPOSITE,
    EDGE,
    EVENT,
    FREE,
    GIL,
    LEAF,
    NODE,
    OP,
    STEP_MARK,
    TO_LEAF,
)
from perflab.profiler.recording import Clock, Recording

OPS = ["add", "take_along", "exp", "reshape"]
STRINGS = ["", "forward", "block.0", "hook", "MyFunctionBackward", "silu"]
SHAPES = [(), (("float32", (2, 3)), ("int64", ()))]
DTYPES = ["bool", "int32", "int64", "float32"]
NATIVE_FLOAT32, NUMPY_INT64, VIEW = 1 | 3 << 3, 2 | 2 << 3, 0
OUTPUT = 1 << 8


def event(kind: int, t0: int, t1: int, t2: int, name: int = 0, **more: int) -> dict[str, int]:
    return {"kind": kind, "t0": t0, "t1": t1, "t2": t2, "name": name, **more}


def packed(*events: dict[str, int]) -> Any:
    array = np.zeros(len(events), dtype=EVENT)
    for row, fields in zip(array, events, strict=True):
        for name, value in fields.items():
            row[name] = value
    return array


def convert(*events: dict[str, int], clock: Clock = Clock(0, 10**18, 1.0), **options: Any) -> Trace:  # noqa: B008
    shown = {name: options.pop(name) for name in ("shapes", "memory") if name in options}
    recording = Recording(
        events=[(40, packed(*events))],
        clock=clock,
        pid=40,
        ops=OPS,
        dtypes=DTYPES,
        strings=STRINGS,
        shapes=SHAPES,
        threads={40: "MainThread"},
        **options,
    )
    trace = to_trace(recording, **shown)
    trace.check()
    return trace


def slices(trace: Trace) -> list[tuple[str, str, int, int, int]]:
    """Name, category, start, duration and depth of each slice."""
    columns = trace.slices
    return [
        (
            trace.strings[columns.name[row]],
            trace.strings[columns.category[row]],
            int(columns.start[row]),
            int(columns.duration[row]),
            int(columns.depth[row]),
        )
        for row in range(len(columns))
    ]


def test_an_op_has_its_kernel_inside_and_torchs_arguments() -> None:
    trace = convert(event(OP, 100, 130, 190, flags=NATIVE_FLOAT32, sequence=7, shapes=1, scope=2))
    assert slices(trace) == [("add", "cpu_op", 0, 90, 0), ("add_native_float32", "kernel", 30, 60, 1)]
    assert trace.args_of(0) == {
        "Sequence number": 7,
        "Input Dims": [[2, 3], []],
        "Input type": ["float", "long int"],
        "Module Hierarchy": "block.0",
    }
    assert trace.args_of(1) == {}
    assert trace.tracks == [Track(40, 40, "MainThread", "python")]


def test_a_kernel_shorter_than_a_tick_is_still_inside_its_op() -> None:
    composite = event(COMPOSITE, 0, 0, 200, name=5)
    trace = convert(event(OP, 100, 130, 130, flags=NATIVE_FLOAT32), event(OP, 150, 150, 150), composite)
    assert slices(trace) == [
        ("silu", "cpu_op", 0, 200, 0),
        ("add", "cpu_op", 100, 30, 1),
        ("add_native_float32", "kernel", 129, 1, 2),
        ("add", "cpu_op", 150, 0, 1),
    ]
    assert [trace.args_of(row) for row in range(4)] == [{"Composite": True}, {}, {}, {}]


def test_a_view_has_no_kernel_and_shapes_are_shown_only_if_asked_for() -> None:
    trace = convert(event(OP, 0, 5, 10, 3, flags=VIEW, shapes=1), event(0, 1, 1, 1), shapes=False)
    assert slices(trace) == [("reshape", "cpu_op", 0, 10, 0)]
    assert trace.args_of(0) == {}


def test_everything_nests_on_the_threads_track() -> None:
    trace = convert(
        event(OP, 12, 14, 18, 0, flags=NATIVE_FLOAT32),
        event(COMPOSITE, 11, 0, 20, 5),
        event(OP, 31, 32, 34, 0, flags=NUMPY_INT64),
        event(NODE, 30, 0, 35, 1, sequence=1),
        event(NODE, 36, 0, 39, 4, flags=1, sequence=2),
        event(ANNOTATION, 10, 0, 21, 1),
        event(STEP_MARK, 10, 0, 40, 12),
    )
    assert slices(trace) == [
        ("ProfilerStep#12", "user_annotation", 0, 30, 0),
        ("forward", "user_annotation", 0, 11, 1),
        ("silu", "cpu_op", 1, 9, 2),
        ("add", "cpu_op", 2, 6, 3),
        ("add_native_float32", "kernel", 4, 4, 4),
        ("TakeAlongBackward0", "autograd", 20, 5, 1),
        ("add", "cpu_op", 21, 3, 2),
        ("add_numpy_int64", "kernel", 22, 2, 3),
        ("MyFunctionBackward", "autograd", 26, 3, 1),
    ]
    assert steps(trace) == [Step(12, 0, 30)]
    averages = {row.name: row for row in key_averages(trace)}
    assert (averages["silu"].self_ns, averages["silu"].total_ns) == (3, 9)
    assert (averages["add"].count, averages["add"].self_ns, averages["add"].kernel_ns) == (2, 9, 6)


def test_slices_of_the_same_times_keep_their_order_of_nesting() -> None:
    trace = convert(
        event(OP, 5, 5, 9, 0, flags=NATIVE_FLOAT32),
        event(NODE, 5, 0, 9, 0),
        event(COMPOSITE, 5, 0, 9, 5),
        event(ANNOTATION, 5, 0, 9, 1),
        event(STEP_MARK, 5, 0, 9, 0),
    )
    names = [one[0] for one in slices(trace)]
    assert names == ["ProfilerStep#0", "forward", "silu", "AddBackward0", "add", "add_native_float32"]
    assert trace.slices.depth.tolist() == [0, 1, 2, 3, 4, 5]


def test_backward_nodes_are_tied_to_the_ops_that_made_them() -> None:
    trace = convert(
        event(OP, 0, 1, 2, 0, flags=NATIVE_FLOAT32, sequence=5),
        event(OP, 3, 4, 5, 1, flags=NATIVE_FLOAT32, sequence=3),
        event(OP, 6, 7, 8, 0, flags=NATIVE_FLOAT32),
        event(NODE, 10, 0, 11, 0, sequence=5),
        event(NODE, 12, 0, 13, 1, sequence=3),
        event(NODE, 14, 0, 15, 1, sequence=99),
    )
    arrows = zip(trace.name_of(trace.flows.source), trace.name_of(trace.flows.target), strict=True)
    assert list(arrows) == [("add", "AddBackward0"), ("take_along", "TakeAlongBackward0")]
    assert {trace.strings[name] for name in trace.flows.name} == {"fwdbwd"}
    assert [trace.args_of(row).get("Sequence number") for row in trace.select(category="autograd")] == [5, 3, 99]


def test_an_edge_leads_to_the_run_behind_it_in_its_pass() -> None:
    def run_of_pass(begin: int) -> list[dict[str, int]]:
        return [
            event(NODE, begin, 0, begin + 1, 0, sequence=9),
            event(EDGE, begin, 0, begin + 1, sequence=9, address=7),
            event(EDGE, begin, 0, begin + 1, sequence=9, address=4),  # which the pass does not run
            event(NODE, begin + 2, 0, begin + 3, 1, sequence=7),
            event(EDGE, begin + 2, 0, begin + 3, sequence=7, address=7, flags=TO_LEAF),
            event(LEAF, begin + 4, 0, begin + 5, address=7, shapes=1),
        ]

    trace = convert(*run_of_pass(0), *run_of_pass(10))
    arrows = zip(trace.flows.source.tolist(), trace.flows.target.tolist(), strict=True)
    assert list(arrows) == [(0, 1), (1, 2), (3, 4), (4, 5)]
    assert {trace.strings[name] for name in trace.flows.name} == {"next_functions"}
    assert trace.name_of([2]) == ["AccumulateGrad"]
    assert trace.args_of(2) == {
        "Leaf": 7,
        "Input Dims": [[2, 3], []],
        "Input type": ["float", "long int"],
    }
    graph = autograd_graph(trace, 0, 100, limit=3)
    assert [(node.name, node.runs, node.ns) for node in graph.nodes] == [
        ("AddBackward0", 2, 2),
        ("TakeAlongBackward0", 2, 2),
        ("AccumulateGrad", 2, 2),
    ]
    assert graph.edges == [(0, 1), (1, 2)]
    assert autograd_graph(trace, 10, 100, limit=3).nodes[0].runs == 1
    assert autograd_graph(trace, 0, 100, limit=2) == AutogradGraph(3)


def test_memory_runs_up_and_down_over_all_threads() -> None:
    recording = Recording(
        events=[
            (40, packed(event(OP, 9, 10, 12, flags=NATIVE_FLOAT32 | OUTPUT, address=64, bytes=100))),
            (40, packed(event(FREE, 30, 0, 30, address=64, bytes=100))),
            (41, packed(event(ALLOC, 20, 0, 20, address=128, bytes=50))),
            (41, packed(event(OP, 21, 22, 23, flags=NATIVE_FLOAT32, address=64, bytes=100))),
        ],
        clock=Clock(0, 10**18, 1.0),
        pid=40,
        ops=OPS,
        dtypes=DTYPES,
        strings=STRINGS,
        shapes=SHAPES,
        allocated_bytes=1000,
        reserved=[(5, 4096), (25, 8192)],
    )  # fmt: skip
    trace = to_trace(recording)
    trace.check()
    assert [trace.instant_args_of(row) for row in range(3)] == [
        {"Addr": 64, "Bytes": 100, "Total Allocated": 1100, "Category": "temporary"},
        {"Addr": 128, "Bytes": 50, "Total Allocated": 1150, "Category": "other"},
        {"Addr": 64, "Bytes": -100, "Total Allocated": 1050},
    ]
    assert {trace.strings[name] for name in trace.instants.name} == {"[memory]"}
    curve = memory_curve(trace)
    assert curve.time.tolist() == [0, 5, 15, 25]
    assert curve.allocated.tolist() == [1000, 1100, 1150, 1050]
    assert curve.reserved.tolist() == [4096, 4096, 4096, 8192]
    assert (curve.peak_index, curve.peak_bytes) == (2, 1150)
    assert {row.name: row.allocated_bytes for row in key_averages(trace)} == {"add": 100}
    assert [(track.tid, track.name) for track in trace.tracks] == [(40, "thread 40"), (41, "thread 41")]
    without = to_trace(recording, memory=False)
    assert (len(without.instants), len(without.counters)) == (0, 0)


def test_the_gil_has_a_track_beside_its_thread() -> None:
    trace = convert(
        event(OP, 0, 5, 50, 0, flags=NATIVE_FLOAT32),
        event(GIL, 10, 25, 80, 3),
        event(GIL, 90, 90, 95, 3),
    )
    assert trace.tracks == [
        Track(40, 40, "MainThread", "python"),
        Track(40, 10_000_040, "MainThread GIL", "python"),
    ]
    assert [one[:4] for one in slices(trace) if one[1] == "gil"] == [
        ("GIL wait: hook", "gil", 10, 15),
        ("GIL held: hook", "gil", 25, 55),
        ("GIL held: hook", "gil", 90, 5),
    ]
    assert gil_waits(trace) == [GilWait(0, 10, 15, 55, "hook"), GilWait(0, 90, 0, 5, "hook")]
    assert {row.name: row.gil_wait_ns for row in key_averages(trace)} == {"add": 15}


def test_ticks_become_nanoseconds_since_the_first_event() -> None:
    day = 86_400 * 10**9
    clock = Clock(tick0=1_000, ns0=1_764_475_000_000_000_000, ns_per_tick=0.4)
    begin = 1_000 + day
    trace = convert(
        event(OP, begin, begin + 5, begin + 10, flags=NATIVE_FLOAT32), clock=clock, metadata={"commit": "c"}
    )
    assert [one[2:4] for one in slices(trace)] == [(0, 4), (2, 2)]
    assert trace.metadata == {"commit": "c", "baseTimeNanoseconds": 1_764_475_000_000_000_000 + round(day * 0.4)}


def test_an_empty_recording_is_an_empty_trace() -> None:
    trace = convert()
    assert (len(trace.slices), len(trace.instants), len(trace.counters)) == (0, 0, 0)
    assert trace.metadata["baseTimeNanoseconds"] == 10**18


def test_a_recording_survives_its_file() -> None:
    trace = convert(
        event(OP, 0, 5, 50, 0, flags=NATIVE_FLOAT32 | OUTPUT, sequence=1, shapes=1, bytes=8),
        event(NODE, 60, 0, 70, 0, sequence=1),
        event(GIL, 10, 25, 80, 3),
        reserved=[(0, 64)],
    )
    again = chrome.read(io.BytesIO(b"".join(encode(trace))))
    assert slices(again) == slices(trace)
    assert gil_waits(again) == gil_waits(trace)
    assert key_averages(again) == key_averages(trace)
    assert again.metadata == trace.metadata


def test_backward_names_are_torchs() -> None:
    assert backward_name("add") == "AddBackward0"
    assert backward_name("log_softmax") == "LogSoftmaxBackward0"
