"""Pages that are shared by a link: `/s/SECRET/traces/7` is the page `/traces/7` for whoever has the link.

Under `/s/SECRET` stand the page and the data that it asks for, read alone and masked, and nothing else. The addresses
of these on the page are moved there; its other links lead to the lab itself, which asks who comes.
"""

import re
from urllib.parse import parse_qsl, urlsplit

from anyio.to_thread import run_sync
from fastapi.responses import RedirectResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import Refused
from ..refusal import refusal
from .entries import Share
from .gate import too_many
from .limits import PER_STRANGER, PER_TOKEN, Limits, neighbourhood
from .register import SHARED, Register
from .scopes import Caller
from .scopes import Scope as May

API = "/api/v1"
NO_LINK = "this link has ended, or there never was one; ask whoever sent it for another"
ELSEWHERE = "this link shows one page, and what was asked for is not on it; sign in at /sign-in to see more"
_TRACE_PAGE = re.compile(r"(/traces/(\d+))(?:/\w+)?")
_BODY = re.compile(r"<body\b([^>]*)>")
# What of a page's query says which page it is; the rest is how it is looked at.
PINNED = {"/compare": ("base", "head", "project"), "/series": ("project", "benchmark", "machine")}
_TAKES = {"/compare": {"base", "head"}, "/series": {"project", "benchmark"}}


class Shares:
    """Lets those through who have a link to the page that they ask for, as `shared` callers."""

    def __init__(self, app: ASGIApp, register: Register, limits: Limits) -> None:
        self._app = app
        self._register = register
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(SHARED):
            return await self._app(scope, receive, send)
        given, slash, rest = scope["path"].removeprefix(SHARED).partition("/")
        path, query = slash + rest, scope["query_string"].decode("latin-1")
        who = neighbourhood((scope.get("client") or ("",))[0])
        share = await run_sync(self._register.share, given)
        rate = PER_STRANGER if share is None else PER_TOKEN
        if (wait := self._limits.wait(("shared", share and share.id, who), rate)) > 0:
            return await too_many(path, wait)(scope, receive, send)
        if share is None:
            return await refusal(path, 404, NO_LINK)(scope, receive, send)
        prefix = f"{SHARED}{given}"
        if not path.strip("/"):
            return await RedirectResponse(prefix + share.address, 302)(scope, receive, send)
        if scope["method"] not in ("GET", "HEAD") or not is_on(share, path, query):
            return await refusal(path, 404, ELSEWHERE)(scope, receive, send)
        caller = Caller(f"share {share.id}", May.READ, share.project, shared=True)
        inner = dict(scope, path=path, raw_path=path.encode(), state={**scope.get("state", {}), "caller": caller})
        if not path.startswith("/api/"):  # pages are changed on the way, so they come unpacked
            inner["headers"] = [header for header in scope["headers"] if header[0] != b"accept-encoding"]
        await self._app(inner, receive, Moved(send, share, prefix))


class Moved:
    """Sends an answer on; a page with the addresses of what is shared moved under `prefix`, and told that it is."""

    def __init__(self, send: Send, share: Share, prefix: str) -> None:
        self._send = send
        self._share = share
        self._prefix = prefix
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_page(message):
            self._start = message
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                body = self._moved(self._body.decode()).encode()
                headers = MutableHeaders(raw=self._start["headers"])
                headers["content-length"], headers["cache-control"] = str(len(body)), "no-store"
                self._start["headers"] = headers.raw
                await self._send(self._start)
                await self._send({"type": "http.response.body", "body": body})
        else:
            await self._send(message)

    def _moved(self, page: str) -> str:
        for start in starts(self._share):
            page = re.sub(rf'"(?={re.escape(start)}(?![\w-]))', f'"{self._prefix}', page)
        told = f"Shared until {self._share.expires:%Y-%m-%d}. Names of people and machines are masked."
        return _BODY.sub(rf'<body\1 class="shared"><p class="shared-note" role="note">{told}</p>', page, count=1)


def _is_page(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith("text/html")


def starts(share: Share) -> list[str]:
    """How the addresses begin of what a share shows."""
    path = urlsplit(share.address).path
    page = _TRACE_PAGE.fullmatch(path)
    return [page[1] if page else path, *(f"{API}/traces/{id}" for id in share.traces)]


def is_on(share: Share, path: str, query: str) -> bool:
    """Whether an address is that of the shared page, or of data that it asks for."""
    page, *data = starts(share)
    asked = parse_qsl(query, keep_blank_values=True)
    if page in PINNED and path == page:
        return _pins(page, asked) == _pins(page, parse_qsl(urlsplit(share.address).query))
    known = {str(id) for id in share.traces}
    if path.endswith("/file") or any(value not in known for name, value in asked if name == "base"):
        return False
    whole = [] if page in PINNED else [page]
    return path in whole or any(path.startswith(f"{start}/") for start in (*whole, *data))


def _pins(page: str, query: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted((name, value) for name, value in query if name in PINNED[page] and value)


def kind_of(address: str) -> tuple[str, dict[str, str]]:
    """The path and query of a page that can be shared; raises Refused."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    is_page = _TRACE_PAGE.fullmatch(parts.path) or (parts.path in PINNED and _TAKES[parts.path] <= query.keys())
    if parts.scheme or parts.netloc or not is_page:
        raise Refused(f"{address[:100]!r} is no page to be shared; give that of a trace, a comparison or a series")
    return parts.path, query
