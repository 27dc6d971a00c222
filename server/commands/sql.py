"""`perflab sql`: asks a question in SQL, of traces or of a lab."""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import ERRORS, add_lab, open_lab

if TYPE_CHECKING:
    from ..schema import Answer

_WIDEST = 60


class Sql:
    help = "ask a question in SQL, of trace files or of a lab (docs/sql.md has examples)"
    errors = (*ERRORS, OSError)

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("query", metavar="QUERY", help="one SELECT")
        parser.add_argument("files", type=Path, metavar="FILE", nargs="*", help="traces; without any, a lab is asked")
        parser.add_argument("--project", help="only runs of this project")
        parser.add_argument(
            "--commits", metavar="A..B", help="only runs of the commits after A up to B, or of one commit"
        )
        parser.add_argument("--trace", type=int, metavar="ID", help="only this trace of the lab")
        add_lab(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        if arguments.files:
            answer = _of_files(arguments.query, arguments.files)
        else:
            with closing(open_lab(arguments)) as lab:
                answer = lab.ask(arguments.query, arguments.project, arguments.commits, arguments.trace)
        print(table(answer))
        return 0


def _of_files(query: str, files: list[Path]) -> "Answer":
    from perflab.profiler.sql_process import ask
    from perflab.profiler.trace_tables import Columns

    from ..schema import Answer

    with ExitStack() as stack:
        opened = {number: stack.enter_context(open(path, "rb")) for number, path in enumerate(files, 1)}
        tables: dict[str, Columns] = {"traces": {"trace": list(opened), "name": [path.name for path in files]}}
        found = ask(query, opened, tables)
    return Answer(**asdict(found))


def table(answer: "Answer") -> str:
    """The answer as aligned columns."""
    lines = [aligned(answer.columns, answer.rows)]
    if answer.cut:
        lines.append(f"(the first {len(answer.rows):,} rows; there are more)")
    return "\n".join(lines)


def aligned(columns: Sequence[str], found: Sequence[Sequence[Any]]) -> str:
    """Rows under the names of their columns, numbers to the right."""
    rows = [columns, *([_text(value) for value in row] for row in found)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(columns))]
    right = [
        all(isinstance(row[place], int | float | None) for row in found) and bool(found)
        for place in range(len(columns))
    ]
    lines = [
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:,.6g}" if isinstance(value, float) else str(value)
    text = "".join(char if char.isprintable() else "?" for char in text)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."
