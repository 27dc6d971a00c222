"""The heat table of benchmarks by commits: how each cell looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from markupsafe import Markup

# From which change, as a share, a colour is deeper.
DEPTHS = (0.0, 0.05, 0.1, 0.25)


@dataclass(frozen=True)
class GridCell:
    """A benchmark at a commit: its value over the baseline; `worse` is None where that is not significant."""

    ratio: float
    worse: bool | None


@dataclass(frozen=True, kw_only=True)
class GridRow:
    """A benchmark over the commits shown; None where it was not measured. `title` follows on `suite`, which ends with
    `::` or is empty. `base` is the level that it is held against,
    `base_commit` the newest commit on it."""

    suite: str
    title: str
    address: str
    unit: str
    base: float
    base_commit: str
    cells: Sequence[GridCell | None]

    @property
    def tenths(self) -> str:
        """The change of each cell in tenths of a percent."""
        return ",".join("" if cell is None else str(round((cell.ratio - 1) * 1000)) for cell in self.cells)


def cells(row: GridRow) -> Markup:
    """The cells of a row as HTML. A table has thousands, so each is as short as can be."""
    return Markup("".join(map(_cell, row.cells)))


def _cell(cell: GridCell | None) -> str:
    if cell is None:
        return "<td class=n>"
    text = f"{(cell.ratio - 1) * 100:+.0f}".replace("-", "\N{MINUS SIGN}")
    if text[1:] == "0":
        text = "0"
    if cell.worse is None:
        return f"<td>{text}"
    change = abs(log(cell.ratio))
    depth = sum(change >= log(1 + least) for least in DEPTHS)
    return f"<td class={'w' if cell.worse else 'b'}{depth}>{text}"
