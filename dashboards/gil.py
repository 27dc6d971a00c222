"""The GIL: who waited for it, who held it meanwhile, and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from perflab.profiler.analysis.averages import Averages, OpAverage
from perflab.profiler.analysis.contention import Blocked, Convoy, GilThread
from perflab.profiler.analysis.gil import SAMPLED, GilWait
from perflab.profiler.trace import Trace

from . import theme, units
from .study import Study
from .timeline import track_label

POINT_LIMIT = 2000
ROW_LIMIT = 50
WAIT_LIMIT = 20
CONVOY_LIMIT = 5
_EXACT = "every thread's, exact"
_SAMPLED = "perflab's own, and a probe's samples"


@dataclass(frozen=True)
class GilRow:
    """A thread's use of the GIL, with its name; times in ns, `held_share` of the time of the trace."""

    name: str
    held_share: float
    use: GilThread


@dataclass(frozen=True)
class BlockedRow:
    """A thread that waited and one that held it meanwhile, by name."""

    waiter: str
    holder: str
    pair: Blocked


def rows(trace: Trace, threads: Sequence[GilThread], span_ns: int) -> list[GilRow]:
    """The threads that held it longest."""
    return [GilRow(_label(trace, thread.track), thread.held_ns / span_ns, thread) for thread in threads[:ROW_LIMIT]]


def blocked_rows(trace: Trace, pairs: Sequence[Blocked]) -> list[BlockedRow]:
    """The pairs of the longest waits."""
    return [BlockedRow(_label(trace, pair.waiter), _label(trace, pair.holder), pair) for pair in pairs[:ROW_LIMIT]]


def _label(trace: Trace, track: int) -> str:
    return track_label(trace.tracks[track]).removesuffix(" GIL")


def note(trace: Trace, threads: Sequence[GilThread]) -> str:
    """One sentence on all waits; empty where there are none."""
    if not threads:
        return ""
    waited = sum(thread.waited_ns for thread in threads)
    count = sum(thread.acquisitions for thread in threads)
    what = {"exact": f" ({_EXACT})", SAMPLED: f" ({_SAMPLED})"}.get(str(trace.metadata.get("gil")), "")
    taken = f"{_counted(count, 'acquisition')} by {_counted(len(threads), 'thread')}{what}"
    sentence = f"{units.duration(waited)} of waiting in {taken}"
    lost = trace.metadata.get("gilLost")
    if count > POINT_LIMIT:
        sentence += f"; the longest in each of {units.whole(POINT_LIMIT)} stretches of time are drawn"
    return f"{sentence}; {units.whole(lost)} more were lost for want of room" if isinstance(lost, int) else sentence


@dataclass(frozen=True)
class Moment:
    """Something that a reader can look at: `start` and `end` in ns since the begin of the timeline."""

    said: str
    start: int
    end: int


def convoy_rows(trace: Trace, found: Sequence[Convoy], origin_ns: int) -> list[Moment]:
    """A sentence on each convoy, the longest first."""
    return [
        Moment(
            f"{_label(trace, convoy.track)} waited {units.duration(convoy.waited_ns)} behind"
            f" {_label(trace, convoy.holder)} in {_counted(convoy.acquisitions, 'acquisition')} in a row,"
            f" to hold it for {units.duration(convoy.held_ns)}",
            convoy.start - origin_ns,
            convoy.end - origin_ns,
        )
        for convoy in found[:CONVOY_LIMIT]
    ]


@dataclass(frozen=True)
class LongWait:
    """One of the longest waits: the thread, the reason, times in ns; `start` and `end` since the timeline's begin."""

    name: str
    reason: str
    wait_ns: int
    hold_ns: int
    start: int
    end: int


def longest(trace: Trace, waits: Sequence[GilWait], origin_ns: int) -> list[LongWait]:
    """The longest waits."""
    ranked = sorted((wait for wait in waits if wait.wait_ns), key=lambda wait: -wait.wait_ns)[:WAIT_LIMIT]
    return [
        LongWait(
            _label(trace, wait.track),
            wait.reason,
            wait.wait_ns,
            wait.hold_ns,
            wait.start - origin_ns,
            wait.start - origin_ns + wait.wait_ns + wait.hold_ns,
        )
        for wait in ranked
    ]


@dataclass(frozen=True)
class GilUse:
    """Who held the GIL and who waited for it, the longest of each."""

    threads: Sequence[GilRow]
    pairs: Sequence[BlockedRow]
    convoys: Sequence[Moment]
    waits: Sequence[LongWait]


def use(found: Study) -> GilUse:
    """The use of the GIL in a trace."""
    trace, begin = found.trace, found.span[0]
    return GilUse(
        threads=rows(trace, found.threads, found.span_ns),
        pairs=blocked_rows(trace, found.blocked),
        convoys=convoy_rows(trace, found.convoys, begin),
        waits=longest(trace, found.waits, begin),
    )


def by_op(averages: Averages) -> list[OpAverage]:
    """The ops in which was waited, the longest in all first."""
    return sorted((row for row in averages if row.gil_wait_ns), key=lambda row: -row.gil_wait_ns)


def _counted(count: int, word: str) -> str:
    return f"{units.whole(count)} {word}" if count == 1 else f"{units.whole(count)} {word}s"


def _longest_of_stretches(waits: Sequence[GilWait], span: tuple[int, int]) -> list[GilWait]:
    origin_ns, end_ns = span
    found: dict[int, GilWait] = {}
    for wait in waits:
        stretch = (wait.start - origin_ns) * POINT_LIMIT // max(end_ns - origin_ns, 1)
        if stretch not in found or wait.wait_ns > found[stretch].wait_ns:
            found[stretch] = wait
    return list(found.values())


def figure(trace: Trace, waits: Sequence[GilWait], span: tuple[int, int]) -> go.Figure:
    """A stem for each wait: when the thread asked (since the start of `span`) and how long it waited.

    One colour per thread; of many waits, the longest in each of POINT_LIMIT stretches of time are drawn.
    """
    origin_ns, end_ns = span
    shown = _longest_of_stretches(waits, span) if len(waits) > POINT_LIMIT else waits
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
            name=_label(trace, track),
            x=[(wait.start - origin_ns) / time_scale.divisor for wait in members],
            y=y,
            mode="markers",
            marker={"size": 5, "color": theme.SEQUENCE[position % len(theme.SEQUENCE)]},
            error_y={"type": "data", "symmetric": False, "array": [0] * len(y), "arrayminus": y, "width": 0}
            | {"thickness": 1},
            customdata=[
                f"waited {units.duration(wait.wait_ns)}, then held {units.duration(wait.hold_ns)}<br>"
                + escape(wait.reason)
                for wait in members
            ],
            hovertemplate="%{customdata}<extra>%{fullData.name}</extra>",
        )
    return drawn
