"""`perflab compare`: two commits side by side."""

import argparse
from contextlib import closing

from .arguments import ERRORS, add_judging, add_lab, gate_options, open_lab


class Compare:
    help = "compare the results and traces of two commits"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("base", metavar="BASE", help="SHA of the commit to compare with, or its first 7 digits")
        parser.add_argument("head", metavar="HEAD", help="SHA of the commit in question, or its first 7 digits")
        add_judging(parser)
        add_lab(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        options = gate_options(arguments)
        with closing(open_lab(arguments)) as lab:
            comparison = lab.compare(arguments.base, arguments.head, arguments.project, options)
        from perflab.benchmarks import report

        # Without its first line, which is the gate's answer.
        print(report.text(comparison.report).partition("\n")[2], end="")
        return 0
