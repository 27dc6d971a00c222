import json
from dataclasses import asdict

import numpy as np
import pytest

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.averages import OpAverage, key_averages
from perflab.profiler.analysis.diff import BillLine, OpDelta, diff
from perflab.profiler.analysis.enclosing import innermost
from perflab.profiler.analysis.gil import GilWait, gil_waits
from perflab.profiler.analysis.memory import memory_curve
from perflab.profiler.analysis.steps import Step, steps
from perflab.profiler.analysis.summary import Summary, summarize

MAIN, GIL, DEVICE = Track(1, 1, "main", "python"), Track(1, 10_000_001, "main GIL", "python"), Track(0, 7, "stream 7")


def step(builder: TraceBuilder, number: int, start: int, *, slow: int = 0) -> None:
    """One step of 1000 ns (+ slow): a composite of two ops, one of them with a kernel and an allocation; a GIL wait."""
    builder.slice(f"ProfilerStep#{number}", start, 1000 + slow, track=MAIN, category="user_annotation")
    builder.slice("gelu", start + 100, 500 + slow, track=MAIN, category="cpu_op")
    builder.slice("inside", start + 110, 300, track=MAIN, category="user_annotation")
    builder.slice("mul", start + 120, 200, track=MAIN, category="cpu_op")
    builder.slice("mul_native_float32", start + 150, 150, track=MAIN, category="kernel")
    builder.instant("[memory]", start + 150, track=MAIN, args={"Bytes": 64})
    builder.instant("[memory]", start + 160, track=MAIN, args={"Bytes": -32})
    builder.slice("add", start + 450, 100 + slow, track=MAIN, category="cpu_op")
    builder.slice("GIL wait: hook", start + 460, 40, track=GIL, category="gil", args={"Thread": 1})
    builder.slice("GIL held: hook", start + 500, 600, track=GIL, category="gil", args={"Thread": 1})
    builder.counter("Allocated", start + 150, 1000 + number * 64, track=MAIN)


def loop(count: int = 3, slow: int = 0) -> Trace:
    builder = TraceBuilder()
    builder.slice("warm-up", 0, 50, track=MAIN, category="cpu_op")
    for number in range(count):
        step(builder, number, 100 + number * 10_000, slow=slow)
    trace = builder.build()
    trace.check()
    return trace


def test_averages() -> None:
    averages = key_averages(loop())
    assert list(averages) == [
        OpAverage("gelu", 3, 600, 1500, 0, 0, 0),
        OpAverage("mul", 3, 600, 600, 450, 192, 0, kernels=3),
        OpAverage("add", 3, 300, 300, 0, 0, 120),
        OpAverage("warm-up", 1, 50, 50, 0, 0, 0),
    ]
    assert len(key_averages(TraceBuilder().build())) == 0


def test_a_wait_counts_for_the_op_that_gave_up_the_gil() -> None:
    builder = TraceBuilder()
    other, other_gil = Track(1, 2, "other"), Track(1, 10_000_002, "other GIL")

    def gil(name: str, start: int, end: int, track: Track = GIL) -> None:
        builder.slice(name, start, end - start, track=track, category="gil", args={"Thread": 1 if track is GIL else 2})

    for name, start, end in (("outer", 110, 190), ("inner", 120, 180), ("kept", 320, 380), ("slow", 610, 690)):
        builder.slice(name, start, end - start, track=MAIN, category="cpu_op")
    builder.slice("theirs", 650, 20, track=other, category="cpu_op")
    gil("GIL held", 0, 100)
    gil("GIL wait", 200, 250)  # of `outer`, which began and ended after the GIL was given up
    gil("GIL held", 250, 400)
    gil("GIL wait", 450, 500)  # of nobody: after `kept` Python held the GIL, and then slept
    gil("GIL held", 500, 600)
    gil("GIL wait: hook", 695, 698)  # of a reason that is told
    gil("GIL held: hook", 698, 699)
    gil("GIL wait", 700, 800)  # of nobody: the hook came between
    gil("GIL held", 100, 110, other_gil)
    gil("GIL wait", 640, 645, other_gil)  # before their op
    trace = builder.build()
    assert {row.name: row.gil_wait_ns for row in key_averages(trace)} == {
        "outer": 50,
        "inner": 0,
        "kept": 0,
        "slow": 0,
        "theirs": 0,
    }


