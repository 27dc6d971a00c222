"""The report for a terminal, with rich."""

from collections.abc import Sequence

import rich.table
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from .sections import Section, Table


def show(found: Sequence[Section], title: str, console: Console) -> None:
    """Print it. Names in a trace are shown as they are: none is markup."""
    console.print(Text(title, style="bold"))
    for section in found:
        console.print(Text(f"\n{section.title}", style="bold cyan"))
        for sentence in section.sentences:
            console.print(Padding(Text(sentence), (0, 0, 0, 2)))
        for table in section.tables:
            console.print(Padding(_drawn(table), (0, 0, 0, 2)))


def _drawn(table: Table) -> rich.table.Table:
    drawn = rich.table.Table(box=SIMPLE_HEAD, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
    for place, heading in enumerate(table.headings):
        drawn.add_column(Text(heading), justify="right" if place else "left", overflow="ellipsis", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn
