"""Begins, ends and arrows of Perfetto's slices, matched once all are read: packets come in any order of time."""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..trace import Int32s, Int64s, Json
from .findings import Findings
from .open_begins import OpenBegins

Column: TypeAlias = "array[Any]"


class Edges:
    """Takes begins and ends. Slices have handles in the order of their begins, ends negative ones."""

    def __init__(self) -> None:
        self._time, self._clock, self._track, self._what = array("q"), array("i"), array("i"), array("q")
        self._begins, self._ends = (array("i"), array("i")), (array("i"), array("i"))  # name and category, -1: none
        self._flows = array("Q"), array("q"), array("b")  # id, row among the edges, whether it is the last
        self.end_args: dict[int, dict[str, Json]] = {}  # by the handle of the end
        self._slice_of: dict[int, int] = {}  # handles of slices by those of ends that have arguments
        self._row_of: Int64s = np.empty(0, dtype=np.int64)  # slice of each edge, -1 of strays
        self._unfinished: list[int] = []

    def begin(self, time: int, clock: int, track: int, name: int, category: int) -> int:
        """Take a begin; the slice's handle."""
        return self._add(time, clock, track, len(self._begins[0]), self._begins, name, category)

    def end(self, time: int, clock: int, track: int, name: int, category: int) -> int:
        """Take an end; its handle."""
        return self._add(time, clock, track, -1 - len(self._ends[0]), self._ends, name, category)

    def _add(
        self,
        time: int,
        clock: int,
        track: int,
        what: int,
        told: tuple[Column, Column],
        name: int,
        category: int,
    ) -> int:
        append(told, name, category)
        append((self._time, self._clock, self._track, self._what), time, clock, track, what)
        return what

    def flows(self, ids: Iterable[int], last_ids: Iterable[int]) -> None:
        """The edge taken last is on these flows, and ends those."""
        row = len(self._what) - 1
        for is_last, chosen in enumerate((ids, last_ids)):
            for number in chosen:
                append(self._flows, number, row, is_last)

    def times(self) -> tuple[Int64s, Int32s]:
        """Time and clock of each edge."""
        time, clock = arrays((self._time, self._clock))
        return time, clock

    def slices(
        self, time: Int64s, last: int, findings: Findings, strings: list[str]
    ) -> tuple[Int64s, Int64s, Int32s, Int32s, Int32s]:
        """Start, duration, track, name and category of each slice; `time` is that of the edges."""
        track, what = arrays((self._track, self._what))
        names, categories = arrays(self._begins)
        start, end = time[what >= 0], np.full(len(names), -1, dtype=np.int64)
        slice_of = np.full(len(what), -1, dtype=np.int64)
        is_end = np.zeros(len(names), dtype=np.bool_)
        order = np.lexsort((time, track))
        opened, before = OpenBegins[int](), -1
        for row, on, handle in zip(order.tolist(), track[order].tolist(), what[order].tolist(), strict=True):
            if on != before:
                self._unfinished += opened.left()
                opened, before = OpenBegins[int](), on
            names_of, categories_of = self._begins if handle >= 0 else self._ends
            at = handle if handle >= 0 else -1 - handle
            name, category = (None if told < 0 else told for told in (names_of[at], categories_of[at]))
            if handle >= 0:
                opened.add(name, category, handle)
                slice_of[row] = handle
                continue
            begun = opened.take(name, category)
            if begun is None:
                told = f"{'' if name is None else strings[name]!r} at {time[row]:,} ns"
                findings.add("stray-end", examples=[(told, int(time[row]))])
                continue
            slice_of[row], end[begun], is_end[begun] = begun, time[row], True
            if handle in self.end_args:
                self._slice_of[handle] = begun
        self._unfinished += opened.left()
        for handle in self._unfinished:
            told = f"{strings[names[handle]] if names[handle] >= 0 else ''!r} from {start[handle]:,} ns"
            findings.add("unfinished", examples=[(told, int(start[handle]))])
        self._row_of = slice_of
        duration = np.where(is_end, end, max(last, 0)) - start
        return start, np.maximum(duration, 0), track[what >= 0], names, categories

    def late_args(self) -> Iterator[tuple[int, dict[str, Json]]]:
        """Arguments of slices that came with their end, or tell that they have none."""
        for end, handle in self._slice_of.items():
            yield handle, self.end_args[end]
        for handle in self._unfinished:
            yield handle, {"unfinished": True}

    def arrows(self, time: Int64s, findings: Findings) -> tuple[Int64s, Int64s, Int64s]:
        """Flow, source and target of each arrow, from each slice of a flow to the next in time."""
        flow, edge, is_last = arrays(self._flows)
        slices = self._row_of[edge]
        findings.add("unbound-flow", int(np.count_nonzero(slices < 0)))
        kept = slices >= 0
        flow, edge, is_last, slices = flow[kept], edge[kept], is_last[kept], slices[kept]
        _, number, count = np.unique(flow, return_inverse=True, return_counts=True)
        lasts = np.bincount(number, is_last, len(count))
        waits = is_last * (lasts == 1)[number]  # the one that ends a flow is its last, whatever the clocks say
        order = np.lexsort((time[edge], waits, number))
        number, is_last, slices = number[order], is_last[order], slices[order]
        leads = (number[1:] == number[:-1]) & (is_last[:-1] == 0)
        lone = np.flatnonzero(count == 1)
        ends = lasts[lone] == 1
        for kind, flows in (("lone-flow-start", lone[~ends]), ("lone-flow-end", lone[ends])):
            findings.add(kind, len(flows))
        return flow[order][1:][leads].astype(np.int64), slices[:-1][leads], slices[1:][leads]


def append(columns: tuple[Column, ...], *values: float) -> None:
    """Add a row to columns."""
    for column, value in zip(columns, values, strict=True):
        column.append(value)


def arrays(columns: Iterable[Column]) -> list[NDArray[Any]]:
    """Columns as arrays of numpy."""
    return [np.array(column) for column in columns]