def test_kernels_on_a_device_count_for_the_op_that_launched_them() -> None:
    builder = TraceBuilder()
    builder.slice("addmm", 0, 100, track=MAIN, category="cpu_op")
    launch = builder.slice("cudaLaunchKernel", 50, 10, track=MAIN, category="cuda_runtime")
    builder.slice("ProfilerStep#0", 150, 100, track=DEVICE, category="gpu_user_annotation")
    kernel = builder.slice("gemm", 200, 30, track=DEVICE, category="kernel")
    builder.slice("nobody's", 240, 5, track=DEVICE, category="kernel")
    builder.flow("ac2g", launch, kernel)
    trace = builder.build()
    assert list(key_averages(trace)) == [OpAverage("addmm", 1, 100, 100, 30, 0, 0, kernels=1)]
    assert steps(trace) == []


def test_without_ops_every_slice_is_one() -> None:
    builder = TraceBuilder()
    builder.slice("main.py:1 f", 0, 10, track=MAIN, category="fee")
    builder.slice("main.py:5 g", 2, 4, track=MAIN, category="fee")
    builder.slice("ProfilerStep#0", 0, 10, track=MAIN, category="Operator")
    found = {row.name: row.self_ns for row in key_averages(builder.build())}
    assert found == {}, "the step is an op of early Kineto's, so the others are not"
    builder = TraceBuilder()
    builder.slice("main.py:1 f", 0, 10, track=MAIN, category="fee")
    builder.slice("main.py:5 g", 2, 4, track=MAIN, category="fee")
    assert {row.name: row.self_ns for row in key_averages(builder.build())} == {"main.py:1 f": 6, "main.py:5 g": 4}


def test_steps_and_gil_waits() -> None:
    trace = loop(2)
    assert steps(trace) == [Step(0, 100, 1000), Step(1, 10_100, 1000)]
    main = trace.tracks.index(MAIN)
    assert gil_waits(trace) == [GilWait(main, 560, 40, 600, "hook"), GilWait(main, 10_560, 40, 600, "hook")]


def test_gil_slices_that_stand_alone() -> None:
    builder = TraceBuilder()
    builder.slice("GIL wait: never got it", 5, 10, track=GIL, category="gil")
    builder.slice("GIL held: already", 0, 3, track=GIL, category="gil")
    assert gil_waits(builder.build()) == [GilWait(0, 0, 0, 3, "already"), GilWait(0, 5, 10, 0, "never got it")]


def test_the_memory_curve_of_counters() -> None:
    curve = memory_curve(loop(3))
    assert curve.allocated.tolist() == [1000, 1064, 1128]
    assert curve.reserved.tolist() == [0, 0, 0]
    assert (curve.peak_index, curve.peak_bytes) == (2, 1128)
    nothing = memory_curve(TraceBuilder().build())
    assert (len(nothing.time), nothing.peak_index, nothing.peak_bytes) == (0, -1, 0)


def test_the_memory_curve_of_torchs_instants_is_that_of_the_fullest_device() -> None:
    builder = TraceBuilder()
    for time, device, total in ((1, 0, 50), (2, 1, 500), (3, 0, 60), (4, 1, 700), (5, 1, 100)):
        args = {"Device Type": device, "Device Id": 0, "Total Allocated": total, "Total Reserved": 1000 + device}
        builder.instant("[memory]", time, track=MAIN, args=args)
    curve = memory_curve(builder.build())
    assert curve.time.tolist() == [2, 4, 5]
    assert curve.allocated.tolist() == [500, 700, 100]
    assert curve.reserved.tolist() == [1001] * 3
    assert (curve.peak_index, curve.peak_bytes) == (1, 700)


def test_a_summary_is_json() -> None:
    summary = summarize(loop())
    assert (summary.span_ns, summary.steps, summary.step_ns, summary.ops) == (21_200, 3, 1000, 10)
    assert (summary.peak_bytes, summary.gil_wait_ns) == (1128, 120)
    assert summary.top_ops[0].name == "gelu"
    again = json.loads(json.dumps(asdict(summary)))
    assert again["top_ops"][0]["self_ns"] == 600
    assert summarize(TraceBuilder().build()) == Summary(0, 0, 0, 0, 0, 0, ())


