"""The pages of the dashboard."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse

from perflab.dashboards import pages
from perflab.dashboards.project_views import ProjectRow
from perflab.dashboards.rendering import SECTIONS
from perflab.dashboards.views import GatesView, RunsView

from ..access.needs import READS
from ..errors import LabError, NotFound
from ..lab import LocalLab
from ..schema import Judgement
from . import compare_views, project_views, views
from .deps import GlancesOf, LabOf

ROW_LIMIT = 200  # runs and gates in a list
LATEST_RUNS = 8
SERIES_COMMITS = 400  # of a series that are shown unless all are asked for
SERIES_GATES = 20  # whose verdicts a series shows: each is a report that is read

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[READS])


@router.get("/", response_model=None)
def overview(lab: LabOf, glances: GlancesOf, project: str = "", all: bool = False) -> str | RedirectResponse:
    """A project at a glance; without one the list of projects, or the only one."""
    if not project:
        return _choice(lab, "Overview", all=all)
    runs = lab.runs(project, limit=LATEST_RUNS)
    if not runs:
        raise NotFound(f"the lab has no project {project}; choose one of those it has")
    judgements = lab.judgements(project, project_views.GATES)
    view = project_views.overview(glances.of(project), judgements, lab.judgement, runs)
    return pages.overview_page(project_views.with_causes(view, lambda sha: _is_traced(lab, project, sha)))


def _is_traced(lab: LocalLab, project: str, commit: str) -> bool:
    return any(run.traces for run in lab.runs(project, commit, limit=ROW_LIMIT))


@router.get("/cause")
def cause(lab: LabOf, project: str, base: str, head: str) -> str:
    """What the traces of two commits say of their difference: a part of the overview, which fetches it."""
    return pages.cause_part(project_views.cause(lab.compare(base, head, project).diff))


def _choice(lab: LocalLab, section: str, *, all: bool = False) -> str | RedirectResponse:
    """Of a project for a page; there is none where the lab has but one project."""
    found = lab.projects()
    if len(found) == 1 and not all:
        return RedirectResponse(f"{SECTIONS[section]}?{urlencode({'project': found[0].name})}", 307)
    return pages.projects_page([ProjectRow(name=it.name, runs=it.runs, latest=it.latest) for it in found], section)


@router.get("/runs")
def runs(lab: LabOf, project: str = "", commit: str = "") -> str:
    """The list of runs."""
    found = lab.runs(project or None, commit or None, limit=ROW_LIMIT)
    return pages.runs_page(
        RunsView(
            projects=[known.name for known in lab.projects()],
            project=project or None,
            commit=found[0].commit if commit and found else None,
            runs=[views.run_row(run) for run in found],
            limit=ROW_LIMIT,
        )
    )


@router.get("/runs/{id}")
def run(lab: LabOf, id: int) -> str:
    """One run."""
    return pages.run_page(views.run_view(lab.run(id)))


@router.get("/compare")
def compare(lab: LabOf, glances: GlancesOf, base: str = "", head: str = "", project: str = "") -> str:
    """Two commits, or two runs, machines or traces given as `run:7`; what there is to choose from without them."""
    if not base and not head:
        return pages.choose_page(project, compare_views.choices(lab, glances, project))
    return pages.compare_page(compare_views.comparison(lab, glances, base, head, project or None))


@router.get("/series", response_model=None)
def series(
    lab: LabOf,
    glances: GlancesOf,
    project: str = "",
    benchmark: str = "",
    machine: str = "",
    params: str = "",
    baseline: Annotated[str | None, Query(min_length=7)] = None,
    all: bool = False,
) -> str | RedirectResponse:
    """The series of a benchmark over its newest commits or all, or without one the list of all series of a project."""
    if not project:
        return _choice(lab, "Series")
    if not benchmark:
        return pages.series_list_page(project_views.list_view(glances.of(project)))
    found = lab.series(project, benchmark, machine or None, params or None)
    facts = {commit.sha: commit for commit in lab.commits(project)}
    newest = None if all else SERIES_COMMITS
    gates = [lab.judgement(each.id) for each in lab.judgements(project, SERIES_GATES)]
    return pages.series_page([views.series_view(each, baseline, newest, facts, gates) for each in found])


@router.get("/grid", response_model=None)
def grid(lab: LabOf, glances: GlancesOf, project: str = "") -> str | RedirectResponse:
    """The benchmarks of a project by its newest commits."""
    if not project:
        return _choice(lab, "Benchmarks")
    return pages.grid_page(project_views.grid_view(glances.of(project)))


@router.get("/upload")
def upload(lab: LabOf, project: str = "") -> str:
    """Where files are dropped."""
    names = [known.name for known in lab.projects()]
    return pages.upload_page(names, project or (names[0] if len(names) == 1 else ""))


@router.get("/gates")
def gates(lab: LabOf, project: str = "") -> str:
    """The list of what gates came to."""
    found = lab.judgements(project or None, ROW_LIMIT)
    rows = [views.gate_row(each) for each in found]
    return pages.gates_page(GatesView(project=project or None, gates=rows, limit=ROW_LIMIT))


@router.get("/gates/{id}")
def gate(lab: LabOf, id: int) -> str:
    """What one gate came to."""
    found = lab.judgement(id)
    return pages.gate_page(views.gate_view(found, _compares(lab, found.judgement)))


def _compares(lab: LocalLab, told: Judgement) -> bool:
    """Whether the lab has both sides, which may be words."""
    try:
        return all(lab.runs(told.project, side, limit=1) for side in (told.base, told.head))
    except LabError:
        return False
