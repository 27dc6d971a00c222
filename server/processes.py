"""Several processes that serve one lab at one address: one that ends is replaced."""

import os
import signal
import socket
from collections.abc import Callable
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from threading import Thread

from .settings import Settings

Serve = Callable[[Settings, socket.socket], None]


def supervise(serve: Serve, settings: Settings, listener: socket.socket) -> None:
    """Run `serve` in `settings.workers` processes until this one is interrupted or told to end."""
    # A fork of this process would share its connections to the database. They are forked from one that has nothing open
    # and what serves imported, which takes a new one a second.
    context = get_context("forkserver")
    context.set_forkserver_preload([serve.__module__])

    def start() -> BaseProcess:
        process = context.Process(target=_run, args=(serve, settings, listener))
        process.start()
        return process

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    processes = [start() for _ in range(settings.workers)]
    try:
        while True:
            wait([process.sentinel for process in processes])
            processes = [process if process.is_alive() else start() for process in processes]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _run(serve: Serve, settings: Settings, listener: socket.socket) -> None:
    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=follow, daemon=True).start()
    serve(settings, listener)
