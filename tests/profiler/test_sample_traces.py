"""Traces of other tools from other machines, where sample traces lie beside the checkout."""

import gzip
import json
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from perflab.profiler import Trace, TraceFormatError, chrome
from perflab.profiler.analysis.accounts import account
from perflab.profiler.analysis.averages import key_averages
from perflab.profiler.analysis.blocks import blocks, changes
from perflab.profiler.analysis.critical import critical_path
from perflab.profiler.analysis.devices import device_rows, device_use
from perflab.profiler.analysis.diff import diff
from perflab.profiler.analysis.dispatch import dispatch
from perflab.profiler.analysis.gil import gil_waits
from perflab.profiler.analysis.groups import GroupBy
from perflab.profiler.analysis.growth import growth
from perflab.profiler.analysis.memory import category_curves, memory_curve, memory_peak
from perflab.profiler.analysis.outliers import outlier_steps
from perflab.profiler.analysis.parts import PARTS, part_ns, step_parts, step_thread
from perflab.profiler.analysis.roofline import roofline
from perflab.profiler.analysis.steps import steps
from perflab.profiler.analysis.summary import summarize
from perflab.profiler.analysis.threads import threads
from perflab.profiler.ceilings import Ceilings

FOLDER = Path(__file__).parents[2].parent / "shared" / "cases" / "traces"
REFUSED = {
    "not_a_chrome_trace_cloud.json": "not a Chrome trace",
    "not_a_chrome_trace_rocprof.json.gz": "not a Chrome trace",
}
FILES = sorted(path for path in FOLDER.glob("*") if path.name not in REFUSED)

pytestmark = pytest.mark.skipif(not FILES, reason="there are no sample traces beside the checkout")


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.name)
def trace(request: pytest.FixtureRequest) -> Trace:
    return chrome.read(request.param)


@pytest.mark.parametrize(("name", "message"), REFUSED.items())
def test_what_is_no_trace_is_refused(name: str, message: str) -> None:
    with pytest.raises(TraceFormatError, match=message):
        chrome.read(FOLDER / name)


def test_it_is_valid_and_comes_back_from_our_own_file(trace: Trace, tmp_path: Path) -> None:
    trace.check()
    chrome.write(trace, tmp_path / "again.json")
    again = chrome.read(tmp_path / "again.json")
    again.check()
    for column in ("start", "duration", "depth", "parent"):
        assert (getattr(again.slices, column) == getattr(trace.slices, column)).all(), column
    assert again.name_of(range(len(again.slices))) == trace.name_of(range(len(trace.slices)))
    assert again.flows.source.tolist() == trace.flows.source.tolist()
    assert again.flows.target.tolist() == trace.flows.target.tolist()
    assert again.counters.value.tolist() == trace.counters.value.tolist()
    for key, column in trace.slice_args.items():
        assert again.slice_args[key].rows.tolist() == column.rows.tolist(), key


def plain_events(path: Path) -> list[Any]:
    """The complete events of a file, read by the standard library."""
    if path.suffix == ".zip" or ".tar" in path.name or path.name.startswith("partial"):
        pytest.skip("not one whole JSON text")
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    document = json.loads(data, parse_float=Decimal)
    events = document if isinstance(document, list) else document["traceEvents"]
    return [event for event in events if event.get("ph") == "X"]


def rounded(microseconds: Decimal | int) -> int:
    return round(Decimal(microseconds) * 1000)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_slices_are_those_that_the_file_holds(path: Path) -> None:
    """Name, start and duration of each, from the decimal text."""
    wanted = Counter(
        (str(event.get("name", "")), rounded(event["ts"]), max(rounded(event.get("dur") or 0), 0))
        for event in plain_events(path)
    )
    trace = chrome.read(path)
    columns = zip(trace.slices.start.tolist(), trace.slices.duration.tolist(), strict=True)
    names = trace.name_of(range(len(trace.slices)))
    found = Counter((name, *times) for name, times in zip(names, columns, strict=True))
    assert wanted - found == Counter()
    if "B" not in path.read_text(errors="replace") or path.name.startswith(("torch", "kineto", "viz", "vllm")):
        assert found == wanted


