"""One slice of the timeline: what it is, what it lies between, and what it is tied to; and slices found by name."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from perflab.profiler.analysis.gil import FLOW
from perflab.profiler.trace import Int64s, Json

from . import theme
from .errors import SliceNotFound
from .timeline import Timeline, track_label

TEXT_LIMIT = 2_000  # characters of an argument
FLOW_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Brief:
    """A slice to draw and to go to; `start` is in ns since the timeline's begin."""

    slice: int
    row: int
    start: int
    duration: int
    name: str
    colour: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """A flow of that name to or from another slice."""

    name: str
    slice: Brief


@dataclass(frozen=True, slots=True)
class Detail:
    """A slice with everything known about it; times in ns.

    `around` are the slices that it lies in, outermost first. `causes` and `effects` are at the other ends of its
    flows, FLOW_LIMIT of each at most. `count`, `total` and `median` are of all slices with its name and category.
    """

    slice: Brief
    word: str
    track: str
    self_time: int
    around: list[Brief]
    before: Brief | None
    after: Brief | None
    causes: list[Arrow]
    effects: list[Arrow]
    args: dict[str, str]
    count: int
    total: int
    median: int


@dataclass(frozen=True, slots=True)
class Found:
    """How many slices have a name that is searched for, and one of them, the `place`-th from 1."""

    count: int
    place: int
    slice: Brief | None


def brief(timeline: Timeline, slice_: int) -> Brief:
    """A slice of the trace; raises SliceNotFound."""
    trace, columns = timeline.trace, timeline.trace.slices
    if not 0 <= slice_ < len(columns):
        raise SliceNotFound(slice_, len(columns))
    name = trace.strings[columns.name[slice_]]
    return Brief(
        slice=slice_,
        row=int(timeline.row_of(np.array([slice_]))[0]),
        start=int(columns.start[slice_]) - timeline.begin,
        duration=int(columns.duration[slice_]),
        name=name,
        colour=theme.slice_colour(theme.category(trace.strings[columns.category[slice_]]), name),
    )


def detail(timeline: Timeline, slice_: int) -> Detail:
    """Everything about a slice of the trace; raises SliceNotFound."""
    own = brief(timeline, slice_)
    trace, columns, flows = timeline.trace, timeline.trace.slices, timeline.trace.flows
    inside = np.flatnonzero(columns.parent == slice_)
    # A wait for the GIL points at the hold that it waited for, which is its cause.
    backwards = flows.name == trace.string_id(FLOW)
    cause, effect = (
        np.where(backwards, *ends) for ends in ((flows.target, flows.source), (flows.source, flows.target))
    )
    same = columns.duration[(columns.name == columns.name[slice_]) & (columns.category == columns.category[slice_])]
    before, after = (None if other < 0 else brief(timeline, other) for other in timeline.beside(slice_))
    return Detail(
        slice=own,
        word=theme.category(trace.strings[columns.category[slice_]]).word,
        track=track_label(trace.tracks[columns.track[slice_]]),
        self_time=own.duration - int(columns.duration[inside].sum()),
        around=[brief(timeline, outer) for outer in _around(columns.parent, slice_)],
        before=before,
        after=after,
        causes=_arrows(timeline, np.flatnonzero(effect == slice_), cause),
        effects=_arrows(timeline, np.flatnonzero(cause == slice_), effect),
        args={key: _text(value) for key, value in trace.args_of(slice_).items()},
        count=len(same),
        total=int(same.sum()),
        median=int(np.median(same)),
    )


def _around(parent: Int64s, slice_: int) -> list[int]:
    found: list[int] = []
    while (slice_ := int(parent[slice_])) >= 0:
        found.insert(0, slice_)
    return found


def _arrows(timeline: Timeline, flows: Iterable[int], ends: Int64s) -> list[Arrow]:
    names = timeline.trace.flows.name
    return [
        Arrow(timeline.trace.strings[names[flow]], brief(timeline, int(ends[flow])))
        for flow in list(flows)[:FLOW_LIMIT]
    ]


def _text(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}…"


def find(timeline: Timeline, text: str, near: int, step: int) -> Found:
    """A slice whose name holds `text` in whatever case, by time.

    `step` 1 and -1 take the next and the previous one of the slice `near`, 0 that slice itself or else the next one;
    after the last follows the first.
    """
    wanted = text.casefold()
    has = np.array([wanted in name.casefold() for name in timeline.trace.strings], dtype=bool)
    slices = np.flatnonzero(has[timeline.trace.slices.name])
    if not len(slices):
        return Found(0, 0, None)
    place = int(np.searchsorted(slices, near, side="right" if step > 0 else "left")) - (step < 0)
    place %= len(slices)
    return Found(len(slices), place + 1, brief(timeline, int(slices[place])))


def first_from(timeline: Timeline, time: int) -> int:
    """The first slice that begins at `time` ns of the timeline or later."""
    return int(np.searchsorted(timeline.trace.slices.start, timeline.begin + time))
