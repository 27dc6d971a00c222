"""Two traces beside each other: the bill of their difference, and what changed op by op."""

from dataclasses import dataclass

from perflab.profiler.analysis.diff import BillLine, OpDelta, TraceDiff

# Of a step; what is less is drawn without the colour of better or worse.
NOTICEABLE = 0.002


@dataclass(frozen=True)
class BillRow:
    """One line of the bill, per step. `around` are the ops around the one named; `share` is its part of the step's
    change, None where the signs differ. Its bar reaches from `left` on, in percent of the room for bars.
    """

    line: BillLine
    around: str
    name: str
    share: float | None
    tone: str
    left: float
    width: float


def bill(diff: TraceDiff) -> list[BillRow]:
    """The lines that add up to the change of the step, the largest first; without those that are 0."""
    lines = [line for line in diff.bill if line.ns or line.count or line.bytes]
    most, least = max((line.ns for line in lines), default=0), min((line.ns for line in lines), default=0)
    reach = max(most, 0) - min(least, 0) or 1
    zero = -min(least, 0) / reach
    rows = []
    for line in lines:
        around, _, name = line.name.rpartition(" > ")
        length = abs(line.ns) / reach
        rows.append(
            BillRow(
                line=line,
                around=around,
                name=name,
                share=share(line.ns, diff),
                tone=tone(line.ns, diff),
                left=round(100 * (zero if line.ns > 0 else zero - length), 2),
                width=round(100 * length, 2),
            )
        )
    return rows


def zero(diff: TraceDiff) -> float:
    """Where no change stands, in percent of the room for bars."""
    changes = [line.ns for line in diff.bill]
    low, high = min(0.0, *changes), max(0.0, *changes)
    return round(100 * -low / (high - low or 1), 2)


def tone(ns: float, diff: TraceDiff) -> str:
    if abs(ns) < NOTICEABLE * diff.base_step_ns:
        return ""
    return "worse" if ns > 0 else "better"


@dataclass(frozen=True)
class DeltaRow:
    """One op of the comparison, per step; `share` is its part of the step's change, None where the signs differ."""

    delta: OpDelta
    share: float | None
    tone: str

    @property
    def status(self) -> str:
        """`new` where only head has the op, `gone` where only base has it, else empty."""
        if self.delta.base_count == 0:
            return "new"
        return "gone" if self.delta.head_count == 0 else ""


def rows(diff: TraceDiff) -> list[DeltaRow]:
    """Every op of either side, largest change of self time first."""
    return [DeltaRow(op, share(op.self_ns, diff), tone(op.self_ns, diff)) for op in diff.ops]


def share(ns: float, diff: TraceDiff) -> float | None:
    """What part of the step's change `ns` makes up; None where it goes the other way."""
    return ns / diff.step_ns if ns * diff.step_ns > 0 else None
