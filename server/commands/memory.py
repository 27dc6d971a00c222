"""`perflab memory`: what other configurations of the allocator would have done, and what a snapshot shows."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import LabError
from .arguments import replace_file

if TYPE_CHECKING:
    from perflab.profiler.report.section import Section

_HTML = "also draw it, as a page that needs no server and no network"


class Memory:
    help = "replay a history of memory by other configurations of the allocator, or look at a snapshot"
    errors: tuple[type[Exception], ...] = (LabError, OSError)

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
        words = "what each configuration of the allocator would have reserved for the same allocations and frees"
        replay = kinds.add_parser("replay", help=words, description=words)
        files = "a trace of perflab or torch.profiler with memory in it, or a memory snapshot of torch"
        replay.add_argument("file", type=Path, metavar="FILE", help=files)
        confs = "as in PERFLAB_ALLOC_CONF, say max_split_size_mb:128 or expandable_segments:True; may be given again"
        replay.add_argument("--conf", action="append", default=[], metavar="CONF", help=confs)
        words = "what the device has, say 80GiB: replays that need more end there (default: no end)"
        replay.add_argument("--capacity", type=_bytes, metavar="BYTES", help=words)
        words = "segments and blocks at one moment: what is in use, what is free and why it is not given back"
        snapshot = kinds.add_parser("snapshot", help=words, description=words)
        files = "a memory snapshot of torch, or rt.memory.memory_snapshot() as JSON"
        snapshot.add_argument("file", type=Path, metavar="FILE", help=files)
        for kind in (replay, snapshot):
            kind.add_argument("--format", choices=("text", "json"), default="text", help="(default: %(default)s)")
            kind.add_argument("--html", type=Path, metavar="FILE", help=_HTML)

    def run(self, arguments: argparse.Namespace) -> int:
        return _replay(arguments) if arguments.kind == "replay" else _snapshot(arguments)


def _replay(arguments: argparse.Namespace) -> int:
    from perflab.profiler import memory_history
    from perflab.profiler.replay import replays
    from perflab.profiler.report.replay import replays_section

    history = memory_history.read(arguments.file)
    found = replays(history, arguments.conf, arguments.capacity)
    section = replays_section(history, found)
    if arguments.html is not None:
        from perflab.dashboards.pages import replay_page

        replace_file(arguments.html, replay_page(arguments.file.name, section, found))
    if arguments.format == "json":
        _print_json({"file": arguments.file.name, "device": history.device, "replays": [one.facts() for one in found]})
    else:
        _show(section, arguments.file.name)
    return 0


def _snapshot(arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    from perflab.profiler import memory_snapshot
    from perflab.profiler.report.snapshot import snapshot_section

    segments = memory_snapshot.read(arguments.file)
    section = snapshot_section(segments)
    if arguments.html is not None:
        from perflab.dashboards.pages import snapshot_page

        replace_file(arguments.html, snapshot_page(arguments.file.name, section, segments))
    if arguments.format == "json":
        _print_json({"file": arguments.file.name, "segments": [asdict(one) for one in segments]})
    else:
        _show(section, arguments.file.name)
    return 0


def _bytes(text: str) -> int:
    """A number of bytes, as in 512MiB."""
    found = re.fullmatch(r"(\d+)(|KiB|MiB|GiB|TiB)", text.replace(" ", ""))
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes: write it as 81920MiB or 80GiB")
    return int(found[1]) << 10 * ("", "KiB", "MiB", "GiB", "TiB").index(found[2])


def _print_json(document: object) -> None:
    import json

    print(json.dumps(document, indent=2))


def _show(section: "Section", title: str) -> None:
    import sys

    from rich.console import Console

    from perflab.profiler.report.terminal import show

    show([section], title, Console(file=sys.stdout, highlight=False))
