"""`perflab report`: what a trace shows, in words and tables."""

import argparse
import os
import sys
from pathlib import Path

_WIDTH = 120


class Report:
    help = "say what a trace shows: steps, ops, devices, memory, the GIL, and what to do first"
    errors = (OSError,)

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("trace", type=Path, metavar="TRACE", help="a trace file of perflab or another profiler")
        parser.add_argument("--base", type=Path, metavar="TRACE", help="an older trace: say what changed since")
        parser.add_argument(
            "--format", choices=("text", "markdown", "json"), default="text", help="(default: %(default)s)"
        )
        words = "what the machine of the trace can do, from `perflab machine` (default: of this machine, where known)"
        parser.add_argument("--ceilings", type=Path, metavar="FILE", help=words)

    def run(self, arguments: argparse.Namespace) -> int:
        from .. import ceilings, chrome
        from ..report.answers import answers

        roof = None
        if arguments.ceilings is not None:
            roof = ceilings.load(arguments.ceilings)
        elif ceilings.default_path().exists():
            roof = ceilings.load(ceilings.default_path())
        base = chrome.read(arguments.base) if arguments.base is not None else None
        found = answers(chrome.read(arguments.trace), roof, base)
        title = arguments.trace.name
        if arguments.format == "json":
            import json
            from dataclasses import asdict

            print(json.dumps({"trace": title, **asdict(found)}, indent=2))
            return 0
        from ..report.sections import sections

        if arguments.format == "markdown":
            from ..report.markdown import markdown

            print(markdown(sections(found), title), end="")
            return 0
        from rich.console import Console

        from ..report.terminal import show

        # into a file or a log it is wide enough for most names
        width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH
        show(sections(found), title, Console(file=sys.stdout, highlight=False, width=width))
        return 0
