"""Advice: what to do first, each with its evidence in the trace and the most that it could save."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..ceilings import Ceilings
from ..quantity import BYTES, NANOSECONDS, plain, quantity
from ..trace import Trace
from .accounts import account
from .averages import key_averages
from .contention import blocked
from .devices import DeviceUse, device_use
from .dispatch import dispatch
from .functions import IMPORTING, FunctionTime, python_functions
from .gil import WAIT
from .groups import groups
from .growth import growth
from .ops import OPS, of_category, ops
from .outliers import outlier_steps
from .parts import PARTS, WORDS, StepParts, bounds, loop_parts, part_covers, part_ns, step_thread
from .roofline import roofline
from .steps import steps
from .tasks import coroutines
from .threads import thread_name, threads
from .waiting import waiting_part, waits

_COUNT = 3
_WORTH = 0.01  # of a step: less is not worth doing first
_MANY = 10  # ops of an optimizer in one step: more than a fused one has
_LARGE = 0.2  # of a step: an op that takes more is worth a look by itself
_LONG_STEP_NS = 5_000_000  # of a task: other tasks notice
_LEAK = 1e-4  # of the peak, a step: 10,000 of them double the memory
DEVICE_BOUND = 0.8  # of the time: a device busy for longer sets the pace


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do. `saving_ns` is of a step and a bound: what would be won if the cost went away whole.

    `saving_bytes` is memory of a step, for what costs memory and no time. `step` is the number of the step to look at:
    where it costs most; None where no step is worse than others. `name` is that of the slices to look at, where it has
    one.
    """

    title: str
    evidence: str
    action: str
    saving_ns: float
    saving_bytes: float = 0.0
    step: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class _Loop:
    """What all rules look at; times are means over steps, of the whole trace where it has none.

    `step_ns` is how often a step comes: of the host, or of a device that takes longer for them.
    """

    trace: Trace
    steps: int
    step_ns: float
    found: list[StepParts]  # empty where there are no steps
    parts: dict[str, float]
    devices: list[DeviceUse]
    ceilings: Ceilings | None

    @property
    def has_ops(self) -> bool:
        """Whether the trace names its ops."""
        return bool(of_category(self.trace, OPS).any())

    def worst(self, part: str) -> int | None:
        """The step in which a part takes longest."""
        return max(self.found, key=lambda step: part_ns(step, part)).number if self.found else None

    def share(self, ns: float) -> str:
        return f"{_time(ns)} of {_time(self.step_ns)}{self.each} ({ns / self.step_ns:.0%})"

    @property
    def each(self) -> str:
        """What sums are of: a step, or the whole."""
        return " a step" if self.found else ""


def _time(ns: float) -> str:
    return quantity(ns, NANOSECONDS)


def advise(trace: Trace, ceilings: Ceilings | None = None) -> list[Advice]:
    """The three things most worth doing, the largest saving first; fewer where there is less to win."""
    loop = bounds(trace)
    total = sum(step.duration for step in loop)
    if not total:
        return []
    parts, devices = loop_parts(trace), device_use(trace)
    it = _Loop(
        trace=trace,
        steps=len(loop),
        step_ns=max([total, *(use.span_ns for use in devices)]) / len(loop),
        found=parts if steps(trace) else [],
        parts={part: float(np.mean([part_ns(step, part) for step in parts])) for part in PARTS},
        devices=devices,
        ceilings=ceilings,
    )
    advice = [one for rule in _RULES for one in rule(it) if one.saving_ns >= _WORTH * it.step_ns or one.saving_bytes]
    # what runs out of memory must be seen, whatever it costs in time
    advice.sort(key=lambda one: (one.saving_bytes == 0, -one.saving_ns))
    return [*advice, *_heaviest(it)][:_COUNT]


def _data(it: _Loop) -> Iterator[Advice]:
    yield Advice(
        "Load data ahead",
        f"the loop waits for its next batch for {it.share(it.parts['data_wait'])}",
        "load in worker processes (num_workers), keep more batches ready (prefetch_factor), do less for each sample",
        it.parts["data_wait"],
        step=it.worst("data_wait"),
    )


def _gil(it: _Loop) -> Iterator[Advice]:
    waited = it.parts["gil_wait"]
    thread, of_track = step_thread(it.trace), threads(it.trace)
    holders = [pair for pair in blocked(it.trace) if of_track[pair.waiter] == thread] if waited else []
    name = thread_name(it.trace, holders[0].holder) if holders else ""
    who = f"; {name} held it for {holders[0].ns / it.steps / waited:.0%} of that" if holders else ""
    yield Advice(
        "Keep the GIL free",
        f"the {'training' if it.has_ops else 'main'} thread waits for the GIL for {it.share(waited)}{who}",
        "move Python work of other threads into processes, or into calls that give the GIL back",
        waited,
        step=it.worst("gil_wait"),
        name=WAIT,
    )


