"""The report for a terminal, with rich."""

from collections.abc import Sequence

import rich.table
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from .section import Section, Table

_INDENT, _NARROWEST = 2, 14


def show(found: Sequence[Section], title: str, console: Console) -> None:
    """Print it. Names in a trace are shown as they are: none is markup."""
    console.print(Text(title, style="bold"))
    for section in found:
        console.print(Text(f"\n{section.title}", style="bold cyan"))
        for sentence in section.sentences:
            console.print(Padding(Text(sentence), (0, 0, 0, _INDENT)))
        for table in section.tables:
            console.print(Padding(_drawn(table, console.width - _INDENT), (0, 0, 0, _INDENT)))


def _drawn(table: Table, width: int) -> rich.table.Table:
    """Numbers are shown whole, the names before them get the room that is left; what has none is left out."""
    numbers = [max(map(len, column)) for column in zip(table.headings, *table.rows, strict=True)][1:]
    while len(numbers) > 1 and _left(width, numbers) < _NARROWEST:
        numbers.pop()
    names = max(_left(width, numbers), _NARROWEST)
    drawn = rich.table.Table(box=SIMPLE_HEAD, header_style="dim", padding=(0, 1, 0, 0), pad_edge=False)
    drawn.add_column(Text(table.headings[0]), overflow="ellipsis", no_wrap=True, max_width=names)
    for heading, cells in zip(table.headings[1:], numbers, strict=False):
        drawn.add_column(Text(heading), justify="right", no_wrap=True, min_width=cells)
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row[: len(numbers) + 1]))
    return drawn


def _left(width: int, numbers: Sequence[int]) -> int:
    """Room for names: each column has a space and a line of one, the table two at its edges."""
    return width - sum(numbers) - 2 * (len(numbers) + 1) - 2
