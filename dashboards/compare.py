"""What grew and what shrank between two traces, op by op."""

from dataclasses import dataclass

import plotly.graph_objects as go

from perflab.profiler.analysis.diff import OpDelta, TraceDiff

from . import theme, units

BAR_LIMIT = 16


@dataclass(frozen=True)
class DeltaRow:
    """One op of the comparison; `delta` per step, `share` of the whole change of self time (its sign kept)."""

    delta: OpDelta
    share: float | None

    @property
    def status(self) -> str:
        """`new` where only head has the op, `gone` where only base has it, else empty."""
        if self.delta.base_count == 0:
            return "new"
        return "gone" if self.delta.head_count == 0 else ""


def rows(diff: TraceDiff) -> list[DeltaRow]:
    """Every op that differs or not, in the diff's own order (largest change of self time first)."""
    change = sum(op.self_ns for op in diff.ops)
    return [DeltaRow(op, op.self_ns / change if change else None) for op in diff.ops]


def figure(diff: TraceDiff) -> go.Figure:
    """Diverging bars: self time gained (right) and lost (left) by op, the BAR_LIMIT largest changes, largest on top."""
    shown = [op for op in diff.ops if op.self_ns != 0][:BAR_LIMIT]
    scale = units.duration_scale(max((abs(op.self_ns) for op in shown), default=0))
    values = [op.self_ns / scale.divisor for op in shown]
    reach = max((abs(value) for value in values), default=1.0) * 1.25
    low = -reach if min(values, default=0) < 0 else 0.0
    high = reach if max(values, default=0) > 0 else 0.0
    drawn = theme.figure(
        height=len(shown) * 24 + 64,
        bargap=0.3,
        showlegend=False,
        hovermode="closest",
        dragmode=False,
        xaxis={
            "range": [low, high],
            "title": {"text": f"change of self time, {scale.unit} (head − base)"},
            "fixedrange": True,
            "zeroline": True,
        },
        yaxis={"autorange": "reversed", "showgrid": False, "fixedrange": True, "type": "category", "ticksuffix": "  "},
    )
    drawn.add_bar(
        orientation="h",
        x=values,
        y=[op.name for op in shown],
        marker={"color": [theme.WORSE if value > 0 else theme.BETTER for value in values]},
        text=[units.signed(units.duration(op.self_ns)) for op in shown],
        textposition="outside",
        cliponaxis=False,
        customdata=[
            f"self {units.duration(op.base_self_ns)} → {units.duration(op.head_self_ns)}"
            f"<br>count {units.whole(op.base_count)} → {units.whole(op.head_count)}"
            f"<br>bytes {units.size(op.base_bytes)} → {units.size(op.head_bytes)}"
            for op in shown
        ],
        hovertemplate="<b>%{y}</b><br>%{customdata}<extra></extra>",
    )
    return drawn
