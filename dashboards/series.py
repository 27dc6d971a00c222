"""A benchmark over commits: the median of each commit's runs, and every run."""

import statistics
from html import escape
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from . import theme, units
from .views import SeriesPoint, SeriesView

SHORT_SHA = 8
WHEN = "%Y-%m-%d %H:%M"
LABEL_LIMIT = 10
DENSE = 60  # commits; of more the dots are smaller
BAND = 0.95
BAND_COMMITS = 5  # of a level at least, for a band to say something


def figure(view: SeriesView) -> go.Figure:
    """Draw `view` in commit order: a dot for each run, the median of a commit's runs on a line, the baseline dotted,
    a ring around what a gate judged."""
    scale = _value_scale(view)
    baseline = view.points[view.baseline]
    positions = list(range(len(view.points)))
    labelled = positions[:: -(-len(positions) // LABEL_LIMIT)]
    drawn = theme.figure(
        height=330,
        margin={"t": 6},
        showlegend=False,
        hovermode="closest",
        xaxis={
            "tickvals": labelled,
            "ticktext": [view.points[at].commit[:SHORT_SHA] for at in labelled],
            "tickangle": 0 if len(positions) <= 10 else -45,
            "range": [-0.5, len(positions) - 0.5],
            "tickfont": {"family": theme.MONO},
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={"title": {"text": scale.unit}, "range": _value_range(view, scale), "zeroline": False},
    )
    level = baseline.median / scale.divisor
    drawn.add_shape(
        type="line", xref="paper", x0=0, x1=1, y0=level, y1=level, line={"color": theme.NEUTRAL, "dash": "dot"}
    )
    for change in view.changes:
        colour = theme.WORSE if change.worse else theme.BETTER
        drawn.add_vline(
            x=change.place - 0.5,
            line={"color": colour, "width": 1, "dash": "dash"},
            annotation={"text": percent(change.ratio), "font": {"color": colour}, "yanchor": "top"},
        )
    outline = band(view)
    if outline:
        drawn.add_scatter(
            name="level",
            x=[x for x, _ in outline],
            y=[None if value is None else value / scale.divisor for _, value in outline],
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=theme.BAND,
            hoverinfo="skip",
        )
    drawn.add_scatter(
        name="runs",
        x=[at + offset for at in positions for offset in _side_by_side(len(view.points[at].values), len(positions))],
        y=[value / scale.divisor for point in view.points for value in point.values],
        mode="markers",
        marker={"size": 5, "color": theme.NEUTRAL, "opacity": 0.55},
        hoverinfo="skip",
    )
    judged = [at for at in positions if view.points[at].judged]
    if judged:
        drawn.add_scatter(
            name="gates",
            x=judged,
            y=[view.points[at].median / scale.divisor for at in judged],
            mode="markers",
            marker={
                "size": 18 if len(positions) <= DENSE else 14,
                "symbol": "circle-open",
                "line": {"width": 2},
                "color": [theme.VERDICTS.get(view.points[at].judged[0].verdict, theme.NEUTRAL) for at in judged],
            },
            hoverinfo="skip",
        )
    drawn.add_scatter(
        name="median",
        x=positions,
        y=[point.median / scale.divisor for point in view.points],
        mode="lines+markers",
        line={"color": theme.NEUTRAL, "width": 1},
        marker={
            "size": 10 if len(positions) <= DENSE else 6,
            "opacity": 1,
            "color": [theme.VERDICTS.get(point.verdict, theme.ALLOCATED) for point in view.points],
            "symbol": ["diamond" if point is baseline else "circle" for point in view.points],
        },
        customdata=[[_hover(at, view), point.commit] for at, point in enumerate(view.points)],
        hovertemplate="%{customdata[0]}<extra></extra>",
    )
    return drawn


def band(view: SeriesView) -> list[tuple[float | None, float | None]]:
    """Around each level of the series, where BAND of its results lie; the outlines of all, with gaps between them."""
    outline: list[tuple[float | None, float | None]] = []
    bounds = [0, *(change.place for change in view.changes), len(view.points)]
    for begin, end in pairwise(bounds):
        values = [value for point in view.points[begin:end] for value in point.values]
        if end - begin < BAND_COMMITS:
            continue
        low, high = np.quantile(values, ((1 - BAND) / 2, (1 + BAND) / 2)).tolist()
        left, right = begin - 0.5, end - 0.5
        outline += [(left, low), (right, low), (right, high), (left, high), (left, low), (None, None)]
    return outline[:-1]


def _side_by_side(count: int, commits: int) -> list[float]:
    # In the order of the runs, so that a drift from run to run shows; few commits stand far apart.
    width = min(0.02 * commits, 0.4)
    return [width * ((number + 0.5) / count - 0.5) for number in range(count)]


def _value_scale(view: SeriesView) -> units.Scale:
    largest = max(max(point.values) for point in view.points)
    if view.unit != "s":
        return units.Scale(1.0, view.unit)
    scale = units.duration_scale(largest * 1e9)
    return units.Scale(scale.divisor / 1e9, scale.unit)


def _value_range(view: SeriesView, scale: units.Scale) -> list[float]:
    # At least 15 % to each side of the middle, so that noise of one percent does not look like a cliff.
    values = [value for point in view.points for value in point.values]
    middle = statistics.median(values)
    low, high = min(middle * 0.85, *values), max(middle * 1.15, *values)
    margin = (high - low) * 0.06
    return [max(low - margin, 0.0) / scale.divisor, (high + margin) / scale.divisor]


def value(amount: float | None, unit: str) -> str:
    """A result as people read it: seconds in the unit that suits, bytes likewise, anything else with its own unit."""
    if amount is None:
        return units.NONE
    if unit == "s":
        return units.duration(amount * 1e9)
    return units.size(amount) if unit in ("B", "bytes") else f"{amount:,.4g} {unit}"


def percent(ratio: float) -> str:
    """A ratio as the change that it is: `+7.1 %`."""
    return units.change(1.0, ratio)


def _hover(place: int, view: SeriesView) -> str:
    point = view.points[place]
    runs = "1 run" if len(point.values) == 1 else f"{len(point.values)} runs"
    lines = [
        f"<b>{point.commit[:SHORT_SHA]}</b> {escape(point.branch or '')}".rstrip(),
        *([escape(point.subject)] if point.subject else []),
        f"authored {point.authored:{WHEN}}" if point.authored else f"measured {point.created:{WHEN}} UTC",
        f"median {value(point.median, view.unit)} of {runs}",
    ]
    if point.dirty:
        lines.append("dirty: with changes that were not committed")
    if len(point.values) > 1:
        lines.append(f"{value(min(point.values), view.unit)} to {value(max(point.values), view.unit)}")
    if place == view.baseline:
        lines.append("baseline")
    elif point.ratio is not None:
        lines.append(f"{units.ratio(point.ratio)} the baseline{_interval(point)}")
    change = view.change_at(place)
    if change:
        lines.append(f"<b>{percent(change.ratio)}</b> from here on")
    if point.verdict:
        lines.append(f"<b>{point.verdict}</b>" if point.verdict in theme.VERDICTS else point.verdict)
    lines += [f"gate {each.gate}: {each.verdict}" for each in point.judged]
    return "<br>".join(lines)


def _interval(point: SeriesPoint) -> str:
    return "" if point.low is None else f" ({units.ratio(point.low)} to {units.ratio(point.high)})"