def test_a_diff_is_per_step_and_its_lines_add_up() -> None:
    change = diff(loop(2), loop(4, slow=500))
    assert (change.base_step_ns, change.head_step_ns, change.step_ns) == (1000, 1500, 500)
    assert (change.peak_bytes_base, change.peak_bytes_head) == (1064, 1192)
    assert (change.gil_wait_ns_base, change.gil_wait_ns_head) == (40, 40)
    assert [op.name for op in change.ops] == ["add", "gelu", "mul"]
    assert change.ops[0] == OpDelta("add", 1, 1, 60, 560, 0, 0)
    assert (change.ops[0].self_ns, change.ops[0].count, change.ops[0].bytes) == (500, 0, 0)
    assert change.ops[2].base_bytes == 64
    assert change.elsewhere_ns == 0


def test_the_bill_adds_up_and_names_ops_by_what_is_around_them() -> None:
    def training(data: int, copies: int) -> Trace:
        builder = TraceBuilder()
        for number in (0, 1):
            start = number * 10_000
            end = 1000 + data + copies * 50
            builder.slice(f"ProfilerStep#{number}", start, end, track=MAIN, category="user_annotation")
            builder.slice("data", start, data, track=MAIN, category="user_annotation")
            start += data
            builder.slice("linear", start + 100, 500, track=MAIN, category="cpu_op")
            builder.slice("mm", start + 200, 300, track=MAIN, category="cpu_op")
            builder.slice("GIL wait: numpy", start + 250, 40, track=GIL, category="gil", args={"Thread": 1})
            builder.slice("mm", start + 700, 100, track=MAIN, category="cpu_op")
            for copy in range(copies):
                builder.slice("copy_", start + 900 + copy * 50, 30, track=MAIN, category="cpu_op")
                builder.slice("memcpy", start + 905 + copy * 50, 20, track=MAIN, category="kernel")
                builder.instant("[memory]", start + 907 + copy * 50, track=MAIN, args={"Bytes": 16})
        return builder.build()

    change = diff(training(100, 2), training(900, 6))
    assert change.step_ns == 1000
    assert change.bill[:3] == (
        BillLine("wait", "data wait", 800, base_ns=100),
        BillLine("op", "copy_", 120, count=4, bytes=64, kernels=4, base_count=2, head_count=6, base_ns=60),
        BillLine("outside", "outside of ops", 80, base_ns=440),
    )
    assert {line.name for line in change.bill[3:]} >= {"linear", "linear > mm", "mm", "GIL wait"}
    assert sum(line.ns for line in change.bill) == change.step_ns
    assert all(line.ns == 0 for line in change.bill[3:])


def test_a_diff_is_of_the_steps_that_both_have() -> None:
    def warming(first: int, count: int) -> Trace:
        builder = TraceBuilder()
        for number in range(first, first + count):
            duration = 5000 if number == 0 else 1000
            builder.slice(f"ProfilerStep#{number}", number * 10_000, duration, track=MAIN, category="user_annotation")
            builder.slice("mm", number * 10_000, duration - 100, track=MAIN, category="cpu_op")
        return builder.build()

    change = diff(warming(0, 4), warming(1, 5))
    assert (change.base_step_ns, change.head_step_ns) == (1000, 1000)
    assert all(line.ns == 0 for line in change.bill)
    change = diff(warming(0, 2), warming(5, 2))
    assert (change.base_step_ns, change.head_step_ns) == (3000, 1000)


def test_steps_that_were_held_up_do_not_count() -> None:
    def loop(*durations: int) -> Trace:
        builder, begin = TraceBuilder(), 0
        for number, duration in enumerate(durations):
            builder.slice(f"ProfilerStep#{number}", begin, duration, track=MAIN, category="user_annotation")
            builder.slice("mm", begin, duration - 10, track=MAIN, category="cpu_op")
            begin += duration
        return builder.build()

    found = diff(loop(100, 100, 300, 100, 100, 100), loop(120, 120, 120, 120, 5000, 120))
    assert (found.base_step_ns, found.head_step_ns, found.left_out) == (100, 120, 2)
    assert [(op.name, op.self_ns, op.count) for op in found.ops] == [("mm", 20, 0)]
    assert sum(line.ns for line in found.bill) == found.step_ns
    few = diff(loop(100, 100), loop(100, 900))
    assert (few.step_ns, few.left_out) == (400, 0)


