"""`perflab upload`: gives a file, or what a folder holds, to a lab."""

import argparse
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from .arguments import ERRORS, add_lab, open_lab
from .progress import Progress

if TYPE_CHECKING:
    from ..schema import Upload as Taken


class Upload:
    help = "give a lab a trace, results of benchmarks, or a folder of either"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, metavar="FILE", help="a file, or a folder of results or of ranks' traces"
        )
        parser.add_argument("--project", help="default: what the file says, else the name of the checkout's folder")
        parser.add_argument("--commit", metavar="SHA", help="default: what the file says, else what is checked out")
        parser.add_argument("--branch", help="default: what the file says, else what is checked out")
        parser.add_argument(
            "--strict", action="store_true", help="refuse a trace that the doctor does not call healthy"
        )
        add_lab(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        from ..folders import files_of
        from ..git import facts, origin
        from ..schema import Label, Origin

        given: Path = arguments.file
        if arguments.strict:
            _refuse_unhealthy(given)
        said = Origin(project=arguments.project, commit=arguments.commit, branch=arguments.branch)
        fallback = origin(Path.cwd())
        with TemporaryDirectory() as made, closing(open_lab(arguments, create=True)) as lab:
            for file in files_of(given, Path(made)) if given.is_dir() else [given]:
                with Progress(f"uploading {file.name}") as progress:
                    taken = lab.upload(file, Label(name=file.name, said=said, fallback=fallback), progress)
                    told = facts(Path.cwd(), taken.commit)
                    if told is not None:
                        lab.describe(taken.project, [told])
                _tell(taken, given)
        return 0


def _refuse_unhealthy(given: Path) -> None:
    from perflab.benchmarks import formats
    from perflab.profiler.doctor import examine
    from perflab.profiler.importers import read

    from ..errors import Refused

    if given.is_file() and formats.holds_results(given):
        return
    report = examine(read(given))
    if report.verdict != "healthy":
        raise Refused(f"{given.name} is {report.sentence.rstrip('.')}; without --strict it is taken as it is")


def _tell(taken: "Taken", given: Path) -> None:
    what = "a trace" if taken.kind == "trace" else f"{taken.results} result{'' if taken.results == 1 else 's'}"
    known = "" if taken.new else " (the lab had this file already)"
    print(f"{taken.name}: {what} of {taken.project} at {taken.commit[:12]}, run {taken.run}{known}")
    if taken.health not in (None, "healthy"):
        print(f"{taken.health} `perflab doctor {given}` says more.")
