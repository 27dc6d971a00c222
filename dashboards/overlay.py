"""Two traces on one axis: their memory step by step, and how long their steps took."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from perflab.profiler.analysis.memory import MemoryCurve
from perflab.profiler.analysis.steps import Step

from . import theme, units
from .memory import thinned

SIDES = ("base", "head")
COLOURS = dict(zip(SIDES, (theme.NEUTRAL, theme.ALLOCATED), strict=True))
STEP_LIMIT = 1000  # dots of a side

Sided = tuple[MemoryCurve, Sequence[Step], tuple[int, int]]


def memory(base: Sided, head: Sided) -> go.Figure | None:
    """Bytes allocated over steps: a step is as wide on both sides, however long it took. Over the whole trace where a
    side has no steps; None where a side knows no memory.
    """
    if not (len(base[0].time) and len(head[0].time)):
        return None
    by_step = bool(base[1]) and bool(head[1])
    scale = units.size_scale(float(max(base[0].peak_bytes, head[0].peak_bytes)))
    drawn = theme.figure(
        height=270,
        hovermode="x unified",
        margin={"t": 6},
        xaxis={
            "title": {"text": "steps" if by_step else "percent of the trace"},
            "zeroline": False,
            "range": [0, max(len(base[1]), len(head[1])) if by_step else 100],
        },
        yaxis={"title": {"text": f"allocated, {scale.unit}"}, "rangemode": "tozero", "hoverformat": ",.2f"},
    )
    for name, (curve, steps, span) in zip(SIDES, (base, head), strict=True):
        kept = thinned(curve.allocated, curve.peak_index)
        drawn.add_scatter(
            name=name,
            x=_places(curve.time[kept], steps, span) if by_step else _percent(curve.time[kept], span),
            y=curve.allocated[kept] / scale.divisor,
            mode="lines",
            line={"shape": "hv", "width": 1.5, "color": COLOURS[name], "dash": "solid" if name == "head" else "dot"},
            hovertemplate=f"%{{y}} {scale.unit}",
        )
    return drawn


def _places(time: np.ndarray, steps: Sequence[Step], span: tuple[int, int]) -> np.ndarray:
    """Moments in steps: 1.5 is the middle of the second. What lies before the first is below 0, in its length."""
    bounds = np.array([*(step.start for step in steps), steps[-1].start + steps[-1].duration], dtype=np.float64)
    inside = np.interp(time, bounds, np.arange(len(bounds), dtype=np.float64))
    places: np.ndarray = inside + np.minimum(time - bounds[0], 0) / max(steps[0].duration, 1)
    return places


def _percent(time: np.ndarray, span: tuple[int, int]) -> np.ndarray:
    return 100 * (time - span[0]) / max(span[1] - span[0], 1)


def step_times(base: Sequence[Step], head: Sequence[Step]) -> go.Figure | None:
    """How long the steps took, each a dot, with the quartiles as a box; None where a side has fewer than two."""
    if min(len(base), len(head)) < 2:
        return None
    longest = max(step.duration for step in (*base, *head))
    scale = units.duration_scale(longest)
    drawn = theme.figure(
        height=270,
        showlegend=False,
        hovermode="closest",
        margin={"t": 6},
        xaxis={"title": {"text": f"time of a step, {scale.unit}"}, "rangemode": "tozero"},
        yaxis={"showgrid": False, "autorange": "reversed"},
    )
    for name, steps in zip(SIDES, (base, head), strict=True):
        shown = steps[:: -(-len(steps) // STEP_LIMIT)]
        drawn.add_box(
            name=name,
            x=[step.duration / scale.divisor for step in shown],
            text=[f"step {step.number}" for step in shown],
            orientation="h",
            boxpoints="all",
            jitter=0.6,
            pointpos=0,
            line={"color": COLOURS[name], "width": 1.5},
            fillcolor="rgba(0,0,0,0)",
            marker={"color": COLOURS[name], "size": 4, "opacity": 0.6},
            hovertemplate=f"%{{text}}: %{{x:,.3f}} {scale.unit}<extra>{name}</extra>",
        )
    return drawn
