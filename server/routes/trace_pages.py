"""The pages of one trace."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from perflab.dashboards import trace_pages
from perflab.dashboards.views import TraceView
from perflab.profiler import ceilings
from perflab.profiler.analysis.groups import GroupBy
from perflab.profiler.analysis.trees import TreeOf
from perflab.profiler.ceilings import Ceilings

from ..access.needs import READS
from ..lab import LocalLab
from . import views
from .deps import LabOf

OTHER_LIMIT = 200  # runs whose traces one can be compared with

router = APIRouter(
    prefix="/traces/{id}", include_in_schema=False, default_response_class=HTMLResponse, dependencies=[READS]
)


@router.get("")
def timeline(lab: LabOf, id: int, step: int | None = None) -> str:
    """The timeline, and what is to be said of the whole trace."""
    return trace_pages.timeline_page(_view(lab, id, step))


@router.get("/operators")
def operators(
    lab: LabOf, id: int, by: GroupBy = "op", op: Annotated[str | None, Query(max_length=100_000)] = None
) -> str:
    """The table of operators, and one of them."""
    return trace_pages.operators_page(_view(lab, id), by, op, _ceilings(lab, id))


@router.get("/flame")
def flame(lab: LabOf, id: int, of: TreeOf = "ops", step: int | None = None) -> str:
    """The flame graph of the mean step, or of one."""
    return trace_pages.flame_page(_view(lab, id, step), of)


@router.get("/memory")
def memory(lab: LabOf, id: int) -> str:
    """Memory over time and at its peak."""
    return trace_pages.memory_page(_view(lab, id))


@router.get("/gil")
def gil(lab: LabOf, id: int) -> str:
    """Who held the GIL, and who waited."""
    return trace_pages.gil_page(_view(lab, id))


@router.get("/steps")
def steps(lab: LabOf, id: int) -> str:
    """The steps, and those that stand out."""
    return trace_pages.steps_page(_view(lab, id))


@router.get("/ranks")
def ranks(lab: LabOf, id: int) -> str:
    """The ranks of a run, and who waits for whom."""
    return trace_pages.ranks_page(_view(lab, id))


@router.get("/graph")
def graph(lab: LabOf, id: int, step: int | None = None) -> str:
    """The autograd graph of a step."""
    return trace_pages.graph_page(_view(lab, id, step))


@router.get("/doctor")
def doctor(lab: LabOf, id: int) -> str:
    """What is odd in the file."""
    return trace_pages.doctor_page(_view(lab, id))


@router.get("/findings")
def findings(lab: LabOf, id: int) -> str:
    """What to do first: a part of the pages, which they fetch where it takes long."""
    return trace_pages.findings_part(_view(lab, id))


def _view(lab: LocalLab, id: int, step: int | None = None) -> TraceView:
    found = lab.trace(id)
    detail = lab.run(found.run)
    runs = lab.runs(detail.run.project, limit=OTHER_LIMIT)
    return views.trace_view(found, lab.read_trace(id), detail, runs, step)


def _ceilings(lab: LocalLab, id: int) -> Ceilings | None:
    """Those that were measured here, where the trace is of this machine."""
    path = ceilings.default_path()
    if not path.is_file():
        return None
    found = ceilings.load(path)
    return found if found.fingerprint == lab.run(lab.trace(id).run).run.machine.fingerprint else None
