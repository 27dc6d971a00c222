"""Listening at an address, and serving a lab there until interrupted."""

import contextlib
import errno
import gc
import socket

import uvicorn

from .app import create_app
from .blobs import open_blobs
from .errors import LabRefused, PortRefused
from .processes import supervise
from .settings import Settings
from .store import Store


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at `host` and `port` (0 takes a free one); raises PortRefused."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off where a socket names its protocol; else an answer in two pieces takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # A server that has just ended leaves its port unusable for a minute otherwise.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortRefused(
                f"port {port} of {host} is in use; end what listens there, or give another with --port"
            ) from error
        raise PortRefused(
            f"port {port} of {host} cannot be used ({error.strerror}); give another with --port"
        ) from error
    return listener


def serve(settings: Settings, listener: socket.socket) -> None:
    """Serve the lab on a listening socket until the process is interrupted, and say where.

    Raises LabRefused, also where others than this machine could reach a lab that has no token to ask them for.
    """
    store = Store.open(settings, create=True)
    try:
        if not settings.is_open and not store.register.has_admin():
            raise LabRefused(
                f"other machines can reach {settings.proxy or settings.host}, and the lab in {settings.lab} has no "
                "admin token to ask them for; make one with `perflab token create NAME --scope admin`"
            )
        host, port = listener.getsockname()[:2]
        host = f"[{host}]" if ":" in host else host
        print(f"The dashboard of {settings.lab} is at http://{host}:{port} (Ctrl-C ends it)", flush=True)
        if settings.workers == 1:
            _answer(settings, store, listener)
        else:
            supervise(_serve_one, settings, listener)
    except KeyboardInterrupt:
        # How a server that a person started ends.
        pass
    finally:
        store.close()


def _serve_one(settings: Settings, listener: socket.socket) -> None:
    """One process of several."""
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(Store.open(settings, create=False)) as store:
        _answer(settings, store, listener)


def _answer(settings: Settings, store: Store, listener: socket.socket) -> None:
    app = create_app(settings, store, open_blobs(settings))
    # What was made until here stays: the collector need not walk through it, which took 0.1 s every dozen answers.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(
        app,
        log_level="warning",
        proxy_headers=settings.proxy is not None,
        forwarded_allow_ips=settings.proxy,
    )
    uvicorn.Server(config).run(sockets=[listener])
