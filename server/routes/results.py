"""Benchmarks that have results."""

from fastapi import APIRouter

from ..access.needs import READS
from ..schema import ProjectBenchmark
from .deps import REFUSED, LabOf

router = APIRouter(tags=["results"], dependencies=[READS])


@router.get("/benchmarks", responses=REFUSED)
def benchmarks(lab: LabOf, project: str | None = None) -> list[ProjectBenchmark]:
    """The benchmarks that have results, by project and name, with the machines that they were measured on."""
    return lab.benchmarks(project)
