"""What made it slower: the difference of two traces as a ranked bill, in words.

Everything is for one step. A cause is an op whose self time, calls or allocated bytes changed, the peak of memory, or
the wait for the GIL. Times are noisy, so a change in time counts from 2 % of the step's own change and 0.5 % of the
step; calls and bytes are exact, so they count when small too.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from perflab.profiler.analysis.diff import DATA_WAIT, GIL_WAIT, OUTSIDE, SYNC, BillLine, OpDelta, TraceDiff

from .quantity import BYTES, NANOSECONDS, change, percent, plain, quantity

Kind: TypeAlias = Literal["op", "elsewhere", "memory", "gil", "wait"]

GREW_LISTED = 6
SHRANK_LISTED = 3
SHARE_OF_CHANGE = 0.02
SHARE_OF_STEP = 0.005
SHARE_OF_BYTES = 0.01
LEAST_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Cause:
    """One line of the bill: head minus base, a step.

    Attributes:
        kind: "op", "elsewhere" (time outside ops), "memory" (the peak), "gil" (waiting for it) or "wait" (for data, for
            a device, for garbage to be collected); waits are of the thread that steps.
        ns, count, bytes: the difference; 0 where the kind has none.
        share: of the step's slow-down (or gain), 0.8 for 80 %; None where the step did not change or the sign is the
            other.
        text: the line in words, such as "matmul: +1.9 ms a step (+310 %), 2 -> 4 calls a step".
    """

    kind: Kind
    name: str
    ns: float
    count: float
    bytes: float
    share: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Causes:
    """The bill of a difference.

    Attributes:
        base_step_ns, head_step_ns: time of a step.
        grew, shrank: largest first; at most 6 and 3 ops.
        other_ns: what all ops not listed add up to.
        left_out: steps that took three times the median or more, and do not count.
    """

    base_step_ns: float
    head_step_ns: float
    grew: tuple[Cause, ...]
    shrank: tuple[Cause, ...]
    other_ns: float
    left_out: int = 0

    @property
    def headline(self) -> str:
        """Such as "A step takes 3.2 -> 5.1 ms (+59.4 %)."."""
        ratio = f" ({percent(self.head_step_ns / self.base_step_ns)})" if self.base_step_ns > 0 else ""
        steps = "1 step that stands" if self.left_out == 1 else f"{self.left_out} steps that stand"
        without = f", without {steps} far out" if self.left_out else ""
        return f"A step takes {change(self.base_step_ns, self.head_step_ns, NANOSECONDS)}{ratio}{without}."


def explain(diff: TraceDiff) -> Causes:
    """The ranked causes of a difference of two traces."""
    bar = max(abs(diff.step_ns) * SHARE_OF_CHANGE, diff.base_step_ns * SHARE_OF_STEP)
    relevant = [op for op in diff.ops if _is_relevant(op, bar)]
    grew = sorted((op for op in relevant if _grew(op, bar)), key=lambda op: (-op.self_ns, -op.bytes, op.name))
    shrank = sorted((op for op in relevant if not _grew(op, bar)), key=lambda op: (op.self_ns, op.bytes, op.name))
    grew, shrank = grew[:GREW_LISTED], shrank[:SHRANK_LISTED]
    beyond = _beyond_ops(diff, bar)
    return Causes(
        base_step_ns=diff.base_step_ns,
        head_step_ns=diff.head_step_ns,
        grew=tuple(_op(op, diff.step_ns, bar) for op in grew) + tuple(it for it in beyond if it.ns + it.bytes > 0),
        shrank=tuple(_op(op, diff.step_ns, bar) for op in shrank) + tuple(it for it in beyond if it.ns + it.bytes < 0),
        other_ns=sum(op.self_ns for op in diff.ops) - sum(op.self_ns for op in grew + shrank),
        left_out=diff.left_out,
    )


def _beyond_ops(diff: TraceDiff, bar: float) -> list[Cause]:
    """What is not an op's: time between ops, the GIL, the peak of memory."""
    causes = [_beside(line, diff.step_ns) for line in diff.beside if _time_matters(line.ns, bar)]
    if _bytes_matter(diff.peak_bytes_base, diff.peak_bytes_head):
        peak = diff.peak_bytes_head - diff.peak_bytes_base
        both = change(diff.peak_bytes_base, diff.peak_bytes_head, BYTES)
        text = f"peak memory {both} ({quantity(peak, BYTES, signed=True)})"
        causes.append(Cause("memory", "peak memory", 0, 0, peak, None, text))
    return causes


def _beside(line: BillLine, step_change: float) -> Cause:
    """Time outside of ops, or a wait."""
    kind, name, words = _BESIDE.get(line.name, ("wait", line.name, line.name))
    base = 0.0 if kind == "elsewhere" else line.base_ns  # what lies between ops is no whole of which to tell a part
    time = _time(base, base + line.ns)
    return Cause(kind, name, line.ns, 0, 0, _share(line.ns, step_change), f"{words}: {time}")


_BESIDE: dict[str, tuple[Kind, str, str]] = {
    OUTSIDE: ("elsewhere", "outside ops", "outside ops (Python between them, input, waiting)"),
    GIL_WAIT: ("gil", "GIL", "waiting for the GIL"),
    DATA_WAIT: ("wait", "data", "waiting for data"),
    SYNC: ("wait", "device", "waiting for a device"),
}


def _is_relevant(delta: OpDelta, bar: float) -> bool:
    return (
        _time_matters(delta.self_ns, bar) or _count_matters(delta) or _bytes_matter(delta.base_bytes, delta.head_bytes)
    )


def _grew(delta: OpDelta, bar: float) -> bool:
    """By time where that is clear, else by what is exact."""
    if _time_matters(delta.self_ns, bar):
        return delta.self_ns > 0
    return delta.count > 0 if _count_matters(delta) else delta.bytes > 0


def _time_matters(ns: float, bar: float) -> bool:
    return abs(ns) >= bar and ns != 0


def _count_matters(delta: OpDelta) -> bool:
    # averages over steps: a difference in the third digit is a step more or less in the window
    return abs(delta.count) > 0.01 * max(delta.base_count, delta.head_count)


def _bytes_matter(base: float, head: float) -> bool:
    return abs(head - base) >= max(LEAST_BYTES, SHARE_OF_BYTES * base)


def _op(delta: OpDelta, step_change: float, bar: float) -> Cause:
    """The op's line: only what changed."""
    parts, share = [], None
    if _time_matters(delta.self_ns, bar):
        parts.append(
            _time(delta.base_self_ns, delta.head_self_ns, new=delta.base_count == 0, gone=delta.head_count == 0)
        )
        share = _share(delta.self_ns, step_change)
    if _count_matters(delta):
        parts.append(f"{plain(delta.base_count)} -> {plain(delta.head_count)} calls a step")
    if _bytes_matter(delta.base_bytes, delta.head_bytes):
        parts.append(f"{quantity(delta.bytes, BYTES, signed=True)} allocated a step")
    text = f"{delta.name}: {', '.join(parts)}"
    return Cause("op", delta.name, delta.self_ns, delta.count, delta.bytes, share, text)


def _time(base: float, head: float, new: bool = False, gone: bool = False) -> str:
    word = "new" if new else "gone" if gone else percent(head / base) if base > 0 else None
    return f"{quantity(head - base, NANOSECONDS, signed=True)} a step" + (f" ({word})" if word else "")


def _share(ns: float, step_change: float) -> float | None:
    return ns / step_change if step_change * ns > 0 else None
