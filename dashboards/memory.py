"""The memory curve: bytes allocated and reserved over time, by what they were for, the peak marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from perflab.profiler.analysis.growth import Growth, growth
from perflab.profiler.analysis.memory import (
    CategoryCurves,
    LiveBlock,
    MemoryCurve,
    MemoryPeak,
    memory_peak,
    memory_snapshot,
)
from perflab.profiler.analysis.steps import Step

from . import theme, units
from .study import Study

POINT_LIMIT = 2000
STEP_MARK_LIMIT = 40
OWNER_LIMIT = 3
RESERVED_LIMIT = 4  # of the peak: beyond that the curve would lie on the ground, and a click on the legend shows it


@dataclass(frozen=True)
class MemoryUse:
    """What the memory was used for: the peak (None without allocations), each block that was alive then, the largest
    first, and what stays."""

    peak: MemoryPeak | None
    alive: Sequence[LiveBlock]
    growth: Growth


def use(found: Study) -> MemoryUse:
    """The use of memory in a trace."""
    trace, known = found.trace, found.blocks
    return MemoryUse(memory_peak(trace, known), memory_snapshot(trace, known=known), growth(trace, known))


def figure(
    curve: MemoryCurve, steps: list[Step], span: tuple[int, int], categories: CategoryCurves | None = None
) -> go.Figure:
    """Draw `curve` over the time since the start of `span`, with a line where a step starts if steps are few.

    With `categories`, what was allocated has a layer for each of them. Long curves are thinned to the lowest and
    highest point of each stretch; the peak is always kept.
    """
    origin_ns, end_ns = span
    kept = thinned(curve.allocated, curve.peak_index)
    time_scale = units.duration_scale(end_ns - origin_ns)
    size_scale = units.size_scale(float(max(curve.peak_bytes, curve.reserved.max(initial=0))))
    x = (curve.time[kept] - origin_ns) / time_scale.divisor
    peak_x = float((curve.time[curve.peak_index] - origin_ns) / time_scale.divisor)
    peak_y = curve.peak_bytes / size_scale.divisor
    drawn = theme.figure(
        height=270,
        hovermode="x unified",
        margin={"t": 6},
        xaxis={
            "range": [0, (end_ns - origin_ns) / time_scale.divisor],
            "title": {"text": f"since the start of the trace, {time_scale.unit}"},
            "hoverformat": ",.3f",
        },
        yaxis={"title": {"text": size_scale.unit}, "rangemode": "tozero", "hoverformat": ",.2f"},
        shapes=_step_marks(steps, origin_ns, time_scale),
    )
    hover = f"%{{y}} {size_scale.unit}"
    if curve.reserved.any():
        drawn.add_scatter(
            name="reserved",
            x=x,
            y=curve.reserved[kept] / size_scale.divisor,
            mode="lines",
            line={"shape": "hv", "width": 1.25, "color": theme.RESERVED, "dash": "dot"},
            hovertemplate=hover,
            visible=True if curve.reserved.max() <= RESERVED_LIMIT * max(curve.peak_bytes, 1) else "legendonly",
        )
    if categories is None:
        drawn.add_scatter(
            name="allocated",
            x=x,
            y=curve.allocated[kept] / size_scale.divisor,
            mode="lines",
            line={"shape": "hv", "width": 1.5, "color": theme.ALLOCATED},
            fill="tozeroy",
            fillcolor="rgba(74,134,207,0.16)",
            hovertemplate=hover,
        )
    else:
        total = categories.bytes.sum(axis=0)
        kept = thinned(total, int(total.argmax()))
        for name, held in zip(categories.categories, categories.bytes, strict=True):
            drawn.add_scatter(
                name=name,
                x=(categories.time[kept] - origin_ns) / time_scale.divisor,
                y=held[kept] / size_scale.divisor,
                mode="lines",
                line={"shape": "hv", "width": 0.5, "color": theme.MEMORY[name]},
                stackgroup="allocated",
                hovertemplate=hover,
            )
    drawn.add_scatter(
        name="peak",
        x=[peak_x],
        y=[peak_y],
        mode="markers",
        marker={"color": theme.WORSE, "size": 8},
        hoverinfo="skip",
        showlegend=False,
    )
    drawn.add_annotation(
        x=peak_x,
        y=peak_y,
        text=f"peak {units.size(curve.peak_bytes)}",
        showarrow=True,
        arrowhead=0,
        ax=48 if peak_x < float(x[-1]) / 2 else -48,
        ay=-14,
    )
    return drawn


def note(curve: MemoryCurve | None, origin_ns: int) -> str:
    """One sentence on the peak; empty where there is no curve."""
    if curve is None:
        return ""
    at = units.duration(int(curve.time[curve.peak_index]) - origin_ns)
    return f"peak {units.size(curve.peak_bytes)} at {at}"


def leak_note(found: Growth) -> str:
    """A sentence on what every step leaves behind; empty where nothing is."""
    if not found.leak_bytes:
        return ""
    owners = ", ".join(f"{units.size(one.bytes)} of {one.op} in {one.module}" for one in found.survivors[:OWNER_LIMIT])
    return f"Each step leaves {units.size(found.leak_bytes)} behind: {owners}."


def thinned(values: npt.NDArray[Any], keep: int) -> npt.NDArray[np.intp]:
    """Indices of at most about POINT_LIMIT of `values` that keep its outline; both ends and `keep` are among them."""
    count = len(values)
    if count <= POINT_LIMIT:
        return np.arange(count)
    edges = np.linspace(0, count, POINT_LIMIT // 2 + 1).astype(np.intp)
    stretches = [(int(low), int(high)) for low, high in pairwise(edges)]
    lowest = [low + int(values[low:high].argmin()) for low, high in stretches]
    highest = [low + int(values[low:high].argmax()) for low, high in stretches]
    return np.unique(np.array([0, keep, count - 1, *lowest, *highest], dtype=np.intp))


def _step_marks(steps: list[Step], origin_ns: int, scale: units.Scale) -> list[dict[str, object]]:
    if len(steps) > STEP_MARK_LIMIT:
        return []
    return [
        {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "layer": "below", "x0": at, "x1": at}
        for at in ((step.start - origin_ns) / scale.divisor for step in steps)
    ]
