"""The operators of a trace: a table by op, shape, module or stack, the durations of one of them, and the roofline."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
import plotly.graph_objects as go

from perflab.profiler.analysis.averages import Averages
from perflab.profiler.analysis.groups import GroupBy, groups
from perflab.profiler.analysis.ops import Ops
from perflab.profiler.ceilings import Ceilings
from perflab.profiler.trace import Int64s, Trace

from . import axes, theme, units
from .headline import Stat

ROW_LIMIT = 500
POINT_LIMIT = 300
BINS = 60
WORDS: dict[GroupBy, str] = {
    "op": "op",
    "op+shape": "op and shape",
    "module": "module",
    "stack": "stack",
}


@dataclass(frozen=True)
class OpRow:
    """One group of ops summed over the trace. Times in ns, bytes in bytes, shares as fractions of 1.

    `self_share` is of the self time of all ops; `kernel_share` is of the op's self time, above 1 where a device's
    kernels ran longer than the op that launched them. Rates are 0 where no cost is known.
    """

    name: str
    count: int
    self_ns: int
    self_share: float
    total_ns: int
    mean_self_ns: float
    kernel_share: float | None
    allocated_bytes: int
    gil_wait_ns: int
    flops_per_s: float
    bytes_per_s: float


def rows(averages: Averages) -> list[OpRow]:
    """The rows of `averages`, the largest self time first."""
    everything = sum(row.self_ns for row in averages.rows)
    table = [
        OpRow(
            name=row.name,
            count=row.count,
            self_ns=row.self_ns,
            self_share=row.self_ns / everything if everything else 0.0,
            total_ns=row.total_ns,
            mean_self_ns=row.self_ns / row.count,
            kernel_share=row.kernel_ns / row.self_ns if row.self_ns and row.kernel_ns else None,
            allocated_bytes=row.allocated_bytes,
            gil_wait_ns=row.gil_wait_ns,
            flops_per_s=row.flops_per_s,
            bytes_per_s=row.bytes_per_s,
        )
        for row in averages.rows
    ]
    return sorted(table, key=lambda row: (-row.self_ns, row.name))


def columns(table: Sequence[OpRow]) -> set[str]:
    """Which of the numbers that traces may lack are known of an op."""
    optional = ("kernel_share", "flops_per_s", "bytes_per_s", "allocated_bytes", "gil_wait_ns")
    return {name for name in optional if any(getattr(row, name) for row in table)}


def rate(per_s: float) -> str:
    """FLOP/s or bytes/s in units of 1e9, with one digit behind the point where there are few before it."""
    value = per_s / 1e9
    return units.NONE if not per_s else f"{value:,.0f}" if value >= 999.95 else f"{value:.1f}"


@dataclass(frozen=True)
class Chosen:
    """All calls of one group: their numbers, the names of their slices (one, unless they are a module's), the figure of
    their durations, and the row of the slice that took longest."""

    label: str
    names: Sequence[str]
    stats: Sequence[Stat]
    figure: go.Figure
    longest: int


def chosen(trace: Trace, columns: Ops, by: GroupBy, label: str) -> Chosen | None:
    """The calls of the group of that label; None where there is none."""
    grouped = groups(trace, columns, by)
    number = next((place for place, each in enumerate(grouped.labels) if each == label), -1)
    calls = np.flatnonzero(grouped.of_op == number)
    if not len(calls):
        return None
    duration = columns.total_ns[calls]
    low, middle, high = np.quantile(duration, (0.05, 0.5, 0.95)).tolist()
    stats = [
        Stat("calls", units.whole(len(calls)), f"{units.duration(int(duration.sum()))} in all"),
        Stat("median", units.duration(middle), f"mean {units.duration(float(duration.mean()))}"),
        Stat("from 5 to 95 %", f"{units.duration(low)} to {units.duration(high)}", "of the calls"),
        Stat(
            "longest", units.duration(int(duration.max())), f"{units.ratio(duration.max() / max(middle, 1))} the median"
        ),
    ]
    names = [trace.strings[name] for name in np.unique(columns.name[calls]).tolist()]
    return Chosen(label, names, stats, histogram(duration), int(columns.row[calls[np.argmax(duration)]]))


def histogram(duration: Int64s) -> go.Figure:
    """How many calls took how long, in bins of equal width on a logarithmic axis; the median is marked."""
    scale = units.duration_scale(float(np.median(duration)))
    low, high = max(float(duration.min()), 1.0), max(float(duration.max()), 1.0)
    low, high = (low / 1.25, high * 1.25) if high < low * 1.5 else (low, high)
    edges = np.geomspace(low, high * (1 + 1e-9), BINS + 1)
    counts = np.histogram(np.maximum(duration, 1), edges)[0]
    middle = float(np.median(duration)) / scale.divisor
    drawn = theme.figure(
        height=200,
        margin={"t": 22},
        bargap=0.04,
        showlegend=False,
        xaxis={
            "title": {"text": f"duration of a call, {scale.unit}"},
            **axes.log_axis(low / scale.divisor, high / scale.divisor),
        },
        yaxis={"title": {"text": "calls"}, "rangemode": "tozero"},
        shapes=[_line_at(middle)],
        annotations=[
            {
                "x": float(np.log10(max(middle, 1e-9))), "y": 1, "yref": "paper", "yanchor": "bottom",
                "text": f"median {units.duration(float(np.median(duration)))}", "showarrow": False,
                "bgcolor": "rgba(0,0,0,0)", "bordercolor": "rgba(0,0,0,0)",
            }
        ],
    )  # fmt: skip
    shown = [
        (units.duration(a), units.duration(b)) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    drawn.add_bar(
        x=(np.sqrt(edges[:-1] * edges[1:]) / scale.divisor).tolist(),
        y=counts.tolist(),
        width=(np.diff(edges) / scale.divisor).tolist(),
        marker={"color": theme.ALLOCATED},
        customdata=[f"{a} to {b}" for a, b in shown],
        hovertemplate="%{y:,d} calls of %{customdata}<extra></extra>",
    )
    return drawn


def _line_at(x: float) -> dict[str, object]:
    line = {"color": theme.WORSE, "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def roofline_figure(averages: Averages, ceilings: Ceilings | None) -> go.Figure | None:
    """FLOP/s over FLOPs a byte for each op of which both are known, on logarithmic axes, under the machine's roof where
    it was measured; None where no cost is known. The area of a point grows with the time that the op took; its id is
    where its op is chosen."""
    known = [row for row in averages.rows if row.flops and row.moved_bytes and row.costed_ns][:POINT_LIMIT]
    if not known:
        return None
    x = [row.flops / row.moved_bytes for row in known]
    y = [row.flops_per_s / 1e9 for row in known]
    most = max(row.costed_ns for row in known)
    low, high = min(x) / 2, max(x) * 2
    drawn = theme.figure(height=340, hovermode="closest", margin={"t": 24}, showlegend=ceilings is not None)
    roof: list[float] = []
    if ceilings is not None:
        ridge = ceilings.flops_per_s / ceilings.bytes_per_s
        low, high = min(low, ridge / 4), max(high, ridge * 4)
        at = [low, ridge, high]
        roof = [min(ceilings.flops_per_s, ceilings.bytes_per_s * each) / 1e9 for each in at]
        drawn.add_scatter(
            name=f"roof: {ceilings.bytes_per_s / 1e9:,.1f} GB/s, {ceilings.flops_per_s / 1e9:,.0f} GFLOP/s",
            x=at,
            y=roof,
            mode="lines",
            line={"color": theme.NEUTRAL, "width": 2},
            hoverinfo="skip",
        )
    drawn.add_scatter(
        name="ops, by shape",
        x=x,
        y=y,
        mode="markers",
        marker={
            "color": theme.ALLOCATED,
            "opacity": 0.75,
            "size": [6 + 26 * (row.costed_ns / most) ** 0.5 for row in known],
            "line": {"width": 0},
        },
        ids=[f"?{urlencode({'by': 'op+shape', 'op': row.name})}" for row in known],
        customdata=[[row.name, units.duration(row.costed_ns), units.whole(row.count)] for row in known],
        hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]} in %{customdata[2]} calls"
        "<br>%{y:,.2f} GFLOP/s at %{x:,.2f} FLOPs a byte<extra></extra>",
    )
    drawn.update_xaxes(title_text="FLOPs a byte", **axes.log_axis(low, high))
    drawn.update_yaxes(title_text="GFLOP/s", **axes.log_axis(min(y + roof) / 2, max(y + roof) * 2))
    return drawn


def roofline_note(averages: Averages, ceilings: Ceilings | None) -> str:
    """What is drawn, and what is missing."""
    known = sum(bool(row.flops and row.moved_bytes and row.costed_ns) for row in averages.rows)
    drawn = f"{units.whole(min(known, POINT_LIMIT))} ops by shape, larger points took longer, a click leads to one"
    if ceilings is None:
        return (
            f"{drawn}; no roof: the ceilings of the trace's machine are not known here (perflab machine measures them)"
        )
    return drawn
