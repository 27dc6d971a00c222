"""`perflab calibrate`: the smallest change that a gate can tell on this machine."""

import argparse
from pathlib import Path

from .arguments import ERRORS


class Calibrate:
    help = "from processes that all ran the same code: the smallest change of each benchmark that a gate can tell"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "folder", type=Path, help="a folder of run files, as `pytest SUITE --perflab FOLDER` leaves it"
        )
        parser.add_argument(
            "--processes", type=int, default=10, metavar="N", help="of each side in a gate (default: %(default)s)"
        )

    def run(self, arguments: argparse.Namespace) -> int:
        from perflab.benchmarks.calibrate import enough, floors, table
        from perflab.benchmarks.folder import read
        from perflab.benchmarks.gate import Exit

        runs, processes = read(arguments.folder).runs, arguments.processes
        benchmarks = {result.benchmark for run in runs for result in run.results}
        problem = enough(len(runs), processes, len(benchmarks))
        if problem:
            print(problem)
            return Exit.COULD_NOT_JUDGE
        found = floors(runs, processes)
        print(table(found, processes), end="")
        return Exit.COULD_NOT_JUDGE if any(each.refusal for each in found) else Exit.PASS
