"""The report as Markdown, for a pull request or an issue."""

from collections.abc import Sequence

from .section import Section, Table


def markdown(found: Sequence[Section], title: str) -> str:
    """A heading for the trace and one for each section; tables in the form that GitHub reads."""
    blocks = [f"# {title}"]
    for section in found:
        blocks += [f"## {section.title}", *section.sentences, *(_table(table) for table in section.tables)]
    return "\n\n".join(blocks) + "\n"


def _table(table: Table) -> str:
    rule = ("---", *("---:" for _ in table.headings[1:]))
    return "\n".join(_row(cells) for cells in (table.headings, rule, *table.rows))


def _row(cells: Sequence[str]) -> str:
    text = " | ".join(cell.replace("|", "\\|") for cell in cells)
    return f"| {text} |"
