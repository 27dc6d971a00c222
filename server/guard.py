"""What stands before the routes: who may speak to the server, how much they may send, and what browsers may do with
its pages.

A server that listens on its machine alone asks for no token, and what it must fear is a web page in the same machine's
browser. Such a page can reach a local port, under a name of its own that it lets point here (DNS rebinding) or by
sending a form. One that listens elsewhere has a name that it does not know, and asks for tokens (access/gate.py).
"""

import json
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .settings import is_of_this_machine

LARGEST_BODY = 1 << 30
HEADERS = {
    # Everything comes from the server itself; charts set styles on their elements and save themselves as images.
    "content-security-policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Refuses requests under a foreign name (421), unless `any_host` is true, from a foreign page (403) and with too
    large a body (413)."""

    def __init__(self, app: ASGIApp, *, any_host: bool) -> None:
        self._app = app
        self._any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._any_host and not is_of_this_machine(_name(host)):
            return await _refuse(send, 421, f"the host is {host!r}; ask for 127.0.0.1 or localhost")
        if origin is not None and scope["method"] not in ("GET", "HEAD") and origin.partition("://")[2] != host:
            return await _refuse(send, 403, f"a page of {origin} sent this; only pages of {host} may")
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > LARGEST_BODY:
            return await _refuse(send, 413, _too_large())
        received = 0

        async def count() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > LARGEST_BODY:
                raise ConnectionError(_too_large())
            return message

        async def answer(message: Message) -> None:
            if received > LARGEST_BODY:  # whatever the routes made of the error
                if message["type"] == "http.response.start":
                    await _refuse(send, 413, _too_large())
                return
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, count, answer)


def _name(host: str) -> str:
    """The name or address in a host header, without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _too_large() -> str:
    return f"the upload is larger than {LARGEST_BODY >> 20} MiB; compress it with gzip, or record fewer steps a file"


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
