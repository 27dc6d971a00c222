"""`perflab run`: a program under the profiler, as it is."""

import argparse
import sys
from pathlib import Path


class Run:
    help = "run a Python script or module under the profiler, as it is, and write its trace"
    errors = (OSError,)

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "perflab run [-o FILE] [--step FUNCTION] (SCRIPT | -m MODULE) [ARGUMENT ...]"
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            default=Path("trace.json.gz"),
            metavar="FILE",
            help="the trace, compressed where the name ends in .gz (default: %(default)s)",
        )
        words = "each call of this function of the program is a step: train_step, or Trainer.train_step"
        parser.add_argument("--step", metavar="FUNCTION", help=words)
        parser.add_argument("-m", action="store_true", dest="module", help="PROGRAM is a module, as in python -m")
        parser.add_argument("program", metavar="PROGRAM", help="a script, or with -m a module")
        parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="what the program is given")

    def run(self, arguments: argparse.Namespace) -> int:
        from ..program import Program

        program = Program(arguments.program, module=arguments.module)
        if arguments.step:
            program.find_steps(arguments.step)
        code = program.run(arguments.arguments, arguments.output)
        print(f"perflab: {arguments.output} is written: `perflab report {arguments.output}` reads it", file=sys.stderr)
        return code