def test_a_long_bill_ends_with_all_the_others() -> None:
    def ops(duration: int) -> Trace:
        builder = TraceBuilder()
        for place in range(60):
            builder.slice(
                f"op{place}", place * 100, duration + (place if duration > 20 else 0), track=MAIN, category="cpu_op"
            )
        builder.slice("end", 6000, 1, track=MAIN, category="cpu_op")
        return builder.build()

    bill = diff(ops(20), ops(30)).bill
    assert len(bill) == 41
    assert (bill[0].name, bill[0].owner, bill[0].ns) == ("outside of ops", "outside", -(600 + 59 * 30))
    assert (bill[1].name, bill[1].ns) == ("op59", 69)
    assert (bill[-1].owner, bill[-1].name) == ("others", "22 others")
    assert bill[-1].ns == sum(10 + place for place in range(21))
    assert sum(line.ns for line in bill) == 0


def test_a_diff_without_steps_is_of_the_whole_traces() -> None:
    def ops(*names: str) -> Trace:
        builder = TraceBuilder()
        for place, name in enumerate(names):
            builder.slice(name, place * 100, 60, track=MAIN, category="cpu_op")
        return builder.build()

    change = diff(ops("add", "take"), ops("add", "one_hot", "matmul", "matmul"))
    assert (change.base_step_ns, change.head_step_ns) == (160, 360)
    assert [(op.name, op.count, op.self_ns) for op in change.ops] == [
        ("matmul", 2, 120),
        ("one_hot", 1, 60),
        ("take", -1, -60),
        ("add", 0, 0),
    ]
    assert change.elsewhere_ns == 80
    assert diff(TraceBuilder().build(), TraceBuilder().build()).ops == ()


def test_innermost() -> None:
    trace = loop(1)
    main = trace.tracks.index(MAIN)
    times = np.array([0, 75, 100, 230, 260, 400, 415, 1100, 1101])
    rows = innermost(trace, np.full(len(times), main), times)
    names = [trace.strings[trace.slices.name[row]] if row >= 0 else None for row in rows]
    outer = "ProfilerStep#0"
    assert names == ["warm-up", None, outer, "mul", "mul_native_float32", "mul_native_float32", "mul", outer, None]


def test_the_table() -> None:
    table = key_averages(loop()).table(sort_by="count", row_limit=2)
    assert (
        table
        == """\
----  ----------  --------  -----------  ---------  ------------  -------  --------  -------  --------  ----------
Name  Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg   Kernel  Kernel %  CPU Mem  GIL wait  # of Calls
----  ----------  --------  -----------  ---------  ------------  -------  --------  -------  --------  ----------
gelu      38.71%   0.600us       96.77%    1.500us       0.500us  0.000us     0.00%      0 B   0.000us           3
mul       38.71%   0.600us       38.71%    0.600us       0.200us  0.450us    75.00%    192 B   0.000us           3
----  ----------  --------  -----------  ---------  ------------  -------  --------  -------  --------  ----------
Self CPU time total: 1.550us
"""
    )
    assert len(key_averages(loop()).table(row_limit=-1).splitlines()) == 9
    assert key_averages(TraceBuilder().build()).table().endswith("Self CPU time total: 0.000us\n")


def test_the_table_names_its_sort_keys() -> None:
    with pytest.raises(ValueError, match="cannot sort by 'speed'; sort_by is one of self_cpu_time_total, cpu"):
        key_averages(loop()).table(sort_by="speed")


def test_long_names_and_large_numbers_fit_the_table() -> None:
    builder = TraceBuilder()
    builder.slice("x" * 80, 0, 2_500_000_000, track=MAIN, category="cpu_op")
    builder.instant("[memory]", 5, track=MAIN, args={"Bytes": 3 << 30})
    line = key_averages(builder.build()).table().splitlines()[3]
    assert line.startswith("x" * 52 + "...  ")
    assert "2.500s" in line
    assert "3.00 GB" in line
