"""`perflab worker`: reads the traces that a server with --queue takes in."""

import argparse

from ..settings import Settings
from .arguments import ERRORS, add_folder


class Worker:
    help = "read the traces that wait in a lab, for `perflab serve --queue`"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        add_folder(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        import signal
        from contextlib import closing
        from threading import Event

        from ..blobs import open_blobs
        from ..store import Store
        from ..worker import Worker

        settings = Settings.from_environment(arguments.lab)
        stop = Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        blobs = open_blobs(settings)
        with closing(Store.open(settings, create=True)) as store:
            print(f"Reading what waits in {settings.lab} (Ctrl-C ends it after the file that it is at)", flush=True)
            Worker(store, blobs, store.jobs).work(stop)
        return 0
