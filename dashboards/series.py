"""A benchmark over commits: a point for each run, with the spread of its samples."""

from statistics import median

import plotly.graph_objects as go

from . import theme, units
from .views import SeriesPoint, SeriesView

SHORT_SHA = 8


def value_scale(view: SeriesView) -> units.Scale:
    """The axis unit; seconds are shown in the unit that suits them, other units as they are."""
    if view.unit != "s":
        return units.Scale(1.0, view.unit)
    scale = units.duration_scale(max(point.high for point in view.points) * 1e9)
    return units.Scale(scale.divisor / 1e9, scale.unit)


def baseline_point(view: SeriesView) -> SeriesPoint | None:
    """The last point of the baseline commit; the first point of the series where no baseline is named."""
    if view.baseline is None:
        return view.points[0] if view.points else None
    return next((point for point in reversed(view.points) if point.commit == view.baseline), None)


def figure(view: SeriesView) -> go.Figure:
    """Draw the medians of `view` in commit order with lowest to highest sample as a bar, and the baseline as a line."""
    scale = value_scale(view)
    baseline = baseline_point(view)
    medians = [point.median / scale.divisor for point in view.points]
    positions = list(range(len(view.points)))
    drawn = theme.figure(
        height=360,
        showlegend=False,
        hovermode="closest",
        xaxis={
            "tickvals": positions,
            "ticktext": [point.commit[:SHORT_SHA] for point in view.points],
            "tickangle": 0 if len(positions) <= 12 else -45,
            "range": [-0.5, max(len(positions) - 0.5, 0.5)],
            "tickfont": {"family": theme.MONO},
            "zeroline": False,
        },
        yaxis={"title": {"text": scale.unit}, "range": _value_range(view, scale), "zeroline": False},
    )
    if len(positions) > 40:
        every = -(-len(positions) // 30)
        drawn.update_xaxes(tickvals=positions[::every], ticktext=[p.commit[:SHORT_SHA] for p in view.points[::every]])
    if baseline is not None:
        at = baseline.median / scale.divisor
        drawn.add_shape(
            type="line", xref="paper", x0=0, x1=1, y0=at, y1=at, line={"color": theme.NEUTRAL, "dash": "dot"}
        )
        drawn.add_annotation(
            xref="paper",
            x=1,
            xanchor="right",
            y=at,
            yanchor="bottom",
            text=f"baseline {baseline.commit[:SHORT_SHA]}",
            showarrow=False,
            font={"size": 11, "color": theme.NEUTRAL},
            bgcolor="rgba(0,0,0,0)",
            borderwidth=0,
        )
    drawn.add_scatter(
        name=view.benchmark,
        x=positions,
        y=medians,
        mode="lines+markers",
        line={"color": theme.NEUTRAL, "width": 1},
        marker={
            "size": 9,
            "color": [theme.VERDICTS.get(point.verdict, theme.ALLOCATED) for point in view.points],
            "symbol": ["diamond" if point is baseline else "circle" for point in view.points],
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [(point.high - point.median) / scale.divisor for point in view.points],
            "arrayminus": [(point.median - point.low) / scale.divisor for point in view.points],
            "thickness": 1.5,
            "width": 4,
            "color": theme.NEUTRAL,
        },
        customdata=[_hover(point, baseline, view.unit) for point in view.points],
        hovertemplate="%{customdata}<extra></extra>",
    )
    return drawn


def _value_range(view: SeriesView, scale: units.Scale) -> list[float]:
    # At least 15 % to each side of the middle, so that noise of one percent does not look like a cliff.
    middle = median(point.median for point in view.points)
    low = min(middle * 0.85, *(point.low for point in view.points))
    high = max(middle * 1.15, *(point.high for point in view.points))
    margin = (high - low) * 0.06
    return [max(low - margin, 0.0) / scale.divisor, (high + margin) / scale.divisor]


def value(amount: float | None, unit: str) -> str:
    """A result as people read it: seconds in the unit that suits, anything else with its own unit."""
    if amount is None:
        return units.NONE
    return units.duration(amount * 1e9) if unit == "s" else f"{amount:,.4g} {unit}"


def _hover(point: SeriesPoint, baseline: SeriesPoint | None, unit: str) -> str:
    lines = [
        f"<b>{point.commit[:SHORT_SHA]}</b>  {point.branch or ''}".rstrip(),
        f"{point.created:%Y-%m-%d %H:%M} UTC",
        f"median {value(point.median, unit)} of {point.samples} samples",
        f"{value(point.low, unit)} to {value(point.high, unit)}",
    ]
    if point is baseline:
        lines.append("baseline")
    elif baseline is not None and baseline.median:
        lines.append(f"{units.ratio(point.median / baseline.median)} the baseline")
    if point.verdict:
        lines.append(f"<b>{point.verdict}</b>")
    return "<br>".join(lines)
