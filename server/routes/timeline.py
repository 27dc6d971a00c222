"""The timeline of a trace: what to draw of a stretch, one slice, slices by name, sums over a stretch."""

import gzip
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import StringConstraints

from perflab.dashboards.slices import Detail, Found, detail, find, first_from
from perflab.dashboards.stretches import Totals, totals
from perflab.dashboards.tiles import FORMAT, aligned

from ..access.needs import READS, caller_of
from ..errors import Refused
from ..freshness import is_known
from ..timelines import Timelines
from .deps import NOT_FOUND, REFUSED, LabOf, Responses

WIDEST = 8192
LONGEST_TRACE = 1 << 53  # ns; what a browser's numbers can count

router = APIRouter(prefix="/traces/{id}/timeline", tags=["timeline"], dependencies=[READS])

TILE: Responses = {
    200: {
        "description": "Slices and counters as columns",
        "content": {"application/json": {"schema": {"type": "object"}}},
    },
    304: {"description": "It is still the tile of that ETag"},
}
Moment = Annotated[int, Query(ge=-LONGEST_TRACE, le=LONGEST_TRACE, description="ns since the trace's first moment")]


def _timelines(request: Request, lab: LabOf, id: int) -> Timelines:
    lab.trace(id)  # raises NotFound where the caller may not see it
    shared = caller_of(request).shared
    timelines: Timelines = request.app.state.masked_timelines if shared else request.app.state.timelines
    return timelines


TimelinesOf = Annotated[Timelines, Depends(_timelines)]


@router.get("", response_class=Response, responses=TILE | NOT_FOUND | REFUSED)
def timeline_tile(
    lab: LabOf,
    timelines: TimelinesOf,
    request: Request,
    id: int,
    start: Moment,
    end: Moment,
    width: Annotated[int, Query(ge=1, le=WIDEST, description="bins; shorter slices are merged")],
) -> Response:
    """What to draw of [start, end): slices shorter than a bin are merged by row and bin. Columns are those of
    perflab.dashboards.tiles.Tile.

    Bins last a power of two of ns and begin at multiples of it: the answer's own `start`, `end` and `bin` say which."""
    if end <= start:
        raise Refused(f"the stretch ends at {end}, before it begins at {start}; give a later end")
    start, end, width = aligned(start, end, width)
    headers = {"etag": f'"{lab.trace(id).derived}-{FORMAT}-{start}-{end}-{width}"', "cache-control": "no-cache"}
    if is_known(headers["etag"], request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    body = timelines.tile(id, start, end, width)
    headers["vary"] = "accept-encoding"
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
    else:
        body = gzip.decompress(body)
    return Response(body, headers=headers, media_type="application/json")


@router.get("/slices/{slice}", responses=NOT_FOUND | REFUSED)
def timeline_slice(timelines: TimelinesOf, id: int, slice: int) -> Detail:
    """One slice with its arguments, the slices around it and beside it, and those that its flows lead to."""
    return detail(timelines.of(id), slice)


@router.get("/search", responses=NOT_FOUND | REFUSED)
def timeline_search(
    timelines: TimelinesOf,
    id: int,
    name: Annotated[str, StringConstraints(min_length=1, max_length=1000)],
    near: int | None = None,
    after: Moment = 0,
    step: Annotated[int, Query(ge=-1, le=1)] = 0,
) -> Found:
    """The next (step 1), previous (-1) or same (0) slice whose name holds `name`, from the slice `near` or, without
    one, from the moment `after` on."""
    timeline = timelines.of(id)
    return find(timeline, name, first_from(timeline, after) if near is None else near, step)


@router.get("/totals", responses=NOT_FOUND | REFUSED)
def timeline_totals(
    timelines: TimelinesOf,
    id: int,
    start: Moment,
    end: Moment,
    track: Annotated[list[int], Query(description="of these tracks alone; of all without one")] = [],  # noqa: B006
) -> Totals:
    """The slices that touch [start, end), clipped to it and summed by name, the largest self time first."""
    if end <= start:
        raise Refused(f"the stretch ends at {end}, before it begins at {start}; give a later end")
    return totals(timelines.of(id), start, end, track or None)
