"""Steps: how long each took and what it was made of, the spread of their parts, and what was different in outliers."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from perflab.profiler.analysis.outliers import OutlierStep
from perflab.profiler.analysis.parts import PARTS, WORDS, StepParts, part_ns

from . import theme, units

BAR_LIMIT = 240
POINT_LIMIT = 3000


def over_time(found: Sequence[StepParts], outliers: Sequence[OutlierStep], timeline: str) -> go.Figure:
    """The parts of each step, one above the other, in the order of the steps; outliers are marked.

    Of more than BAR_LIMIT steps, each bar is the longest of several neighbours. The id of a bar is where its step is on
    the `timeline`.
    """
    group = -(-len(found) // BAR_LIMIT)
    shown = [max(found[at : at + group], key=lambda step: step.duration) for at in range(0, len(found), group)]
    scale = units.duration_scale(float(max(step.duration for step in found)))
    places = [f"step {step.number}" for step in shown]
    ids = [f"{timeline}?step={step.number}" for step in shown]
    drawn = theme.figure(
        height=300,
        barmode="stack",
        bargap=0.08 if len(shown) < 100 else 0,
        hovermode="x unified",
        margin={"t": 24},
        xaxis={"type": "category", "showticklabels": len(shown) <= 24, "title": {"text": "steps in their order"}},
        yaxis={"title": {"text": scale.unit}, "rangemode": "tozero"},
    )
    for part in (part for part in PARTS[::-1] if any(part_ns(step, part) for step in shown)):
        values = [part_ns(step, part) for step in shown]
        drawn.add_bar(
            name=WORDS[part],
            x=places,
            ids=ids,
            y=[value / scale.divisor for value in values],
            marker={"color": theme.PARTS[part], "line": {"width": 0}},
            customdata=[units.duration(value) for value in values],
            hovertemplate="%{customdata}",
        )
    marked = {step.number for step in outliers}
    slow = [(place, step) for place, step in zip(places, shown, strict=True) if step.number in marked]
    if slow:
        drawn.add_scatter(
            name="stands out",
            x=[place for place, _ in slow],
            y=[step.duration / scale.divisor for _, step in slow],
            mode="markers",
            marker={"symbol": "triangle-down", "size": 9, "color": theme.WORSE},
            customdata=[units.duration(step.duration) for _, step in slow],
            hovertemplate="%{customdata}",
        )
    return drawn


def boxes(found: Sequence[StepParts]) -> go.Figure:
    """A box for the whole step and for each of its parts: quartiles, and points beyond 1.5 times their distance."""
    scale = units.duration_scale(float(max(step.duration for step in found)))
    parts = [part for part in PARTS if any(part_ns(step, part) for step in found)]
    step = -(-len(found) // POINT_LIMIT)
    drawn = theme.figure(
        height=64 + 34 * (len(parts) + 1),
        showlegend=False,
        margin={"t": 8},
        xaxis={"title": {"text": scale.unit}, "rangemode": "tozero"},
        yaxis={"autorange": "reversed"},
    )
    kinds = [("step", theme.NEUTRAL, [one.duration for one in found])]
    kinds += [(WORDS[part], theme.PARTS[part], [part_ns(one, part) for one in found]) for part in parts]
    for word, colour, values in kinds:
        drawn.add_box(
            name=word,
            x=[value / scale.divisor for value in values[::step]],
            orientation="h",
            boxpoints="outliers",
            marker={"color": colour, "size": 4},
            line={"width": 1.5},
            customdata=[f"step {one.number}" for one in found[::step]],
            hovertemplate="%{customdata}: %{x:.3f} " + scale.unit + "<extra>%{fullData.name}</extra>",
        )
    return drawn


@dataclass(frozen=True)
class Outlier:
    """A step that stands out: its time, that of a usual one, and what it took more of (words and ns), largest first."""

    number: int
    duration_ns: int
    usual_ns: float
    parts: Sequence[tuple[str, float]]
    ops: Sequence[tuple[str, float, float]]  # name, ns and calls more than usual


def outlier_rows(found: Sequence[OutlierStep]) -> list[Outlier]:
    """What was different in each of the outliers."""
    return [
        Outlier(
            step.number,
            step.duration,
            step.usual_ns,
            [
                (WORDS[part], ns)
                for part, ns in sorted(step.parts.items(), key=lambda pair: -pair[1])
                if ns > 0.02 * step.excess_ns
            ],
            [(op.name, op.ns, op.count) for op in step.ops if op.ns > 0.02 * step.excess_ns],
        )
        for step in found
    ]
