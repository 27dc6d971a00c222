"""What every request passes on its way to a route: who sends it, how often, and what it did.

A lab that listens on its machine alone needs no token: whoever can reach it is at that machine. Everywhere else a
request needs one, as `Authorization: Bearer` from programs and in a cookie from browsers.
"""

import math
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote

from anyio.to_thread import run_sync
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perflab.dashboards.reader import READER, Reader

from ..refusal import refusal
from .limits import PER_STRANGER, PER_TOKEN, REFUSED, Limits, neighbourhood
from .register import Register
from .scopes import LOCAL, Caller
from .scopes import Scope as May

COOKIE = "perflab_token"
# Where a stranger may look; the routes there are PUBLIC, and no others.
STATIC, SIGN_IN = "/static/", "/sign-in"
SAFE = ("GET", "HEAD", "OPTIONS")
NO_TOKEN = "this lab asks for a token; send it as `Authorization: Bearer ...`, or sign in at /sign-in"
BAD_TOKEN = "the token is unknown, revoked or expired; ask who keeps the lab for another"


class Gate:
    """Refuses strangers (401), wrong tokens (401), too many requests (429), and browsers that were sent by a foreign
    page (403); writes down what was changed, and what was refused for a wrong token."""

    def __init__(self, app: ASGIApp, register: Register, *, is_open: bool, limits: Limits) -> None:
        self._app = app
        self._register = register
        self._open = is_open
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        visit = Visit(scope)
        refused = await self._let_in(visit)
        READER.set(_reader(visit.caller))
        if refused is not None:
            return await refused(scope, receive, send)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._write_down(visit, message["status"])
                if visit.caller not in (None, LOCAL):
                    _keep_private(MutableHeaders(scope=message))
            await send(message)

        await self._app(scope, receive, answer)

    async def _let_in(self, visit: "Visit") -> Response | None:
        """Find out who sends a request; the answer where it goes no further."""
        if visit.path.startswith(STATIC) or visit.caller is not None:  # whom shares.py let in
            return None
        if visit.bearer is not None:
            visit.caller = await run_sync(self._caller, visit.bearer)
            if visit.caller is None:
                return await run_sync(self._refused, visit)
        elif visit.cookie is not None and visit.path != SIGN_IN:
            # One that is not good is as none: browsers send the cookies of every server of a machine to each.
            visit.caller = await run_sync(self._caller, visit.cookie)
        if visit.caller is None and self._open:
            visit.caller = LOCAL
        if visit.caller is None and visit.path != SIGN_IN:
            return self._stranger(visit)
        if (wait := self._wait(visit)) > 0:
            return too_many(visit.path, wait)
        if visit.bearer is None and visit.cookie is not None and visit.changes and not visit.is_from_our_page:
            return refusal(visit.path, 403, "no page of this server sent this; open the page again and use its button")
        return None

    def _caller(self, given: str) -> Caller | None:
        token = self._register.token(given)
        if token is None:
            return None
        return Caller(f"token {token.name}", token.scope, token.project, f"token {token.id}")

    def _refused(self, visit: "Visit") -> Response:
        if (wait := self._limits.wait(("refused", visit.neighbourhood), REFUSED)) > 0:
            return too_many(visit.path, wait)  # and not written down: the log is not for strangers to fill
        self._register.record("a stranger", "refused", visit.told, visit.address)
        return refusal(visit.path, 401, BAD_TOKEN, {"www-authenticate": "Bearer"})

    def _stranger(self, visit: "Visit") -> Response:
        if (wait := self._wait(visit)) > 0:
            return too_many(visit.path, wait)
        if visit.path.startswith("/api/") or visit.method != "GET":
            return refusal(visit.path, 401, NO_TOKEN, {"www-authenticate": "Bearer"})
        return RedirectResponse(f"/sign-in?to={quote(visit.target, safe='')}", 303)

    def _wait(self, visit: "Visit") -> float:
        if visit.caller is None:
            return self._limits.wait(("stranger", visit.neighbourhood), PER_STRANGER)
        return 0.0 if visit.caller.key is None else self._limits.wait(visit.caller.key, PER_TOKEN)

    async def _write_down(self, visit: "Visit", status: int) -> None:
        if visit.caller is not None and visit.changes and status < 400 and visit.needs in (May.WRITE, May.ADMIN):
            await run_sync(self._register.record, visit.caller.name, visit.action, visit.told, visit.address)


class Visit:
    """One request, as the gate sees it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._state = scope.setdefault("state", {})
        self._state.setdefault("caller", None)
        self._headers = Headers(scope=scope)
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.address: str = (scope.get("client") or ("",))[0]

    @property
    def caller(self) -> Caller | None:
        """Who sends it, as routes see it too."""
        caller: Caller | None = self._state["caller"]
        return caller

    @caller.setter
    def caller(self, caller: Caller | None) -> None:
        self._state["caller"] = caller

    @property
    def neighbourhood(self) -> str:
        return neighbourhood(self.address)

    @property
    def changes(self) -> bool:
        return self.method not in SAFE

    @property
    def target(self) -> str:
        query = self._scope["query_string"].decode("latin-1")
        return f"{self.path}?{query}" if query else self.path

    @property
    def bearer(self) -> str | None:
        kind, _, token = self._headers.get("authorization", "").partition(" ")
        return token.strip() if kind.lower() == "bearer" else None

    @property
    def cookie(self) -> str | None:
        try:
            found = SimpleCookie(self._headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return None
        return found.value if found is not None and found.value else None

    @property
    def is_from_our_page(self) -> bool:
        """Whether the browser says so; a browser of the last years always says one of the two."""
        if (site := self._headers.get("sec-fetch-site")) is not None:
            return site == "same-origin"
        return self._headers.get("origin", "").partition("://")[2] == self._headers.get("host", "") != ""

    @property
    def needs(self) -> May | None:
        """What the route asked for, once it was reached."""
        needs: May | None = self._state.get("needs")
        return needs

    @property
    def action(self) -> str:
        """The name of what was done."""
        return str(getattr(self._scope.get("route"), "name", self.method)).replace("_", " ")

    @property
    def told(self) -> str:
        """What was done: what the route told of it, else where it was sent."""
        return str(self._state.get("told") or f"{self.method} {self.path}")[:1000]


def _reader(caller: Caller | None) -> Reader:
    if caller is None or caller.shared:
        return Reader(keeps=False)
    return Reader(name="" if caller == LOCAL else caller.name, keeps=caller.keeps)


def too_many(path: str, wait: float) -> Response:
    """The answer to requests that come too fast, and how many seconds to wait."""
    seconds = math.ceil(wait)
    sentence = f"requests come faster than this lab takes them; ask again in {seconds} s, and then less often"
    return refusal(path, 429, sentence, {"retry-after": str(seconds)})


def _keep_private(headers: MutableHeaders) -> None:
    """What a signed-in caller sees is kept by no cache on the way, and by none at all where nothing allows it."""
    told = headers.get("cache-control")
    if told is None:
        headers["cache-control"] = "no-store"
    elif not any(word in told for word in ("public", "private", "no-store")):
        headers["cache-control"] = f"private, {told}"
