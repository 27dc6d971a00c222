"""A benchmark's results over commits."""

from typing import Annotated

from fastapi import APIRouter, Query

from ..access.needs import READS
from ..schema import Series
from .deps import NOT_FOUND, REFUSED, LabOf

router = APIRouter(tags=["series"], dependencies=[READS])


@router.get("/series", responses=NOT_FOUND | REFUSED)
def series(
    lab: LabOf,
    project: str,
    benchmark: Annotated[
        str | None, Query(description="The benchmark's name, one series for each set of parameters; without it, all")
    ] = None,
    machine: Annotated[str | None, Query(description="A machine's fingerprint; without it, every machine's")] = None,
) -> list[Series]:
    """The results of benchmarks over commits, one series for each benchmark and machine."""
    return lab.series(project, benchmark, machine)
