"""`perflab bench`: time a function or a command in this process, and leave a run file."""

import argparse
from pathlib import Path

from .arguments import ERRORS, replace_file


class Bench:
    help = "time a function (module:function) or a command, and leave a run file for the gate"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("words", nargs="+", metavar="TARGET", help="module:function, or -- and a command")
        parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="where the run is written")
        parser.add_argument("--rounds", type=int, metavar="N", help="samples (default: 20)")

    def run(self, arguments: argparse.Namespace) -> int:
        from perflab.benchmarks.bench import ROUNDS, bench
        from perflab.benchmarks.quantity import SECONDS, quantity

        run = bench(arguments.words, Path.cwd(), ROUNDS if arguments.rounds is None else arguments.rounds)
        replace_file(arguments.output, run.to_json())
        (result,) = run.results
        print(f"{result.benchmark.name}: {quantity(result.best, SECONDS)} (median {quantity(result.median, SECONDS)})")
        return 0