def _garbage(it: _Loop) -> Iterator[Advice]:
    yield Advice(
        "Collect garbage less often",
        f"garbage collections take {it.share(it.parts['gc'])}",
        "gc.freeze() after the set-up, and gc.collect() by hand between steps with the collector off",
        it.parts["gc"],
        step=it.worst("gc"),
    )


def _python(it: _Loop) -> Iterator[Advice]:
    """Time in which no op ran; beside a device it counts only as late launches."""
    if not it.devices and it.has_ops:
        yield Advice(
            "Do less in Python between ops",
            f"no op runs for {it.share(it.parts['idle'])}: Python between ops, or waiting without a name in the trace",
            "sample the Python stacks of a step (pyinstrument), and fuse or batch what is called most",
            it.parts["idle"],
            step=it.worst("idle"),
        )


def _function(it: _Loop) -> Iterator[Advice]:
    """Where Python is what a program does: what took longest by itself, and what waited longest."""
    if it.has_ops:
        return
    functions = [each for each in python_functions(it.trace) if each.line or each.name == IMPORTING]
    for top in [each for each in functions if not waits(each)][:1]:
        if top.name == IMPORTING:
            title, action = "Import less", "import what a run does not need where it is needed"
        else:
            title, action = f"Look at {top.label} first", "do its loops in NumPy or another library, or less often"
        cost = top.self_ns / it.steps
        yield Advice(title, f"its own code takes {it.share(cost)}", action, cost, name=top.name if top.line else "")
    for top in [each for each in functions if waits(each)][:1]:
        yield _waiting(it, top)


def _waiting(it: _Loop, function: FunctionTime) -> Advice:
    part, cost = waiting_part(it.trace, function), function.self_ns / it.steps
    return Advice(
        f"See what {part or 'the program'} waits for",
        f"it waits in {function.label} for {it.share(cost)}",
        "look at what other threads and processes do meanwhile on the timeline, and have more of it under way at once",
        cost,
        name=function.name,
    )


def _loop(it: _Loop) -> Iterator[Advice]:
    """A task of asyncio that keeps its loop from all others for long."""
    for each in sorted(coroutines(it.trace), key=lambda one: -one.longest_ns)[:1]:
        if each.longest_ns > _LONG_STEP_NS:
            yield Advice(
                "Give the event loop back sooner",
                f"tasks of {each.coroutine} ran for {_time(each.run_ns)} in all, and {each.longest_task} once for"
                f" {_time(each.longest_ns)} without a wait: no other task could run meanwhile",
                "move that work into asyncio.to_thread or a pool of processes, or await asyncio.sleep(0) within it",
                min(each.run_ns / it.steps, it.step_ns),  # they may run between the steps, too
                name=each.longest_task,
            )


def _dispatch(it: _Loop) -> Iterator[Advice]:
    found = dispatch(it.trace)
    if found and not it.devices:
        cost = found.dispatch_ns / it.steps
        top = ", ".join(f"{op.name} {_often(op.count / it.steps)}" for op in found.ops[:3])
        yield Advice(
            "Call fewer, larger ops",
            f"beside their kernels ops take {it.share(cost)}; most of it {top} a step",
            "batch small ops, use fused ones, and in-place forms where nothing is kept",
            cost,
            name=found.ops[0].name if found.ops else "",
        )


def _optimizer(it: _Loop) -> Iterator[Advice]:
    """An optimizer of many small ops; beside a device, these count as late launches."""
    cover = part_covers(it.trace, step_thread(it.trace))["optimizer"]
    calls = int(cover.holds(ops(it.trace).start).sum()) / it.steps
    if calls > _MANY and not it.devices:
        yield Advice(
            "Use a fused optimizer",
            f"the optimizer takes {it.share(it.parts['optimizer'])} in {plain(calls)} ops",
            "fused=True or foreach=True, where the optimizer has them: a few calls for all parameters",
            it.parts["optimizer"],
            step=it.worst("optimizer"),
        )


def _heaviest(it: _Loop) -> Iterator[Advice]:
    """The op with the most time, where it is a large part of the step. Devices tell more of their kernels."""
    if it.devices or it.ceilings is not None or not it.has_ops:
        return
    owned = account(it.trace)  # what other threads do meanwhile costs the step nothing
    kinds = groups(it.trace, owned.ops, "op+shape")
    own = np.bincount(kinds.of_op, weights=owned.self_ns)
    largest = int(np.argmax(own))
    top, cost = kinds.labels[largest], float(own[largest]) / it.steps
    if cost > _LARGE * it.step_ns:
        row = next(row for row in key_averages(it.trace, "op+shape") if row.name == top)
        calls = row.count / it.steps
        rate = f", at {row.flops_per_s / 1e9:,.1f} GFLOP/s" if row.flops else ""
        yield Advice(
            f"Look at {top} first",
            f"it takes {it.share(cost)} in {plain(calls)} call{'' if calls == 1 else 's'}{rate}",
            "other shapes, another dtype, more threads, or fewer calls; `perflab machine` tells what is possible",
            cost,
            name=it.trace.strings[owned.ops.name[np.argmax(kinds.of_op == largest)]],
        )


