"""`perflab serve`: the dashboard and the API of a lab."""

import argparse

from ..settings import DEFAULT_HOST, DEFAULT_PORT, Settings
from .arguments import ERRORS, add_folder


class Serve:
    help = "serve a lab's dashboard and API"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--port", type=port, default=DEFAULT_PORT, help="0 takes a free one (default: %(default)s)")
        parser.add_argument(
            "--host", default=DEFAULT_HOST, help="any but this machine asks for tokens (default: %(default)s)"
        )
        parser.add_argument(
            "--proxy", metavar="ADDRESS", help="a reverse proxy, which is believed when it says whom it speaks for"
        )
        parser.add_argument("--workers", type=count, default=1, help="processes that serve (default: %(default)s)")
        parser.add_argument("--queue", action="store_true", help="leave traces to be read by `perflab worker`")
        add_folder(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        from ..serving import listen, serve

        settings = Settings.from_environment(
            arguments.lab,
            host=arguments.host,
            port=arguments.port,
            proxy=arguments.proxy,
            workers=arguments.workers,
            queue=arguments.queue,
        )
        with listen(settings.host, settings.port) as listener:
            serve(settings, listener)
        return 0


def port(text: str) -> int:
    """The port number that an argument gives."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; give a number from 0 to 65535")
    return number


def count(text: str) -> int:
    """How many, at least one, an argument says."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; give 1 or more")
    return int(text)
