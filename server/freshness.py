"""Tags of answers (ETag), so that a client that has an answer already is told so (304) and not sent it again."""

from hashlib import blake2b

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TAGGED = ("application/json", "text/csv", "text/html")
LARGEST = 32 << 20  # bytes; longer answers are not held back for their tag


def is_known(tag: str, known: str) -> bool:
    """Whether a tag is one of those that a client has, as its `If-None-Match` lists them."""
    return tag.removeprefix("W/") in (each.strip().removeprefix("W/") for each in known.split(","))


class Freshness:
    """Gives what GET answers a tag made of its bytes, unless the route gave it one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            return await self._app(scope, receive, send)
        start: Message = {}
        parts: list[bytes] = []

        async def answer(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_tagged(message):
                start = message
                return
            if not start:
                return await send(message)
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                await _answer(send, start, b"".join(parts), Headers(scope=scope).get("if-none-match", ""))

        await self._app(scope, receive, answer)


def _is_tagged(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    length = headers.get("content-length", "")
    kind = headers.get("content-type", "").partition(";")[0]
    whole = length.isdecimal() and int(length) <= LARGEST  # what has no length is streamed
    return start["status"] == 200 and "etag" not in headers and kind in TAGGED and whole


async def _answer(send: Send, start: Message, body: bytes, known: str) -> None:
    # Weak: the same answer goes out compressed or not.
    tag = f'W/"{blake2b(body, digest_size=12).hexdigest()}"'
    headers = MutableHeaders(raw=start["headers"])
    headers["etag"] = tag
    headers.setdefault("cache-control", "no-cache")  # keep it, and ask each time whether it is still so
    if is_known(tag, known):
        del headers["content-length"], headers["content-type"]
        start, body = {**start, "status": 304}, b""
    start["headers"] = headers.raw
    await send(start)
    await send({"type": "http.response.body", "body": body})
