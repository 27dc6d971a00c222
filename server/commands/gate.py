"""`perflab gate`: fails when a commit is slower than its baseline, and says why."""

import argparse
import json
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Refused
from .arguments import ERRORS, add_judging, add_lab, gate_options, open_lab

if TYPE_CHECKING:
    from perflab.benchmarks.gate import GateReport


class Gate:
    help = "judge a commit against a baseline: exit code 0 passes, 1 is a regression, 2 could not judge"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--baseline", required=True, metavar="SHA", help="the commit to judge against")
        parser.add_argument(
            "--head", metavar="SHA", help="the commit to judge (default: what git has checked out here)"
        )
        parser.add_argument(
            "--format", choices=("text", "markdown", "json"), default="text", help="default: %(default)s"
        )
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="write the report there, and text to the terminal"
        )
        add_judging(parser)
        add_lab(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        options = gate_options(arguments)
        head = arguments.head or _checked_out()
        with closing(open_lab(arguments)) as lab:
            comparison = lab.compare(arguments.baseline, head, arguments.project, options)
        if arguments.output is None:
            print(_written(comparison.report, arguments.format), end="")
        else:
            _replace(arguments.output, _written(comparison.report, arguments.format))
            print(_written(comparison.report, "text"), end="")
        return comparison.exit_code


def _checked_out() -> str:
    from ..git import origin

    commit = origin(Path.cwd()).commit
    if commit is None:
        raise Refused("git has no commit checked out here; name the commit to judge with --head")
    return commit


def _written(judged: "GateReport", form: str) -> str:
    from perflab.benchmarks import report

    if form == "json":
        return json.dumps(report.as_json(judged), indent=2, allow_nan=False) + "\n"
    return report.markdown(judged) if form == "markdown" else report.text(judged)


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise Refused(f"the report cannot be written to {path} ({error.strerror}); name another file") from error
