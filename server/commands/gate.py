"""`perflab gate`: fails when a commit is slower than its baseline, and says why."""

import argparse
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import NotFound, Refused
from .arguments import ERRORS, add_judging, add_lab, gate_options, open_lab, replace_file

if TYPE_CHECKING:
    from perflab.benchmarks.gate import GateOptions, GateReport

    from ..lab import Lab

PYTEST = ("python", "-m", "pytest", "benchmarks", "-q", "--benchmark-json", "{file}")


class Gate:
    help = "judge a commit: exit code 0 passes, 1 is a regression, 2 could not judge, 3 is a wrong call or a failure"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        against = parser.add_mutually_exclusive_group()
        against.add_argument(
            "--baseline",
            metavar="SHA",
            help="the commit to judge against, or a folder of its runs (default: the nearest measured one behind head)",
        )
        against.add_argument(
            "--history", action="store_true", help="judge against all measured commits behind head, by change points"
        )
        against.add_argument(
            "--against",
            metavar="REF",
            help="a branch, tag or commit: build it beside this tree, and measure both in turn",
        )
        parser.add_argument(
            "--head", metavar="SHA", help="the commit to judge, or a folder (default: what git has checked out here)"
        )
        parser.add_argument(
            "--waivers", type=Path, metavar="FILE", help="regressions that are allowed for a while (TOML)"
        )
        parser.add_argument("--keep", action="store_true", help="keep the report in the lab, where its pages show it")
        parser.add_argument("--soft", action="store_true", help="report a regression, and end with 0 all the same")
        parser.add_argument(
            "--output",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="write the report there too: .md, .json, .txt, or .xml for JUnit; may be given several times",
        )
        turns = parser.add_argument_group("measuring in turn, with --against")
        turns.add_argument("--build", metavar="COMMAND", help="run by the shell in both trees first")
        turns.add_argument(
            "--processes",
            type=int,
            default=24,
            metavar="N",
            help="of each side, at most, for a benchmark that may have changed (default: %(default)s)",
        )
        turns.add_argument(
            "--timeout", type=float, default=600, metavar="SECONDS", help="for one process (default: %(default)s)"
        )
        turns.add_argument(
            "program",
            nargs="*",
            default=PYTEST,
            metavar="-- COMMAND",
            help=f"what a process runs; {{file}} is where it writes its results (default: {' '.join(PYTEST)})",
        )
        add_judging(parser)
        add_lab(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        from perflab.benchmarks import report
        from perflab.benchmarks.gate import Exit
        from perflab.benchmarks.waivers import Waivers, read, waive

        forms = [_form(path) for path in arguments.output]
        waivers = read(arguments.waivers) if arguments.waivers else Waivers()
        renamed = {each.was: each.benchmark for each in waivers.renamed}
        judged = waive(_judged(arguments, replace(gate_options(arguments), renamed=renamed)), waivers, date.today())
        for path, form in zip(arguments.output, forms, strict=True):
            replace_file(path, form(judged))
        print(report.text(judged), end="")
        if arguments.keep:
            _keep(arguments, judged)
        return Exit.PASS if arguments.soft else judged.exit_code


def _judged(arguments: argparse.Namespace, options: "GateOptions") -> "GateReport":
    if arguments.against is not None:
        from perflab.benchmarks.against import judge_against
        from perflab.benchmarks.interleave import Plan

        plan = Plan(arguments.program, arguments.processes, arguments.timeout)
        return judge_against(Path.cwd(), arguments.against, plan, arguments.build, options, _say)
    if arguments.baseline is not None and Path(arguments.baseline).is_dir():
        from perflab.benchmarks.folder import judge_measured, read

        if arguments.head is None:
            raise Refused("the baseline is a folder of run files; name the folder of the head's with --head")
        return judge_measured(read(Path(arguments.baseline)), read(Path(arguments.head)), options)
    with closing(open_lab(arguments)) as lab:
        try:
            return _in_lab(lab, arguments, options)
        except NotFound as error:
            from perflab.benchmarks.gate import GateReport, Side

            # the first run of all, for one: said in every report, and no pass
            sides = Side(arguments.baseline or "", 0), Side(arguments.head or "", 0)
            return GateReport(*sides, None, options, problem=_sentence(error))


def _keep(arguments: argparse.Namespace, judged: "GateReport") -> None:
    from ..git import origin

    project = arguments.project or origin(Path.cwd()).project
    if project is None:
        raise Refused("this folder has no name that could be the project's; name it with --project")
    with closing(open_lab(arguments, create=True)) as lab:
        kept = lab.keep_judgement(project, judged)
    print(f"Kept as gate {kept.id} of {kept.project}.")


def _in_lab(lab: "Lab", arguments: argparse.Namespace, options: "GateOptions") -> "GateReport":
    if arguments.baseline is not None:
        return lab.compare(arguments.baseline, arguments.head or _checked_out(), arguments.project, options).report
    from perflab.benchmarks.collector import collector_rests
    from perflab.benchmarks.gate import Exit
    from perflab.benchmarks.git import suspected

    from ..ancestry import behind, judge_behind, nearest

    here = Path.cwd()
    found = behind(lab, arguments.project, here, arguments.head)
    if arguments.history:
        # All its results stay until the end: of 300 benchmarks at 500 commits, collecting took a quarter of the time.
        with collector_rests():
            return judge_behind(lab, found, here, options)
    base, notes = nearest(found, here)
    report = lab.compare(base, found.head, found.project, options).report
    if report.exit_code == Exit.REGRESSION:
        notes.append(suspected(here, base, found.head))
    return replace(report, notes=(*notes, *report.notes))


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[0].upper()}{text[1:]}."


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def _checked_out() -> str:
    from ..git import origin

    commit = origin(Path.cwd()).commit
    if commit is None:
        raise Refused("git has no commit checked out here; name the commit to judge with --head")
    return commit


def _form(path: Path) -> "Callable[[GateReport], str]":
    """How the report is written to a file of that name."""
    from perflab.benchmarks import report
    from perflab.benchmarks.junit import junit

    forms = {".md": report.markdown, ".json": report.json_text, ".txt": report.text, ".xml": junit}
    if path.suffix not in forms:
        raise Refused(f"{path} tells no form of report; name a file that ends in {', '.join(sorted(forms))}")
    return forms[path.suffix]
