"""`perflab memory`: what a snapshot of an allocator shows."""

import argparse
from pathlib import Path

from ..errors import LabError
from .arguments import replace_file


class Memory:
    help = "look at a snapshot of an allocator: what is in use, and why the rest is not given back"
    errors: tuple[type[Exception], ...] = (LabError, OSError)

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
        words = "segments and blocks at one moment: what is in use, and why the rest is not given back"
        snapshot = kinds.add_parser("snapshot", help=words, description=words)
        files = "a memory snapshot of torch, or rt.memory.memory_snapshot() as JSON"
        snapshot.add_argument("file", type=Path, metavar="FILE", help=files)
        snapshot.add_argument("--format", choices=("text", "json"), default="text", help="(default: %(default)s)")
        drawn = "also draw it, as a page that needs no server and no network"
        snapshot.add_argument("--html", type=Path, metavar="FILE", help=drawn)

    def run(self, arguments: argparse.Namespace) -> int:
        from perflab.profiler import memory_snapshot
        from perflab.profiler.report.snapshot import snapshot_section

        segments = memory_snapshot.read(arguments.file)
        section = snapshot_section(segments)
        if arguments.html is not None:
            from perflab.dashboards.pages import snapshot_page

            replace_file(arguments.html, snapshot_page(arguments.file.name, section, segments))
        if arguments.format == "json":
            import json
            from dataclasses import asdict

            print(json.dumps({"file": arguments.file.name, "segments": [asdict(one) for one in segments]}, indent=2))
            return 0
        import sys

        from rich.console import Console

        from perflab.profiler.report.terminal import show

        show([section], arguments.file.name, Console(file=sys.stdout, highlight=False))
        return 0
