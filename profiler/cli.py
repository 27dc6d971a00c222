"""The `perflab` command. Its sub-commands are entry points of the group `perflab.commands`.

A sub-command's module is imported when it is called, and for `perflab --help`, so it must import little at its top.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import NoReturn, Protocol

from .errors import ProfilerError

GROUP = "perflab.commands"
FAILED = 3  # 1 and 2 are verdicts of a gate
INTERRUPTED = 130


class Command(Protocol):
    """A sub-command: an entry point names the class, whose name there is the word on the command line.

    `errors` are the exceptions whose message is all that a user should see; the command ends with exit code 3 then.
    """

    help: str
    errors: tuple[type[Exception], ...]

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Do the work; the exit code."""
        ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `perflab` with these arguments (of the process, by default); the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    points = {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}
    called = [given[0]] if given and given[0] in points else list(points)
    commands = {name: _load(points[name]) for name in called}
    parsed = _parser(commands).parse_args(given)
    command = commands[parsed.command]
    errors: tuple[type[Exception], ...] = (ProfilerError, *command.errors)
    try:
        code = command.run(parsed)
        sys.stdout.flush()
    except errors as error:
        print(f"perflab: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output is gone; without this, Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


class _Parser(argparse.ArgumentParser):
    """A wrong call ends with the exit code of every other failure; argparse's own is a verdict here."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(FAILED, f"{self.prog}: error: {message}\n")


def _load(point: EntryPoint) -> Command:
    command: Command = point.load()()
    return command


def _parser(commands: dict[str, Command]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="perflab",
        description="Traces and benchmark results of training loops: keep them, compare them, fail on what got slower.",
    )
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in commands.items():
        command.prepare_parser(parsers.add_parser(name, help=command.help, description=command.help))
    return parser
