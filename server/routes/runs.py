"""Projects and runs."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from ..access.needs import READS
from ..schema import Project, Run, RunDetail
from .deps import AMBIGUOUS, NOT_FOUND, REFUSED, LabOf
from .tabular import CSV, WantsCsv, table_of

router = APIRouter(tags=["runs"], dependencies=[READS])


@router.get("/projects", response_model=list[Project], responses=CSV)
def projects(lab: LabOf, wants_csv: WantsCsv) -> list[Project] | Response:
    """Every project, by name."""
    found = lab.projects()
    return table_of(found) if wants_csv else found


@router.get("/runs", response_model=list[Run], responses=CSV | NOT_FOUND | AMBIGUOUS | REFUSED)
def runs(
    lab: LabOf,
    wants_csv: WantsCsv,
    project: str | None = None,
    commit: Annotated[str | None, Query(description="At least the first 7 digits of a SHA")] = None,
    branch: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[Run] | Response:
    """The newest runs first."""
    found = lab.runs(project, commit, branch, limit)
    return table_of(found) if wants_csv else found


@router.get("/runs/{id}", response_model=RunDetail, responses=CSV | NOT_FOUND | REFUSED)
def run(lab: LabOf, id: int, wants_csv: WantsCsv) -> RunDetail | Response:
    """One run with its results; as CSV these alone."""
    found = lab.run(id)
    return table_of(found.results) if wants_csv else found
