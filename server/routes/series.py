"""A benchmark's results over commits."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from ..access.needs import READS
from ..schema import Series
from .deps import NOT_FOUND, REFUSED, LabOf
from .tabular import CSV, WantsCsv, table_of

router = APIRouter(tags=["series"], dependencies=[READS])


@router.get("/series", response_model=list[Series], responses=CSV | NOT_FOUND | REFUSED)
def series(
    lab: LabOf,
    wants_csv: WantsCsv,
    project: str,
    benchmark: Annotated[
        str | None, Query(description="The benchmark's name, one series for each set of parameters; without it, all")
    ] = None,
    params: Annotated[str | None, Query(description="The parameters, as in `batch=64, size=1`")] = None,
    machine: Annotated[str | None, Query(description="A machine's fingerprint; without it, every machine's")] = None,
) -> list[Series] | Response:
    """The results of benchmarks over commits, one series for each benchmark and machine; as CSV a row a result."""
    found = lab.series(project, benchmark, machine, params)
    return table_of(_points(found)) if wants_csv else found


def _points(found: Sequence[Series]) -> Iterator[dict[str, Any]]:
    for each in found:
        of = {"project": each.project, "benchmark": each.benchmark, "fingerprint": each.machine.fingerprint}
        yield from (of | asdict(point) for point in each.points)
