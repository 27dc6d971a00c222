"""`perflab lab`: what is done to a lab as a whole."""

import argparse
from pathlib import Path

from ..errors import Refused
from ..settings import DEFAULT_NEWEST, DEFAULT_THIN, Settings
from .arguments import ERRORS, add_folder

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Lab:
    help = "make room in a lab (docs/team.md)"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        gc = parser.add_subparsers(required=True, metavar="WHAT").add_parser(
            "gc", help="remove traces that no rule keeps; results of benchmarks stay"
        )
        gc.add_argument(
            "--newest", type=whole, default=DEFAULT_NEWEST, help="a project's commits that stay (%(default)s)"
        )
        gc.add_argument("--thin", type=whole, default=DEFAULT_THIN, help="of older ones, one in so many (%(default)s)")
        gc.add_argument("--tags", type=Path, metavar="DIR", help="a git checkout, whose tagged commits stay")
        gc.add_argument("--quota", type=size, metavar="SIZE", help="such as 50G: then the oldest of the rest go, too")
        gc.add_argument("--dry-run", action="store_true", help="only say what would go, and why")
        add_folder(gc)

    def run(self, arguments: argparse.Namespace) -> int:
        from contextlib import closing

        from ..blobs import open_blobs
        from ..retention import Rules, leaving, remove
        from ..store import Store
        from .sql import aligned

        if arguments.thin == 0:
            raise Refused("--thin is 0, and one in no commits is none; give 1 to keep every commit")
        settings = Settings.from_environment(arguments.lab)
        named = frozenset(_tagged(arguments.tags)) if arguments.tags else frozenset()
        rules = Rules(newest=arguments.newest, thin=arguments.thin, named=named, quota=arguments.quota)
        blobs = open_blobs(settings)
        with closing(Store.open(settings, create=False)) as store:
            going = leaving(store, blobs, rules)
            rows = [
                [run.project, run.commit[:12], f"{run.created:%Y-%m-%d}", trace.id, trace.name, freed, why]
                for run, trace, freed, why in ((each.run, each.trace, each.bytes, each.why) for each in going)
            ]
            if rows:
                columns = ["project", "commit", "measured", "trace", "file", "bytes", "why"]
                print(aligned(columns, rows))
            if not arguments.dry_run:
                remove(store, blobs, going)
        freed = sum(each.bytes for each in going)
        would = "would go" if arguments.dry_run else "gone"
        print(f"{len(going)} trace{'' if len(going) == 1 else 's'} {would}, {freed:,} bytes")
        return 0


def _tagged(folder: Path) -> list[str]:
    from perflab.benchmarks.git import git

    return git(folder, "log", "--no-walk", "--tags", "--format=%H").splitlines()


def whole(text: str) -> int:
    """A number of commits."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of commits; give 0 or more")
    return int(text)


def size(text: str) -> int:
    """Bytes, as in 50G."""
    number, unit = (text[:-1], text[-1].upper()) if text and text[-1].isalpha() else (text, "")
    if not number.isdecimal() or unit not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; give bytes, or as in 500M or 50G")
    return int(number) * UNITS[unit]
