"""`perflab upload`: gives a file to a lab."""

import argparse
from contextlib import closing
from pathlib import Path

from .arguments import ERRORS, add_lab, open_lab
from .progress import Progress


class Upload:
    help = "give a lab a trace or what pytest-benchmark --benchmark-json wrote"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--project", help="default: what the file says, else the name of the checkout's folder")
        parser.add_argument("--commit", metavar="SHA", help="default: what the file says, else what is checked out")
        parser.add_argument("--branch", help="default: what the file says, else what is checked out")
        add_lab(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        from ..git import facts, origin
        from ..schema import Label, Origin

        file: Path = arguments.file
        label = Label(
            name=file.name,
            said=Origin(project=arguments.project, commit=arguments.commit, branch=arguments.branch),
            fallback=origin(Path.cwd()),
        )
        with closing(open_lab(arguments, create=True)) as lab, Progress(f"uploading {file.name}") as progress:
            taken = lab.upload(file, label, progress)
            told = facts(Path.cwd(), taken.commit)
            if told is not None:
                lab.describe(taken.project, [told])
        what = "a trace" if taken.kind == "trace" else f"{taken.results} result{'' if taken.results == 1 else 's'}"
        known = "" if taken.new else " (the lab had this file already)"
        print(f"{taken.name}: {what} of {taken.project} at {taken.commit[:12]}, run {taken.run}{known}")
        if taken.health not in (None, "healthy"):
            print(f"{taken.health} `perflab doctor {file}` says more.")
        return 0
