"""Signing in with a browser: a token goes into a cookie that scripts cannot read and other sites cannot send."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from perflab.dashboards import pages

from ..access.gate import COOKIE, SIGN_IN, too_many
from ..access.limits import REFUSED, neighbourhood
from ..access.needs import PUBLIC
from .deps import LimitsOf, RegisterOf

router = APIRouter(include_in_schema=False, dependencies=[PUBLIC])


@router.get(SIGN_IN)
def sign_in_page(to: str = "/") -> HTMLResponse:
    """The page that asks for a token."""
    return HTMLResponse(pages.sign_in_page(_here(to), None))


@router.post(SIGN_IN)
def sign_in(
    request: Request,
    register: RegisterOf,
    limits: LimitsOf,
    token: Annotated[str, Form()] = "",
    to: Annotated[str, Form()] = "/",
) -> Response:
    """Keep a token in the browser, and go on to where it was sent from; an empty one signs out."""
    if not token:
        answer = RedirectResponse(SIGN_IN, 303)
        answer.delete_cookie(COOKIE)
        return answer
    address = request.client.host if request.client else ""
    found = register.token(token.strip())
    if found is None:
        if (wait := limits.wait(("refused", neighbourhood(address)), REFUSED)) > 0:
            return too_many(SIGN_IN, wait)
        register.record("a stranger", "refused", f"POST {SIGN_IN}", address)
        return HTMLResponse(pages.sign_in_page(_here(to), "This token is unknown, revoked or expired."), 401)
    register.record(f"token {found.name}", "sign in", "in a browser", address)
    answer = RedirectResponse(_here(to), 303)
    answer.set_cookie(
        COOKIE,
        token.strip(),
        max_age=None if found.expires is None else int((found.expires - datetime.now(UTC)).total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


def _here(to: str) -> str:
    """Where to go on: an address of this server, since a link to the page that asks may be a stranger's."""
    return to if to.startswith("/") and not to.startswith(("//", "/\\")) and to.isprintable() else "/"
