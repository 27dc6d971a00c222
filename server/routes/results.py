"""Benchmarks that have results."""

from fastapi import APIRouter, Response

from ..access.needs import READS
from ..schema import ProjectBenchmark
from .deps import REFUSED, LabOf
from .tabular import CSV, WantsCsv, table_of

router = APIRouter(tags=["results"], dependencies=[READS])


@router.get("/benchmarks", response_model=list[ProjectBenchmark], responses=CSV | REFUSED)
def benchmarks(lab: LabOf, wants_csv: WantsCsv, project: str | None = None) -> list[ProjectBenchmark] | Response:
    """The benchmarks that have results, by project and name, with the machines that they were measured on."""
    found = lab.benchmarks(project)
    return table_of(found) if wants_csv else found
