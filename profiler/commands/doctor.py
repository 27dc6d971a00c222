"""`perflab doctor`: says what is wrong with a trace file."""

import argparse
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..doctor import Report

UNFIT = 1
_WIDTH = 110


class Doctor:
    help = "say what is wrong with a trace, what that means for its numbers, and what to do"
    errors: tuple[type[Exception], ...] = (OSError,)

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a trace of any tool, packed or not")
        parser.add_argument(
            "--repair",
            type=Path,
            metavar="OUT",
            help="write what could be read as Chrome JSON, or for Perfetto where the name ends in .pftrace",
        )
        parser.add_argument("--strict", action="store_true", help="exit with 1 unless the trace is healthy")

    def run(self, arguments: argparse.Namespace) -> int:
        from .. import chrome_write, perfetto
        from ..doctor import examine
        from ..importers import read

        found = read(arguments.file)
        report = examine(found)
        print(told(arguments.file.name, report))
        if arguments.repair is not None:
            write = perfetto.write if arguments.repair.suffix == ".pftrace" else chrome_write.write
            write(found.trace, arguments.repair)
            print(f"\nwrote {arguments.repair}")
        return UNFIT if arguments.strict and report.verdict != "healthy" else 0


def told(name: str, report: "Report") -> str:
    """The report as text for a terminal."""
    counted = f"{_counted(report.slices, 'slice')} on {_counted(report.tracks, 'track')}"
    lines = [f"{name}: {report.verdict}", f"{report.format}, {counted}"]
    for finding in report.findings:
        lines += ["", fill(f"{finding.severity}: {finding.what}", _WIDTH)]
        lines.append(fill(finding.advice, _WIDTH, initial_indent="  ", subsequent_indent="  "))
        lines += [f"  - {example}" for example in finding.examples]
    return "\n".join(lines)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
