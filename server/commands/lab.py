"""`perflab lab`: what is done to a lab as a whole."""

import argparse
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Refused
from ..settings import DEFAULT_NEWEST, DEFAULT_THIN, Settings
from .arguments import ERRORS, add_folder

if TYPE_CHECKING:
    from ..blobs import Blobs
    from ..store import Store

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
WHO = "the command line"


class Lab:
    help = "make room in a lab, and say what stays (docs/team.md)"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")
        words = "remove traces that no rule keeps, and files that nothing has; results of benchmarks stay"
        gc = kinds.add_parser("gc", help=words, description=words)
        gc.add_argument("--tags", type=Path, metavar="DIR", help="a git checkout, whose tagged commits stay")
        gc.add_argument("--dry-run", action="store_true", help="only say what would go, and why")
        words = "the rules by which `gc` and workers make room: set one, or list them"
        rule = kinds.add_parser("rule", help=words, description=words)
        rule.add_argument("--project", help="the rule of a project (default: of all that have none)")
        rule.add_argument("--drop", action="store_true", help="take the rule away")
        for kind in (gc, rule):
            kind.add_argument("--newest", type=whole, help=f"a project's commits that stay ({DEFAULT_NEWEST})")
            kind.add_argument("--thin", type=whole, help=f"of older ones, one in so many ({DEFAULT_THIN})")
            kind.add_argument(
                "--quota", type=size, metavar="SIZE", help="such as 50G: then the oldest of the rest go, too"
            )
            add_folder(kind)

    def run(self, arguments: argparse.Namespace) -> int:
        from ..blobs import open_blobs
        from ..store import Store

        if arguments.thin == 0:
            raise Refused("--thin is 0, and one in no commits is none; give 1 to keep every commit")
        settings = Settings.from_environment(arguments.lab)
        with closing(Store.open(settings, create=False)) as store:
            if arguments.kind == "gc":
                _collect(store, open_blobs(settings), arguments)
            else:
                _rule(store, arguments)
        return 0


def _collect(store: "Store", blobs: "Blobs", arguments: argparse.Namespace) -> None:
    from ..keeping import Rule
    from ..retention import leaving, make_room, orphans, removed
    from .sql import aligned

    rules: list[Rule] = store.keeping.rules()
    if given := _given(arguments):  # for the whole lab, whatever its rules say
        rules = [replace(next((rule for rule in rules if rule.project is None), Rule()), **given)]
    named = frozenset(_tagged(arguments.tags)) if arguments.tags else frozenset()
    going = leaving(store, blobs, rules or [Rule()], named)
    files = orphans(store, blobs)
    rows = [
        [run.project, run.commit[:12], f"{run.created:%Y-%m-%d}", trace.id, trace.name, freed, why]
        for run, trace, freed, why in ((each.run, each.trace, each.bytes, each.why) for each in going)
    ]
    rows += [["", "", "", "", sha256[:12], freed, "no upload has it"] for sha256, freed in files.items()]
    if rows:
        print(aligned(["project", "commit", "measured", "trace", "file", "bytes", "why"], rows))
    if arguments.dry_run:
        print(f"would go: {removed(going, files)}")
        return
    gone = make_room(store, blobs, going, files)
    store.register.record(WHO, "make room", str(gone))
    print(f"gone: {gone}")


def _rule(store: "Store", arguments: argparse.Namespace) -> None:
    from ..keeping import Rule

    keeping = store.keeping
    given = _given(arguments)
    if arguments.drop:
        keeping.drop_rule(arguments.project)
        store.register.record(WHO, "drop retention", arguments.project or "the lab")
    elif given or arguments.project:
        now = next((rule for rule in keeping.rules() if rule.project == arguments.project), Rule())
        rule = replace(now, project=arguments.project, **given)
        keeping.set_rule(rule)
        store.register.record(WHO, "set retention", str(rule))
    for rule in keeping.rules():
        print(rule)
    if not keeping.rules():
        print("no rules: workers remove no traces")


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """What of a rule the arguments say."""
    return {name: value for name in ("newest", "thin", "quota") if (value := getattr(arguments, name)) is not None}


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
