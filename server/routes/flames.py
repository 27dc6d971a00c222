"""The flame graph of a trace, alone or against another one."""

from typing import Annotated

from fastapi import APIRouter, Query

from perflab.dashboards.flame import Flame, lay_out
from perflab.dashboards.study import study
from perflab.profiler.analysis.trees import TreeOf, time_tree

from ..access.needs import READS
from .deps import NOT_FOUND, REFUSED, LabOf

router = APIRouter(prefix="/traces/{id}/flame", tags=["flame"], dependencies=[READS])


@router.get("", responses=NOT_FOUND | REFUSED)
def flame(
    lab: LabOf,
    id: int,
    of: Annotated[TreeOf, Query(description="ops, the functions of Python, or modules")] = "ops",
    base: Annotated[int | None, Query(description="the trace to be compared with")] = None,
    step: Annotated[int | None, Query(description="of this step alone")] = None,
) -> Flame:
    """The boxes of a flame graph, as columns; with `base`, the difference of two traces. Times are ns of a step, the
    mean of the usual ones unless one is named."""
    trace = lab.read_trace(id)
    head = study(trace).tree(of) if step is None else time_tree(trace, of, step)
    return lay_out(head, None if base is None else study(lab.read_trace(base)).tree(of))
