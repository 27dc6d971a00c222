"""What the pages of a trace show, as tables: its ops, steps, memory, GIL and ranks, and how it differs."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from perflab.dashboards import gil, memory
from perflab.dashboards.gil import GilUse
from perflab.dashboards.memory import MemoryUse
from perflab.dashboards.operators import OpRow, rows
from perflab.dashboards.study import study
from perflab.profiler.analysis.diff import TraceDiff, diff
from perflab.profiler.analysis.groups import GroupBy
from perflab.profiler.analysis.parts import StepParts
from perflab.profiler.analysis.ranks import Ranks

from ..access.needs import READS
from .deps import NOT_FOUND, REFUSED, LabOf
from .tabular import CSV, WantsCsv, table_of

router = APIRouter(prefix="/traces/{id}", tags=["analyses"], dependencies=[READS])


@router.get("/ops", response_model=list[OpRow], responses=CSV | NOT_FOUND | REFUSED)
def trace_ops(lab: LabOf, id: int, wants_csv: WantsCsv, by: GroupBy = "op") -> list[OpRow] | Response:
    """The ops of a trace, grouped: calls, times in ns, bytes; the largest self time first."""
    trace = lab.read_trace(id)
    found = rows(study(trace).averages(by))
    return table_of(found) if wants_csv else found


@router.get("/steps", response_model=list[StepParts], responses=CSV | NOT_FOUND | REFUSED)
def trace_steps(lab: LabOf, id: int, wants_csv: WantsCsv) -> list[StepParts] | Response:
    """The steps of a trace in time, each with the ns of its parts; a trace without steps is one."""
    trace = lab.read_trace(id)
    found = list(study(trace).parts)
    return table_of(found) if wants_csv else found


@router.get("/ranks", response_model=Ranks, responses=CSV | NOT_FOUND | REFUSED)
def trace_ranks(lab: LabOf, id: int, wants_csv: WantsCsv) -> Ranks | Response:
    """The ranks of a run in ns, their collectives, and how far their clocks agree; as CSV the ranks alone. There are
    none in a trace of one rank."""
    trace = lab.read_trace(id)
    found = study(trace).ranks or Ranks((), (), (), None)
    return table_of(found.uses) if wants_csv else found


@router.get("/memory", response_model=MemoryUse, responses=CSV | NOT_FOUND | REFUSED)
def trace_memory(
    lab: LabOf,
    id: int,
    wants_csv: WantsCsv,
    part: Annotated[Literal["alive", "suspects"], Query(description="what is given as CSV")] = "alive",
) -> MemoryUse | Response:
    """The peak of memory and each block that was alive then, and what stays step after step; as CSV one part. The curve
    is in SQL: the tables `memory` and `counters`."""
    trace = lab.read_trace(id)
    found = memory.use(study(trace))
    return table_of(found.alive if part == "alive" else found.growth.survivors) if wants_csv else found


@router.get("/gil", response_model=GilUse, responses=CSV | NOT_FOUND | REFUSED)
def trace_gil(
    lab: LabOf,
    id: int,
    wants_csv: WantsCsv,
    part: Annotated[Literal["threads", "pairs", "waits"], Query(description="what is given as CSV")] = "threads",
) -> GilUse | Response:
    """Which threads held the GIL and which waited, the pairs of both, convoys and the longest waits, in ns; as CSV one
    part."""
    trace = lab.read_trace(id)
    found = gil.use(study(trace))
    tables = {"threads": found.threads, "pairs": found.pairs, "waits": found.waits}
    return table_of(tables[part]) if wants_csv else found


@router.get("/diff", response_model=TraceDiff, responses=CSV | NOT_FOUND | REFUSED)
def trace_diff(
    lab: LabOf,
    id: int,
    base: Annotated[int, Query(description="the trace to compare with")],
    wants_csv: WantsCsv,
    part: Annotated[Literal["bill", "ops", "tree"], Query(description="what is given as CSV")] = "bill",
) -> TraceDiff | Response:
    """What changed in a step against another trace: op by op, the bill of it, and the tree of ops; as CSV one part."""
    found = diff(lab.read_trace(base), lab.read_trace(id))
    tables = {"bill": found.bill, "ops": found.ops, "tree": found.tree.nodes}
    return table_of(tables[part]) if wants_csv else found
