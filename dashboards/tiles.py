"""What the timeline draws of a stretch of time at one resolution: slices shorter than a bin are merged."""

from dataclasses import dataclass, field

import numpy as np

from perflab.profiler.trace import Float64s, Int64s

from . import theme
from .timeline import Curve, Timeline

FORMAT = 1  # of the answer; part of its ETag


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters in a tile, for each row of `rows` its next `lengths` points. A point is a bin, counted from the tile's
    start; before the first bin (-1) stands the value that the tile begins with.

    `bin` is the difference from the point before; `high` is the highest and `last` the last value in the bin.
    """

    rows: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    bin: list[int] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tile:
    """The stretch [start, end) of a timeline in bins of `bin` ns. Times are ns since the timeline's begin.

    Columns hold an entry for each slice that lasts at least a bin, and one for all others that begin in one bin of a
    row; `rows` and `lengths` say how many entries each row has. `begin` is the entry's first start less that of the
    entry before in its row (of the first: less the tile's start); `length` reaches to its last end; `count` is the
    number of its slices, which were busy for `busy` ns. `slice`, counted like `begin`, is the longest of them, and
    `look` its place in `names`, `words` (what the category is called) and `colours`.
    """

    start: int
    end: int
    bin: int
    names: list[str]
    words: list[str]
    colours: list[str]
    rows: Int64s
    lengths: Int64s
    begin: Int64s
    length: Int64s
    count: Int64s
    busy: Int64s
    slice: Int64s
    look: Int64s
    counters: Counts


def aligned(start: int, end: int, width: int) -> tuple[int, int, int]:
    """A stretch and its bins, rounded out to bins of a power of two of ns that begin at multiples of it.

    Of such bins a timeline keeps ever coarser entries; of others it goes through every slice. They are less than twice
    as long as what was asked for, and at most one more at each end.
    """
    bin_ns = 1 << (-(-(end - start) // width) - 1).bit_length()
    first, last = start // bin_ns, -(-end // bin_ns)
    return first * bin_ns, last * bin_ns, last - first


def tile(timeline: Timeline, start: int, end: int, width: int) -> Tile:
    """The tile from `start` to `end` in `width` bins; slices that only reach into it are in it too."""
    bin_ns = max(-(-(end - start) // width), 1)
    # A short slice that begins before the tile is part of the last bin of the tile before.
    found = timeline.entries(start, end, bin_ns)
    looks, look = _looks(timeline, found.slice)
    rows, lengths = np.unique(found.row, return_counts=True)
    return Tile(
        start=start,
        end=end,
        bin=bin_ns,
        **looks,
        rows=rows,
        lengths=lengths,
        begin=_steps(found.begin, found.row, start),
        length=found.end - found.begin,
        count=found.count,
        busy=found.busy,
        slice=_steps(found.slice, found.row, 0),
        look=look,
        counters=_counts(timeline.curves, start, end, bin_ns),
    )


def _steps(values: Int64s, row: Int64s, origin: int) -> Int64s:
    """Differences from the value before in the row; of the first from `origin`."""
    steps = np.diff(values, prepend=origin)
    is_first = np.diff(row, prepend=-1) != 0
    steps[is_first] = values[is_first] - origin
    return steps


def _looks(timeline: Timeline, slices: Int64s) -> tuple[dict[str, list[str]], Int64s]:
    trace = timeline.trace
    codes = trace.slices.category[slices].astype(np.int64) * len(trace.strings) + trace.slices.name[slices]
    unique, look = np.unique(codes, return_inverse=True)
    categories, names = np.divmod(unique, max(len(trace.strings), 1))
    kinds = [theme.category(trace.strings[category]) for category in categories.tolist()]
    texts = [trace.strings[name] for name in names.tolist()]
    colours = [theme.slice_colour(kind, text) for kind, text in zip(kinds, texts, strict=True)]
    return {"names": texts, "words": [kind.word for kind in kinds], "colours": colours}, look


def _counts(curves: tuple[Curve, ...], start: int, end: int, bin_ns: int) -> Counts:
    found = Counts()
    for curve in curves:
        low, high = np.searchsorted(curve.time, (start, end))
        low = max(low - 1, 0)
        if low == high:
            continue
        time, value = curve.time[low:high], curve.value[low:high]
        place = np.maximum((time - start) // bin_ns, -1)
        first = np.flatnonzero(np.diff(place, prepend=-2))
        found.rows.append(curve.row)
        found.lengths.append(len(first))
        found.bin.extend(np.diff(place[first], prepend=0).tolist())
        found.high.extend(np.maximum.reduceat(value, first).tolist())
        found.last.extend(_last(value, first))
    return found


def _last(value: Float64s, first: Int64s) -> list[float]:
    plain: list[float] = value[np.append(first[1:], len(value)) - 1].tolist()
    return plain
