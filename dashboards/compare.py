"""What grew and what shrank between two traces, op by op."""

from dataclasses import dataclass

import plotly.graph_objects as go

from perflab.profiler.analysis.diff import OUTSIDE, OpDelta, TraceDiff

from . import theme, units

BAR_LIMIT = 16
_BESIDE = {OUTSIDE: "Python between ops, and waiting without a name in the trace"}
# Of a step; what is less is drawn without the colour of better or worse.
NOTICEABLE = 0.002


@dataclass(frozen=True)
class DeltaRow:
    """One op of the comparison, per step; `share` is its part of the step's change, None where the signs differ."""

    delta: OpDelta
    share: float | None
    noticeable_ns: float

    @property
    def tone(self) -> str:
        """`worse` or `better` where the change is large enough to notice, else empty."""
        if abs(self.delta.self_ns) < self.noticeable_ns:
            return ""
        return "worse" if self.delta.self_ns > 0 else "better"

    @property
    def status(self) -> str:
        """`new` where only head has the op, `gone` where only base has it, else empty."""
        if self.delta.base_count == 0:
            return "new"
        return "gone" if self.delta.head_count == 0 else ""


def rows(diff: TraceDiff) -> list[DeltaRow]:
    """Every op of either side, largest change of self time first."""
    return [DeltaRow(op, share(op.self_ns, diff), NOTICEABLE * diff.base_step_ns) for op in diff.ops]


def share(ns: float, diff: TraceDiff) -> float | None:
    """What part of the step's change `ns` makes up; None where it goes the other way."""
    return ns / diff.step_ns if ns * diff.step_ns > 0 else None


def figure(diff: TraceDiff) -> go.Figure:
    """Diverging bars: self time gained (right) and lost (left) by op, the BAR_LIMIT largest changes, largest on top.

    The last bars are all other ops together, and the change of the step that lies outside of ops.
    """
    changed = [op for op in diff.ops if op.self_ns != 0]
    shown, others = changed[:BAR_LIMIT], changed[BAR_LIMIT:]
    bars = [(op.name, op.self_ns, _hover(op)) for op in shown]
    if others:
        bars.append((f"{len(others)} other ops", sum(op.self_ns for op in others), "all of them together"))
    bars += [(line.name, line.ns, _BESIDE.get(line.name, "a wait")) for line in diff.beside if line.ns]
    scale = units.duration_scale(max((abs(ns) for _, ns, _ in bars), default=0))
    values = [ns / scale.divisor for _, ns, _ in bars]
    low, high = min(0.0, *values), max(0.0, *values)
    # Room for the number at the end of a bar.
    room = (high - low) * 0.16
    drawn = theme.figure(
        height=len(bars) * 24 + 56,
        margin={"t": 2},
        bargap=0.3,
        showlegend=False,
        hovermode="closest",
        dragmode=False,
        xaxis={
            "range": [low - room if low else 0.0, high + room if high else 0.0],
            "title": {"text": f"change of self time per step, {scale.unit} (head − base)"},
            "fixedrange": True,
            "zeroline": True,
        },
        yaxis={
            "autorange": "reversed",
            "showgrid": False,
            "fixedrange": True,
            "type": "category",
            "ticklabelstandoff": 8,
        },
    )
    drawn.add_bar(
        orientation="h",
        x=values,
        y=[name for name, _, _ in bars],
        marker={"color": [theme.WORSE if value > 0 else theme.BETTER for value in values]},
        text=[units.signed(units.duration(ns)) for _, ns, _ in bars],
        textposition="outside",
        cliponaxis=False,
        customdata=[hover for _, _, hover in bars],
        hovertemplate="<b>%{y}</b><br>%{customdata}<extra></extra>",
    )
    return drawn


def _hover(op: OpDelta) -> str:
    return (
        f"self {units.duration(op.base_self_ns)} → {units.duration(op.head_self_ns)}"
        f"<br>count {units.whole(op.base_count)} → {units.whole(op.head_count)}"
        f"<br>bytes {units.size(op.base_bytes)} → {units.size(op.head_bytes)}"
    )
