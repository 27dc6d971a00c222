"""A section of a report: sentences and tables as text, and how numbers are written in them."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..quantity import BYTES, NANOSECONDS, quantity

FEW = 8  # rows of a table that stands beside others
WIDEST = 60
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text; the first column is words, the others are numbers."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, sentences, and tables below them."""

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


def sparkline(values: Sequence[float]) -> str:
    """A bar for each value, the highest for the largest; from 0, so that small changes look small."""
    top = max(values, default=0)
    return "".join(_BARS[min(int(value / top * len(_BARS)), len(_BARS) - 1)] if top else _BARS[0] for value in values)


def short(name: str) -> str:
    """A name that fits a column; kernels' names of templates are long."""
    return name if len(name) <= WIDEST else f"{name[: WIDEST - 1]}…"


def time(ns: float, signed: bool = False) -> str:
    """A time in words."""
    return quantity(ns, NANOSECONDS, signed)


def size(count: float, signed: bool = False) -> str:
    """Bytes in words."""
    return quantity(count, BYTES, signed)


def share(part: float, whole: float) -> str:
    """A part of a whole."""
    return f"{part / whole:.1%}" if whole else "–"
