"""Cuts what the recorder left, thread by thread, into stretches of time.

Most of a thread's events begin after the one before them. What encloses others is recorded when it ends, far behind
them: so a piece of events is looked at for every stretch in which some of it begin.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .events import EVENT, OP
from .trace import Int64s

_PIECE = 1 << 14  # events; about as many begin in one stretch
_BLOCK = np.dtype(f"V{EVENT.itemsize}")  # copied at once; numpy copies records field by field, ten times as slowly


@dataclass(frozen=True, slots=True)
class Stretch:
    """Events of any threads; the columns have one length."""

    events: NDArray[np.void]
    thread: Int64s
    number: Int64s  # of the event in the recording, from 0

    def __len__(self) -> int:
        return len(self.number)

    def __getitem__(self, name: str) -> NDArray[Any]:
        column: NDArray[Any] = self.events[name]
        return column

    def at(self, chosen: NDArray[Any]) -> "Stretch":
        """The events at places, or where a mask is true."""
        places = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        events = self.events.view(_BLOCK).take(places).view(EVENT)
        return Stretch(events, self.thread.take(places), self.number.take(places))

    @staticmethod
    def joined(parts: Sequence["Stretch"]) -> "Stretch":
        if len(parts) == 1:
            return parts[0]
        columns = zip(*((part.events.view(_BLOCK), part.thread, part.number) for part in parts), strict=True)
        events, thread, number = (np.concatenate(column) for column in columns)
        return Stretch(events.view(EVENT), thread, number)


NOTHING = Stretch(np.empty(0, dtype=EVENT), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of a thread's events, one after the other."""

    thread: int
    number: int  # of the first of them
    events: NDArray[np.void]

    def whole(self) -> Stretch:
        number = np.arange(self.number, self.number + len(self.events))
        stretch = Stretch(self.events, np.full(len(number), self.thread), number)
        is_event = self.events["kind"] > 0
        return stretch if is_event.all() else stretch.at(is_event)


def cut(recorded: Sequence[tuple[int, NDArray[np.void]]], number: int = 0) -> Iterator[Piece]:
    """All events, in pieces of bounded size; the first has this number."""
    for thread, events in recorded:
        for begin in range(0, len(events), _PIECE):
            yield Piece(thread, number + begin, events[begin : begin + _PIECE])
        number += len(events)


@dataclass(frozen=True, slots=True)
class Placed:
    """A piece and when (ns) the first, the earliest and the latest of its events begin."""

    piece: Piece
    first: int
    low: int
    high: int

    def between(self, begin: float, until: float, ns: Callable[[Int64s], Int64s]) -> Stretch:
        """The events that begin in [begin, until)."""
        stretch = self.piece.whole()
        if self.low >= begin and self.high < until:
            return stretch
        begins = ns(stretch["t0"])
        return stretch.at((begins >= begin) & (begins < until))


def stretches(
    found: list[Placed], ns: Callable[[Int64s], Int64s], cuts: Iterable[int] = ()
) -> Iterator[tuple[Stretch, float]]:
    """Stretches in the order of time, each with the ns before which its events begin; the last has infinity.

    Pieces are taken out of `found` when all of their events have come. `cuts` are further moments to cut at.
    """
    begin = -math.inf
    for until in (*sorted({placed.first for placed in found} | set(cuts))[1:], math.inf):
        parts = [placed.between(begin, until, ns) for placed in found if placed.low < until and placed.high >= begin]
        yield Stretch.joined(parts or [NOTHING]), until
        found[:] = [placed for placed in found if placed.high >= until]
        begin = until


def portions(
    found: list[Placed], ns: Callable[[Int64s], Int64s], cuts: Iterable[int] = ()
) -> Iterator[tuple[Stretch, Stretch, float]]:
    """Stretches, the ops whose kernel begins in each, and where it ends."""
    running = NOTHING  # ops whose kernel is still to come
    for stretch, until in stretches(found, ns, cuts):
        running = Stretch.joined((running, stretch.at(stretch["kind"] == OP)))
        ready = kernel_begins(running, ns) < until
        middle, running = running.at(ready), running.at(~ready)
        # of one moment: as recorded, wherever a stretch was cut
        yield stretch, middle.at(np.argsort(middle.number)), until


def kernel_begins(events: Stretch, ns: Callable[[Int64s], Int64s]) -> Int64s:
    """When kernels begin. One that ends on its first tick begins inside its op still."""
    return np.minimum(ns(events["t1"]), np.maximum(ns(events["t0"]), ns(events["t2"]) - 1))
