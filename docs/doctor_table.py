"""Writes what the doctor says of each trace in a folder into docs/importers.md: python docs/doctor_table.py FOLDER"""

import sys
from pathlib import Path

from perflab.profiler import TraceFormatError, importers
from perflab.profiler.doctor import examine

PAGE = Path(__file__).with_name("importers.md")
HEADING = "| file | format | the doctor says |\n|---|---|---|\n"


def row(path: Path) -> str:
    """One line of the table."""
    try:
        report = examine(importers.read(path))
    except TraceFormatError as error:
        return f"| {path.name} | refused | {str(error).removeprefix(f'{path.name}: ')} |"
    told = " ".join(finding.what for finding in report.findings) or "Nothing."
    return f"| {path.name} | {report.format} | {report.verdict}. {told} |"


def table(folder: Path) -> str:
    """The whole table."""
    return HEADING + "".join(f"{row(path)}\n" for path in sorted(folder.iterdir()))


def replaced(page: str, made: str) -> str:
    """The page with its table replaced."""
    before, after = page.split(HEADING)
    return before + made + after[after.index("\n## ") :]


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), table(Path(sys.argv[1]))), encoding="utf-8")
