"""The ranks of a run: what each did, how far apart they arrived at collectives, and how far that can be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from perflab.profiler.analysis.ranks import CollectiveSkew, Ranks
from perflab.profiler.report.ranks import ranks as reported

from . import theme, units

POINT_LIMIT = 2000
ROW_LIMIT = 50
_ROW = 26  # pixels


def note(found: Ranks) -> str:
    """Whom the others waited for, and how far the clocks agree."""
    section = reported(found)
    return units.typeset(" ".join(section.sentences)) if section is not None else ""


def shares_figure(found: Ranks) -> go.Figure:
    """A bar for each rank, whose parts add up to its time: computing alone, with communication behind it, communicating
    alone, and neither."""
    scale = units.duration_scale(float(max(use.span_ns for use in found.uses)))
    drawn = theme.figure(
        height=86 + _ROW * len(found.uses),
        barmode="stack",
        bargap=0.25,
        margin={"t": 24},
        legend={"traceorder": "normal"},
        xaxis={"title": {"text": scale.unit}, "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "type": "category", "fixedrange": True, "showgrid": False},
    )
    parts = (
        ("computes", theme.ALLOCATED, [use.compute_ns - use.communication_ns + use.exposed_ns for use in found.uses]),
        ("both", theme.HIDDEN, [use.communication_ns - use.exposed_ns for use in found.uses]),
        ("communicates alone", theme.EXPOSED, [use.exposed_ns for use in found.uses]),
        ("neither", theme.PARTS["idle"], [use.span_ns - use.compute_ns - use.exposed_ns for use in found.uses]),
    )
    for word, colour, values in parts:
        drawn.add_bar(
            name=word,
            orientation="h",
            y=[f"rank {use.rank}" for use in found.uses],
            x=[value / scale.divisor for value in values],
            marker={"color": colour, "line": {"width": 0}},
            customdata=[
                f"{units.duration(value)}, {units.share(value / max(use.span_ns, 1))}"
                for value, use in zip(values, found.uses, strict=True)
            ],
            hovertemplate="%{y}: %{customdata}<extra>%{fullData.name}</extra>",
        )
    return drawn


def skew_figure(found: Ranks, origin_ns: int, timeline: str) -> go.Figure:
    """A point for each collective, coloured by the rank that arrived last: when the first rank arrived, since
    `origin_ns`, and how much later the last did.

    Where the clocks' uncertainty is known, what lies below it is shaded. The longest POINT_LIMIT skews are drawn; the
    id of a point is where its collective is on the `timeline`.
    """
    shown = sorted(found.skews, key=lambda skew: -skew.skew_ns)[:POINT_LIMIT]
    time_scale = units.duration_scale(float(max(skew.start_ns for skew in shown) - origin_ns))
    scale = units.duration_scale(float(max(1, *(skew.skew_ns for skew in shown))))
    unsure = uncertainty(found)
    drawn = theme.figure(
        height=240,
        hovermode="closest",
        margin={"t": 24},
        xaxis={"title": {"text": f"since the start of the trace, {time_scale.unit}"}},
        yaxis={"title": {"text": f"skew, {scale.unit}"}, "rangemode": "tozero"},
        shapes=[
            {
                "type": "rect", "layer": "below", "xref": "paper", "x0": 0, "x1": 1, "y0": 0,
                "y1": unsure / scale.divisor, "fillcolor": theme.BAND, "line": {"width": 0},
            }
        ],
    )  # fmt: skip
    for place, rank in enumerate(sorted({skew.last for skew in shown})):
        members = sorted((skew for skew in shown if skew.last == rank), key=lambda skew: skew.start_ns)
        drawn.add_scatter(
            name=f"rank {rank} last",
            x=[(skew.start_ns - origin_ns) / time_scale.divisor for skew in members],
            y=[skew.skew_ns / scale.divisor for skew in members],
            mode="markers",
            marker={"size": 7, "color": theme.SEQUENCE[place % len(theme.SEQUENCE)]},
            ids=[f"{timeline}?start={low}&end={high}" for low, high in (_around(skew, origin_ns) for skew in members)],
            customdata=[
                [skew.kind, units.duration(skew.skew_ns), units.duration(skew.transfer_ns)] for skew in members
            ],
            hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]} apart, then took %{customdata[2]}"
            "<extra>%{fullData.name}</extra>",
        )
    return drawn


def uncertainty(found: Ranks) -> int:
    """Skews up to this mean nothing, in ns; 0 where nothing is known of the clocks."""
    return found.clock.uncertainty_ns if found.clock is not None else 0


@dataclass(frozen=True)
class Apart:
    """A collective, and where it is: `start` and `end` in ns since the timeline's begin."""

    skew: CollectiveSkew
    start: int
    end: int


def furthest(found: Ranks, origin_ns: int) -> list[Apart]:
    """The collectives whose ranks arrived furthest apart."""
    worst: Sequence[CollectiveSkew] = sorted(found.skews, key=lambda skew: -skew.skew_ns)[:ROW_LIMIT]
    return [Apart(skew, *_around(skew, origin_ns)) for skew in worst]


def _around(skew: CollectiveSkew, origin_ns: int) -> tuple[int, int]:
    """From a little before the first rank's arrival to a little after the end, in ns since `origin_ns`."""
    start, lasts = skew.start_ns - origin_ns, max(skew.skew_ns + skew.transfer_ns, 1_000)
    return max(start - lasts // 8, 0), start + lasts + lasts // 8