def _launches(it: _Loop) -> Iterator[Advice]:
    for use in it.devices:
        late = [cause for cause in use.idle if cause.cause == "host"]
        cost = sum(cause.ns for cause in late) / it.steps
        if late:
            top = ", ".join(f"{cause.owner} ({_time(cause.ns / it.steps)})" for cause in late[:3])
            yield Advice(
                "Launch sooner",
                f"device {use.name} has nothing to do for {it.share(cost)}, since the host launches late; before {top}",
                "compile or capture the step (torch.compile, CUDA graphs), larger batches, a fused optimizer",
                cost,
                name=late[0].owner,
            )


def _often(count: float) -> str:
    """How often, a mean: "once", "2.5 times"."""
    return "once" if count == 1 else f"{plain(count)} times"


def _syncs(it: _Loop) -> Iterator[Advice]:
    for use in it.devices:
        dry = [cause for cause in use.idle if cause.cause == "sync"]
        if dry:
            cost, times = sum(cause.ns for cause in dry) / it.steps, sum(cause.count for cause in dry) / it.steps
            yield Advice(
                "Do not wait for the device",
                f"the host waited until device {use.name} had run dry, {_often(times)} a step, and it stood still"
                f" for {it.share(cost)}; next came {dry[0].owner}",
                "no .item(), .cpu() or print of a tensor in the loop; copy from pinned memory with non_blocking=True",
                cost,
                name=dry[0].owner,
            )


def _exposed(it: _Loop) -> Iterator[Advice]:
    for use in it.devices:
        for what, ns, action in (
            (
                "communication",
                use.exposed_communication_ns,
                "start it earlier, in smaller buckets, beside the backward pass",
            ),
            ("copies", use.exposed_copy_ns, "copy on a stream of its own, beside the step before, from pinned memory"),
        ):
            yield Advice(
                f"Hide {what}",
                f"device {use.name} computes nothing beside {what} for {it.share(ns / it.steps)}",
                action,
                ns / it.steps,
            )


def _outliers(it: _Loop) -> Iterator[Advice]:
    slow = outlier_steps(it.trace)
    if slow:
        worst = slow[0]
        part, ns = max(worst.parts.items(), key=lambda pair: pair[1])
        numbers = ", ".join(str(step.number) for step in slow[:5])
        out = f"step {numbers} stands out" if len(slow) == 1 else f"steps {numbers} stand out"
        yield Advice(
            "Find out why some steps are slow",
            f"{out} of {it.steps}: step {worst.number} takes {_time(worst.duration)} in"
            f" place of {_time(worst.usual_ns)}, {_time(ns)} of it more in {WORDS[part]}",
            "look at that step on the timeline; the first step warms caches up: leave it out with schedule(warmup=1)",
            sum(step.excess_ns for step in slow) / it.steps,
            step=worst.number,
            name=worst.ops[0].name if worst.ops else "",
        )


def _roof(it: _Loop) -> Iterator[Advice]:
    """Ceilings are of a host's cores, so devices are not held against them."""
    if it.ceilings is None or it.devices:
        return
    for op in roofline(it.trace, it.ceilings)[:1]:
        yield Advice(
            f"Make {op.name} faster",
            f"it takes {it.share(op.ns / it.steps)} and reaches {op.of_ceiling:.0%} of what this machine can"
            f" ({'FLOP/s' if op.bound == 'compute' else 'bytes/s'})",
            "larger or better aligned shapes, contiguous inputs, another dtype, more threads",
            op.saving_ns / it.steps,
            name=op.name.partition(" [")[0],
        )


def _leaks(it: _Loop) -> Iterator[Advice]:
    grown = growth(it.trace)
    if grown.leak_bytes > _LEAK * max((step.peak_bytes for step in grown.steps), default=0):
        owner = grown.survivors[0] if grown.survivors else None
        whose = f"; {quantity(owner.bytes, BYTES)} of it is of {owner.op} in {owner.module}" if owner else ""
        yield Advice(
            "Stop the leak",
            f"memory grows by {quantity(grown.leak_bytes, BYTES)} a step{whose}",
            "keep numbers, not tensors with their graphs: loss.item() or loss.detach() in logs and running sums",
            0.0,
            grown.leak_bytes,
            name=owner.op if owner else "",
        )


_RULES: tuple[Callable[[_Loop], Iterator[Advice]], ...] = (
    _data, _gil, _garbage, _python, _function, _loop, _dispatch, _optimizer, _launches, _syncs, _exposed, _outliers,
    _roof, _leaks,
)  # fmt: skip
