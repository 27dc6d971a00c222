"""`perflab demo`: the main job on real input, from training to a gate that fails and says why."""

import argparse

from ..settings import DEFAULT_PORT, Settings
from .arguments import ERRORS, add_folder
from .serve import port


class Demo:
    help = "train a small model, slow it down, and watch the gate find out why"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--exit", action="store_true", help="end after the gate, without the dashboard")
        parser.add_argument(
            "--port",
            type=port,
            default=DEFAULT_PORT,
            help="of the dashboard; 0 takes a free one (default: %(default)s)",
        )
        add_folder(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        from ..demo import demo
        from ..serving import listen, serve

        settings = Settings.from_environment(arguments.lab, port=arguments.port)
        if arguments.exit:
            return demo(settings)
        # Taken first: a port in use should not be found out after a minute of training.
        with listen(settings.host, settings.port) as listener:
            code = demo(settings)
            serve(settings, listener)
        return code
