"""Slices of a timeline as they are drawn: long ones alone, short ones merged by row and bin, and merged ones again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perflab.profiler.trace import Int64s

FINER = 2  # how many times fewer entries a level must have to be worth its memory
COARSER = 4  # how many times longer the bins of the next level are


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries sorted by row, then by begin; those of one row never overlap, so their ends are sorted too.

    An entry is `count` slices that were busy for `busy` ns; `slice` is the longest of them, of equal ones the first,
    and lasts `longest` ns. Times are ns since the timeline's begin.
    """

    row: Int64s
    begin: Int64s
    end: Int64s
    count: Int64s
    busy: Int64s
    slice: Int64s
    longest: Int64s

    def __len__(self) -> int:
        return len(self.row)

    def merged(self, bin_ns: int, origin: int) -> "Entries":
        """The entries in bins of `bin_ns` from `origin`: one for all neighbours of a row that begin in one bin and
        hold no slice of that length."""
        first = _firsts(self.row, np.where(self.longest < bin_ns, (self.begin - origin) // bin_ns, -1))
        if not len(first):
            return self
        sizes = np.diff(first, append=len(self))
        longest = np.maximum.reduceat(self.longest, first)
        is_longest = np.flatnonzero(self.longest == np.repeat(longest, sizes))
        return Entries(
            row=self.row[first],
            begin=self.begin[first],
            end=self.end[first + sizes - 1],
            count=np.add.reduceat(self.count, first),
            busy=np.add.reduceat(self.busy, first),
            slice=self.slice[is_longest[np.searchsorted(is_longest, first)]],
            longest=longest,
        )


def _firsts(row: Int64s, bin_: Int64s) -> Int64s:
    """Where entries begin: a new row or bin, and each entry that has no bin (-1)."""
    new = np.ones(len(row), dtype=bool)
    new[1:] = (row[1:] != row[:-1]) | (bin_[1:] != bin_[:-1]) | (bin_[1:] < 0)
    return np.flatnonzero(new)


class Level:
    """Entries in bins of `bin` ns from the timeline's begin, made ready for asking which of them touch a stretch."""

    def __init__(self, bin_ns: int, entries: Entries, rows: int, length: int) -> None:
        self.bin = bin_ns
        self.slice = entries.slice
        self.bounds = np.searchsorted(entries.row, np.arange(rows + 1))  # where each row begins, and the last ends
        self._length, self._stride = length, length + 2
        # One search over all rows: `row * stride + time` ascends over the entries.
        self._begins = entries.row * self._stride + entries.begin
        self._ends = entries.row * self._stride + entries.end
        self._count, self._busy, self._longest = entries.count, entries.busy, entries.longest

    def __len__(self) -> int:
        return len(self.slice)

    def touching(self, start: int, end: int, least: int) -> Entries:
        """The entries that touch [start, end); of those that begin before it, only slices of at least `least` ns."""
        rows = np.arange(len(self.bounds) - 1)
        start, end = (min(max(time, 0), self._length + 1) for time in (start, end))
        begin, stop = rows * self._stride + start, rows * self._stride + end
        first = np.searchsorted(self._begins, begin)
        # At most one entry of a row reaches into the stretch from before: the one before the first that begins in it.
        reaching = np.flatnonzero(np.searchsorted(self._ends, begin, side="right") < first)
        first[reaching[self._longest[first[reaching] - 1] >= least]] -= 1
        last = np.maximum(np.searchsorted(self._begins, stop), first)
        spans = [slice(*span) for span in zip(first.tolist(), last.tolist(), strict=True)]
        row = np.repeat(rows, last - first)
        base = row * self._stride
        begins, ends = (_joined(column, spans) - base for column in (self._begins, self._ends))
        columns = (self._count, self._busy, self.slice, self._longest)
        return Entries(row, begins, ends, *(_joined(column, spans) for column in columns))


def _joined(column: Int64s, spans: Sequence[slice]) -> Int64s:
    # Ranges of a column are copied faster than its elements are gathered.
    return np.concatenate([column[:0], *(column[span] for span in spans)])


def levels(slices: Entries, rows: int, length: int) -> tuple[Level, ...]:
    """The slices themselves, and ever coarser entries of them: of a long stretch, not all slices are gone through."""
    found = [Level(1, slices, rows, length)]
    gaps = np.diff(slices.begin)
    bin_ns = 1 << int(np.median(gaps[gaps > 0])).bit_length() if (gaps > 0).any() else length
    finer = slices
    while bin_ns < length:
        coarser = finer.merged(bin_ns, 0)
        if len(coarser) * FINER <= len(finer):
            found.append(Level(bin_ns, coarser, rows, length))
            finer = coarser
        bin_ns *= COARSER
    return tuple(found)