def brute_force(trace: Trace) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Calls, total and self ns of ops by name, with a stack for each track."""
    slices, strings = trace.slices, trace.strings
    ops = {"cpu_op", "Operator"}
    if not any(strings[category] in ops for category in slices.category):
        ops = set(strings) - {"kernel", "Kernel", "gil", "user_annotation"}
    calls, total, own = Counter[str](), Counter[str](), Counter[str]()
    stacks: dict[int, list[tuple[int, str]]] = {}
    for row in range(len(slices)):
        start, duration = int(slices.start[row]), int(slices.duration[row])
        name, category = strings[slices.name[row]], strings[slices.category[row]]
        if category not in ops or name.startswith("ProfilerStep#"):
            continue
        stack = stacks.setdefault(int(slices.track[row]), [])
        while stack and stack[-1][0] <= start:
            stack.pop()
        if stack:
            own[stack[-1][1]] -= duration
        stack.append((start + duration, name))
        calls[name] += 1
        total[name] += duration
        own[name] += duration
    return calls, total, own


def test_totals_agree_with_brute_force(trace: Trace) -> None:
    calls, total, own = brute_force(trace)
    averages = key_averages(trace)
    assert {row.name: row.count for row in averages} == dict(calls)
    assert {row.name: row.total_ns for row in averages} == dict(total)
    assert {row.name: row.self_ns for row in averages} == dict(own)
    launched = sum(row.kernel_ns for row in averages)
    kernels = [trace.strings[category].lower() == "kernel" for category in trace.slices.category]
    assert launched <= int(trace.slices.duration[kernels].sum())
    summary = summarize(trace)
    assert summary.ops == sum(calls.values())
    assert summary.span_ns == trace.span()[1] - trace.span()[0]


def test_the_peak_agrees_with_brute_force(trace: Trace) -> None:
    peak: Any = 0
    for row in range(len(trace.instants)):
        if trace.strings[trace.instants.name[row]] == "[memory]":
            peak = max(peak, trace.instant_args_of(row)["Total Allocated"])
    assert memory_curve(trace).peak_bytes == peak
    assert gil_waits(trace) == []


@pytest.mark.parametrize("group_by", ["op+shape", "module", "stack", "step"])
def test_groups_share_out_what_all_ops_have(trace: Trace, group_by: GroupBy) -> None:
    calls, _, own = brute_force(trace)
    averages = key_averages(trace, group_by)
    assert sum(row.count for row in averages) == calls.total()
    assert sum(row.self_ns for row in averages) == own.total()
    assert sum(row.kernel_ns for row in averages) == sum(row.kernel_ns for row in key_averages(trace))
    assert sum(row.flops for row in averages) == sum(row.flops for row in key_averages(trace))
    assert all(row.total_ns >= 0 for row in averages)


def painted(trace: Trace) -> list[dict[str, int]]:
    """The parts of each step by colouring the stretches between all moments at which something begins or ends."""
    slices, strings = trace.slices, trace.strings
    of_track = threads(trace)
    thread, step_list = step_thread(trace), steps(trace)
    begin, end = step_list[0].start, step_list[-1].start + step_list[-1].duration
    targets: dict[int, list[int]] = {}
    for source, target in zip(trace.flows.source.tolist(), trace.flows.target.tolist(), strict=True):
        targets.setdefault(source, []).append(target)
    claims: dict[str, list[tuple[int, int]]] = {part: [] for part in ("data_wait", "sync", "optimizer")}
    for row in range(len(slices)):
        name, category = strings[slices.name[row]], strings[slices.category[row]]
        if of_track[slices.track[row]] != thread or category.startswith("gpu_"):
            continue
        for part, mark in (("data_wait", "enumerate(DataLoader)"), ("optimizer", "Optimizer.")):
            frame = part == "optimizer" and "torch/optim/" in name and name.endswith((": step", ": zero_grad"))
            if name.startswith(mark) or frame:
                claims[part].append((int(slices.start[row]), int(slices.end[row])))
        copied = [int(slices.start[t] + slices.end[t]) / 2 for t in targets.get(row, ()) if "Memcpy" in name]
        if name.endswith("Synchronize") or any(middle <= slices.end[row] for middle in copied):
            claims["sync"].append((int(slices.start[row]), int(slices.end[row])))
    bounds = sorted({begin, end, *(at for pairs in claims.values() for pair in pairs for at in pair)} | {
        at for step in step_list for at in (step.start, step.start + step.duration)
    })  # fmt: skip
    found = [dict.fromkeys(claims, 0) for _ in step_list]
    for left, right in pairwise(bounds):
        step = next((n for n, it in enumerate(step_list) if it.start <= left < it.start + it.duration), None)
        owner = next((part for part, pairs in claims.items() if any(a <= left < b for a, b in pairs)), None)
        if step is not None and owner is not None:
            found[step][owner] += right - left
    return found


def test_parts_of_steps_agree_with_brute_force(trace: Trace) -> None:
    found = step_parts(trace)
    assert [(step.number, step.start, step.duration) for step in found] == [
        (step.number, step.start, step.duration) for step in steps(trace)
    ]
    for step, colours in zip(found, painted(trace) if found else [], strict=True):
        assert sum(part_ns(step, part) for part in PARTS) == step.duration
        assert all(part_ns(step, part) >= 0 for part in PARTS)
        for part in ("data_wait", "sync", "optimizer"):
            assert part_ns(step, part) == colours[part], part


def test_an_account_owns_every_moment_once(trace: Trace) -> None:
    owned = account(trace)
    assert owned.total_ns == (sum(step.duration for step in steps(trace)) or trace.span()[1] - trace.span()[0])
    assert sum(owned.waits.values()) + int(owned.self_ns.sum()) + owned.outside_ns == owned.total_ns
    assert owned.self_ns.min(initial=0) >= 0
    assert np.all(owned.self_ns <= owned.ops.self_ns)


def test_use_of_devices_agrees_with_brute_force(trace: Trace) -> None:
    """Nothing overlaps twice: colours on the stretches between all begins and ends."""
    slices = trace.slices
    rows: dict[int | str, list[tuple[int, int, bool]]] = {}
    for row in device_rows(trace).tolist():
        is_copy = trace.strings[slices.category[row]].lower().startswith(("gpu_mem", "mem"))
        pid = trace.tracks[slices.track[row]].pid
        rows.setdefault(pid, []).append((int(slices.start[row]), int(slices.end[row]), is_copy))
    uses = {use.name: use for use in device_use(trace)}
    assert set(uses) == {str(pid) for pid in rows}
    for pid, work in rows.items():
        busy = copy = 0
        events = sorted([(at, 1, kind) for at, _, kind in work] + [(at, -1, kind) for _, at, kind in work])
        running = {True: 0, False: 0}
        for (at, sign, kind), (later, *_) in pairwise(events):
            running[kind] += sign
            busy += (later - at) * (running[True] + running[False] > 0)
            copy += (later - at) * (running[True] > 0)
        use = uses[str(pid)]
        assert (use.busy_ns, use.copy_ns) == (busy, copy)
        assert use.busy_ns + use.idle_ns == use.span_ns
        assert sum(cause.ns for cause in use.idle) == use.idle_ns


def test_dispatch_agrees_with_the_averages(trace: Trace) -> None:
    found = dispatch(trace)
    averages = key_averages(trace)
    assert (found is None) == (sum(row.kernels for row in averages) == 0)
    if found:
        assert found.kernel_ns == sum(row.kernel_ns for row in averages)
        assert {op.name: op.count for op in found.ops} == {row.name: row.count for row in averages}
        inside = 0 if device_use(trace) else found.kernel_ns
        assert found.dispatch_ns == sum(row.self_ns for row in averages) - inside


def test_memory_agrees_with_brute_force(trace: Trace) -> None:
    rows = [row for row in range(len(trace.instants)) if trace.strings[trace.instants.name[row]] == "[memory]"]
    known = blocks(trace)
    peak = memory_peak(trace, known)
    assert (peak is None) == (not rows)
    if peak is None:
        return
    args = [trace.instant_args_of(row) for row in changes(trace).tolist()]
    alive: dict[int, int] = {}
    at_peak: dict[int, int] = {}
    for event in args:
        if event["Bytes"] > 0:
            alive[event["Addr"]] = event["Bytes"]
        else:
            alive.pop(event["Addr"], None)
        if event["Total Allocated"] == peak.bytes and not at_peak:
            at_peak = dict(alive)
    earlier = peak.bytes - sum(at_peak.values())
    for shares in (peak.by_category, peak.by_module, peak.by_op):
        assert sum(shares.values()) == peak.bytes
    assert peak.by_category.get("before", 0) == earlier
    curves = category_curves(trace, known)
    assert curves.bytes.sum(axis=0).tolist() == [event["Total Allocated"] for event in args]
    for step in growth(trace, known).steps:
        assert step.begin_bytes <= step.peak_bytes >= step.end_bytes


def test_the_critical_path_is_whole(trace: Trace) -> None:
    path = critical_path(trace)
    loop = steps(trace)
    begin, end = (loop[0].start, loop[-1].start + loop[-1].duration) if loop else trace.span()
    devices = set(device_rows(trace).tolist())
    work = [
        int(trace.slices.end[target])
        for source, target in zip(trace.flows.source.tolist(), trace.flows.target.tolist(), strict=True)
        if trace.slices.start[source] < end and target in devices
    ]
    assert path.total_ns == max([end, *work]) - begin
    assert sum(owner.ns for owner in path.owners) == path.total_ns
    assert all(owner.ns > 0 for owner in path.owners)
    assert all(one.start + one.duration == two.start for one, two in pairwise(path.pieces))


def test_outliers_agree_with_brute_force(trace: Trace) -> None:
    durations = [step.duration for step in steps(trace)]
    middle = median(durations) if durations else 0
    spread = median(abs(it - middle) for it in durations) if durations else 0
    slow = [it for it in durations if 0.6745 * (it - middle) > 3.5 * spread and it > 1.05 * middle]
    found = outlier_steps(trace)
    assert sorted(step.duration for step in found) == sorted(slow if len(durations) >= 5 else [])
    for step in found:
        assert sum(step.parts.values()) == pytest.approx(step.excess_ns)


def test_a_roofline_has_every_op_whose_cost_is_known(trace: Trace) -> None:
    roof = Ceilings("", "", 1e15, 1e13)
    found = roofline(trace, roof, "op")
    assert {op.name for op in found} == {row.name for row in key_averages(trace) if row.costed_ns}
    for op in found:
        assert op.least_ns == pytest.approx(max(op.flops / 1e15, op.moved_bytes / 1e13) * 1e9)


@pytest.fixture(scope="module")
def bert() -> Trace:
    return chrome.read(FOLDER / "torch_bert_small_h100.json.gz")


def test_the_bill_since_another_trace_adds_up(trace: Trace, bert: Trace) -> None:
    for change in (diff(bert, trace), diff(trace, bert)):
        assert sum(line.ns for line in change.bill) == pytest.approx(change.step_ns, abs=1e-3)
        assert sum(line.ns for line in change.beside) == pytest.approx(change.elsewhere_ns, abs=1e-3)
        assert sum(op.count for op in change.ops) == pytest.approx(sum(line.count for line in change.bill))


def test_a_trace_does_not_differ_from_itself(trace: Trace) -> None:
    change = diff(trace, trace)
    assert change.step_ns == 0
    assert all(op.self_ns == op.count == op.bytes == 0 for op in change.ops)
    assert all(line.ns == line.count == line.bytes == line.gil_wait_ns == line.kernels == 0 for line in change.bill)
