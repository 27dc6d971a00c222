"""Listening at an address, and serving a lab there until interrupted."""

import errno
import socket

import uvicorn

from .app import create_app
from .blobs import FolderBlobs
from .errors import PortRefused
from .settings import Settings
from .store import Store


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at `host` and `port` (0 takes a free one); raises PortRefused."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
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
    """Serve the lab on a listening socket until the process is interrupted, and say where; raises LabRefused."""
    store = Store.open(settings, create=True)
    try:
        app = create_app(settings, store, FolderBlobs(settings.blobs))
        host, port = listener.getsockname()
        print(f"The dashboard of {settings.lab} is at http://{host}:{port} (Ctrl-C ends it)", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
    except KeyboardInterrupt:
        # How a server that a person started ends.
        pass
    finally:
        store.close()
