"""What a marked stretch of the timeline adds up to, by name."""

from collections.abc import Collection
from dataclasses import dataclass

from perflab.profiler.analysis.stretch import stretch_totals

from . import theme
from .timeline import Timeline

NAME_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Row:
    """All slices of one name and category in a stretch; times in ns."""

    name: str
    word: str
    colour: str
    count: int
    total: int
    self_time: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The NAME_LIMIT names with the largest self time in [start, end), of `names`; `count` and `self_time` are of
    all."""

    start: int
    end: int
    rows: list[Row]
    names: int
    count: int
    self_time: int


def totals(timeline: Timeline, start: int, end: int, tracks: Collection[int] | None = None) -> Totals:
    """Sum the slices that touch [start, end), in ns since the timeline's begin, by name."""
    found = stretch_totals(timeline.trace, timeline.begin + start, timeline.begin + end, tracks)
    rows = []
    for each in found.names[:NAME_LIMIT]:
        kind = theme.category(each.category)
        colour = theme.slice_colour(kind, each.name)
        rows.append(Row(each.name, kind.word, colour, each.count, each.total_ns, each.self_ns))
    return Totals(start, end, rows, len(found.names), found.count, found.self_ns)
