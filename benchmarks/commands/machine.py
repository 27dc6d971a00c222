"""`perflab machine`: what this machine can do at most."""

import argparse
from pathlib import Path

from perflab.profiler.ceilings import default_path, save


class Machine:
    help = "measure what this machine can do at most, for the roofline of `perflab report`"
    errors = (OSError,)

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--output",
            type=Path,
            default=default_path(),
            metavar="FILE",
            help="where to keep it (default: %(default)s)",
        )

    def run(self, arguments: argparse.Namespace) -> int:
        from ..ceilings import measure

        found = measure()
        save(found, arguments.output)
        print(found.machine)
        print(f"float32 matrix product  {found.flops_per_s / 1e9:10.1f} GFLOP/s")
        print(f"memory, triad           {found.bytes_per_s / 1e9:10.1f} GB/s")
        print(f"kept in {arguments.output}")
        return 0
