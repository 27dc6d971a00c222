"""Columns of text: a slot holds one piece of text per event, and the pieces of a row make the event."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Texts: TypeAlias = NDArray[np.object_]
Slot: TypeAlias = list[str]


def texts(pieces: Iterable[str]) -> Texts:
    """A table of texts for `look_up`."""
    listed = list(pieces)
    table = np.empty(len(listed), dtype=object)
    table[:] = listed
    return table


def look_up(table: Texts, ids: NDArray[Any]) -> Slot:
    """The text of every id."""
    found: Slot = table[ids].tolist()
    return found


def spread(slot: Slot, places: NDArray[np.int64], count: int) -> Slot:
    """A slot of `count` rows with the pieces at `places` and nothing elsewhere."""
    if len(slot) == count:
        return slot
    wide = texts([""]).repeat(count)
    wide[places] = texts(slot)
    listed: Slot = wide.tolist()
    return listed


def decimals(values: NDArray[np.int64]) -> list[Slot]:
    """Slots that spell integers: the digits above the last three, if any has them, and the last three.

    Neighbours in time are alike in their leading digits, so those are spelled once for each run of equal ones.
    """
    if not len(values):
        return [[]]
    if values.min() < 0:
        return [list(map(str, values.tolist()))]
    high, low = np.divmod(values, 1000)
    if not high.any():
        return [look_up(_PLAIN, low)]
    begins = np.flatnonzero(np.diff(high, prepend=-1))
    spelled = texts(str(number) if number else "" for number in high[begins].tolist())
    runs = np.diff(begins, append=len(high))
    return [spelled.repeat(runs).tolist(), look_up(_PLAIN_OR_PADDED, low + 1000 * (high > 0))]


def microseconds(ns: NDArray[np.int64]) -> list[Slot]:
    """Slots that spell nanoseconds as microseconds with three decimals."""
    if len(ns) and ns.min() < 0:
        return [["-" if value < 0 else "" for value in ns.tolist()], *microseconds(np.abs(ns))]
    whole, fraction = np.divmod(ns, 1000)
    return [*decimals(whole), look_up(_FRACTIONS, fraction)]


def join_rows(slots: list[Slot]) -> list[str]:
    """The text of every row."""
    return list(map("".join, zip(*slots, strict=True)))


def join_all(slots: list[Slot]) -> str:
    """The text of all rows, one after the other."""
    width = len(slots)
    pieces = [""] * (width * len(slots[0]))
    for place, slot in enumerate(slots):
        pieces[place::width] = slot
    return "".join(pieces)


_PLAIN = texts(str(number) for number in range(1000))
_PADDED = [f"{number:03d}" for number in range(1000)]
_PLAIN_OR_PADDED = texts([*_PLAIN, *_PADDED])
_FRACTIONS = texts(f".{digits}" for digits in _PADDED)
