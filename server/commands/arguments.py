"""Arguments that commands share, and the lab and commits that they name."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from perflab.benchmarks.errors import BenchmarkError

from ..errors import LabError, Refused
from ..settings import DEFAULT_LAB, TOKEN, Settings

if TYPE_CHECKING:
    from perflab.benchmarks.gate import GateOptions

    from ..lab import Lab

ERRORS: tuple[type[Exception], ...] = (LabError, BenchmarkError)


def add_lab(parser: argparse.ArgumentParser) -> None:
    """--server and --lab."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--server",
        metavar="URL",
        help=f"a running server, as in http://127.0.0.1:8765; ${TOKEN} holds the token, where it asks for one",
    )
    add_folder(group)


def add_folder(parser: argparse._ActionsContainer) -> None:
    """--lab."""
    parser.add_argument(
        "--lab", metavar="DIR", type=Path, default=DEFAULT_LAB, help="folder of the embedded lab (default: %(default)s)"
    )


def add_judging(parser: argparse.ArgumentParser) -> None:
    """--project, --alpha and --min-effect."""
    parser.add_argument("--project", help="where the lab has the commits in several projects")
    parser.add_argument(
        "--alpha",
        type=float,
        metavar="P",
        help="chance that identical code fails, over all benchmarks together (default: 0.05)",
    )
    parser.add_argument(
        "--min-effect", type=float, metavar="SHARE", help="smallest change that matters (default: 0.03, which is 3 %%)"
    )


def open_lab(arguments: argparse.Namespace, *, create: bool = False) -> "Lab":
    """The lab that --server or --lab names."""
    if arguments.server is not None:
        from ..client import Client

        return Client(arguments.server)
    from ..lab import LocalLab

    return LocalLab.open(Settings.from_environment(arguments.lab), create=create)


def gate_options(arguments: argparse.Namespace) -> "GateOptions":
    """The options that --alpha and --min-effect give."""
    from perflab.benchmarks.gate import GateOptions

    given = {"alpha": arguments.alpha, "min_effect": arguments.min_effect}
    return GateOptions(**{name: value for name, value in given.items() if value is not None})


def replace_file(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise Refused(f"nothing can be written to {path} ({error.strerror}); name another file") from error
