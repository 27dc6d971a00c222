"""Waits for the GIL: who waited, for how long, and when."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from perflab.profiler.analysis.gil import GilWait
from perflab.profiler.trace import Trace

from . import theme, units
from .timeline import track_label

POINT_LIMIT = 3000


@dataclass(frozen=True)
class GilRow:
    """All acquisitions of one thread for one reason; times in ns."""

    track: str
    reason: str
    count: int
    wait_ns: int
    longest_ns: int
    hold_ns: int


def rows(trace: Trace, waits: Sequence[GilWait]) -> list[GilRow]:
    """Sum `waits` by thread and reason, the longest total wait first."""
    groups: dict[tuple[int, str], list[GilWait]] = defaultdict(list)
    for wait in waits:
        groups[wait.track, wait.reason].append(wait)
    summed = [
        GilRow(
            track=track_label(trace.tracks[track]),
            reason=reason,
            count=len(members),
            wait_ns=sum(wait.wait_ns for wait in members),
            longest_ns=max(wait.wait_ns for wait in members),
            hold_ns=sum(wait.hold_ns for wait in members),
        )
        for (track, reason), members in groups.items()
    ]
    return sorted(summed, key=lambda row: (-row.wait_ns, row.track, row.reason))


def note(waits: Sequence[GilWait]) -> str:
    """One sentence on all waits; empty where there are none."""
    if not waits:
        return ""
    waited = sum(wait.wait_ns for wait in waits)
    threads = len({wait.track for wait in waits})
    taken = f"{_counted(len(waits), 'acquisition')} by {_counted(threads, 'thread')}"
    sentence = f"{units.duration(waited)} of waiting in {taken}"
    left_out = len(waits) - POINT_LIMIT
    return f"{sentence}; the longest {units.whole(POINT_LIMIT)} are drawn" if left_out > 0 else sentence


def _counted(count: int, word: str) -> str:
    return f"{units.whole(count)} {word}" if count == 1 else f"{units.whole(count)} {word}s"


def figure(trace: Trace, waits: Sequence[GilWait], span: tuple[int, int]) -> go.Figure:
    """A stem for each wait: when the thread asked (since the start of `span`) and how long it waited.

    The longest POINT_LIMIT waits are drawn, one colour per thread.
    """
    origin_ns, end_ns = span
    shown = sorted(waits, key=lambda wait: -wait.wait_ns)[:POINT_LIMIT]
    time_scale = units.duration_scale(end_ns - origin_ns)
    wait_scale = units.duration_scale(max(wait.wait_ns for wait in shown))
    tracks = sorted({wait.track for wait in shown})
    drawn = theme.figure(
        height=200,
        margin={"t": 6},
        hovermode="closest",
        showlegend=len(tracks) > 1,
        xaxis={
            "range": [0, (end_ns - origin_ns) / time_scale.divisor],
            "title": {"text": f"since the start of the trace, {time_scale.unit}"},
        },
        yaxis={"title": {"text": f"wait, {wait_scale.unit}"}, "rangemode": "tozero"},
    )
    for position, track in enumerate(tracks):
        members = sorted((wait for wait in shown if wait.track == track), key=lambda wait: wait.start)
        y = [wait.wait_ns / wait_scale.divisor for wait in members]
        drawn.add_scatter(
            name=track_label(trace.tracks[track]),
            x=[(wait.start - origin_ns) / time_scale.divisor for wait in members],
            y=y,
            mode="markers",
            marker={"size": 5, "color": theme.SEQUENCE[position % len(theme.SEQUENCE)]},
            error_y={"type": "data", "symmetric": False, "array": [0] * len(y), "arrayminus": y, "width": 0}
            | {"thickness": 1},
            customdata=[
                f"waited {units.duration(wait.wait_ns)}, then held {units.duration(wait.hold_ns)}<br>{wait.reason}"
                for wait in members
            ],
            hovertemplate="%{customdata}<extra>%{fullData.name}</extra>",
        )
    return drawn
