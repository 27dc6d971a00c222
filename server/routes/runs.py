"""Projects and runs."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..access.needs import READS
from ..schema import Project, Run, RunDetail
from .deps import AMBIGUOUS, NOT_FOUND, REFUSED, LabOf

router = APIRouter(tags=["runs"], dependencies=[READS])


@router.get("/projects")
def projects(lab: LabOf) -> list[Project]:
    """Every project, by name."""
    return lab.projects()


@router.get("/runs", responses=NOT_FOUND | AMBIGUOUS | REFUSED)
def runs(
    lab: LabOf,
    project: str | None = None,
    commit: Annotated[str | None, Query(description="At least the first 7 digits of a SHA")] = None,
    branch: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[Run]:
    """The newest runs first."""
    return lab.runs(project, commit, branch, limit)


@router.get("/runs/{id}", responses=NOT_FOUND | REFUSED)
def run(lab: LabOf, id: int) -> RunDetail:
    """One run with its results."""
    return lab.run(id)
