"""Sharing pages by a link."""

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Path, Request
from fastapi.responses import HTMLResponse

from perflab.dashboards import pages

from ..access.entries import NewShare, Share, ShareOrder
from ..access.needs import WRITES, caller_of, tell
from ..access.shares import kind_of
from ..errors import Refused
from ..lab import LocalLab
from ..store import LARGEST_ID
from . import compare_views
from .deps import AMBIGUOUS, NOT_FOUND, REFUSED, GlancesOf, LabOf, RegisterOf

router = APIRouter(tags=["access"], dependencies=[WRITES])
page_router = APIRouter(include_in_schema=False, dependencies=[WRITES])


@router.get("/shares")
def shares(register: RegisterOf, request: Request) -> list[Share]:
    """The pages that are or were shared, the newest first; nothing tells their links."""
    return register.shares(caller_of(request).project)


@router.post("/shares", responses=NOT_FOUND | AMBIGUOUS | REFUSED)
def share(lab: LabOf, glances: GlancesOf, register: RegisterOf, request: Request, order: ShareOrder) -> NewShare:
    """Share the page of a trace, a comparison or a series. The link is in this answer and nowhere else."""
    path, query = kind_of(order.address)
    project, traces = _shown(lab, glances, path, query)
    made = register.make_share(project, order.address, traces, order.days, caller_of(request).name)
    tell(request, str(made.share))
    return made


@router.delete("/shares/{id}", responses=NOT_FOUND | REFUSED)
def end_share(register: RegisterOf, request: Request, id: Annotated[int, Path(ge=1, le=LARGEST_ID)]) -> Share:
    """End a share for good."""
    ended = register.revoke_share(id, caller_of(request).project)
    tell(request, str(ended))
    return ended


@page_router.post("/shares")
def share_page(
    lab: LabOf, glances: GlancesOf, register: RegisterOf, request: Request, days: Annotated[int, Form()] = 30
) -> HTMLResponse:
    """Share the page whose button was pressed, and show the link."""
    parts = urlsplit(request.headers.get("referer", ""))
    if parts.netloc != request.headers["host"]:
        raise Refused("the browser does not say which page is to be shared; use POST /api/v1/shares")
    address = f"{parts.path}?{parts.query}" if parts.query else parts.path
    made = share(lab, glances, register, request, ShareOrder(address=address, days=days))
    link = f"{request.url.scheme}://{request.headers['host']}{made.link}"
    return HTMLResponse(pages.shared_page(link, address, made.share.expires), headers={"cache-control": "no-store"})


def _shown(lab: LocalLab, glances: GlancesOf, path: str, query: dict[str, str]) -> tuple[str, list[int]]:
    """The project that a page is of, and the traces whose data it asks for; raises NotFound, Refused, Ambiguous."""
    if path == "/series":
        lab.series(query["project"], query["benchmark"], query.get("machine"), query.get("params"))
        return query["project"], []
    if path == "/compare":
        view = compare_views.comparison(lab, glances, query["base"], query["head"], query.get("project"))
        if view.base.project != view.head.project:
            raise Refused(f"{view.base.project} and {view.head.project} are two projects; share a page of one")
        return view.head.project, [side.trace for side in (view.base, view.head) if side.trace is not None]
    trace = lab.trace(int(path.split("/")[2]))
    return lab.run(trace.run).run.project, [trace.id]
