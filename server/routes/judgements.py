"""What gates came to."""

from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Query, Request, Response

from ..access.needs import READS, WRITES, tell
from ..schema import Judgement, JudgementDetail, NewJudgement
from ..webhooks import Webhooks
from .deps import NOT_FOUND, REFUSED, LabOf
from .tabular import CSV, WantsCsv, table_of

router = APIRouter(tags=["judgements"], dependencies=[READS])


@router.post("/judgements", responses=REFUSED, dependencies=[WRITES])
def keep_judgement(lab: LabOf, new: NewJudgement, request: Request, after: BackgroundTasks) -> Judgement:
    """Keep a gate's report. One that did not pass, and the first that passes again, is told to the webhooks."""
    before = lab.judgements(new.project, limit=1)
    kept = lab.keep_judgement(new.project, new.report)
    tell(request, f"judgement {kept.id} of {kept.project}: {kept.headline}")
    if kept.exit_code or (before and before[0].exit_code):
        webhooks: Webhooks = request.app.state.webhooks
        after.add_task(webhooks.tell, kept, f"{request.base_url}gates/{kept.id}")
    return kept


@router.get("/judgements", response_model=list[Judgement], responses=CSV | REFUSED)
def judgements(
    lab: LabOf,
    wants_csv: WantsCsv,
    project: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[Judgement] | Response:
    """What gates came to, the newest first."""
    found = lab.judgements(project, limit)
    return table_of(found) if wants_csv else found


@router.get("/judgements/{id}", responses=NOT_FOUND | REFUSED)
def judgement(lab: LabOf, id: int) -> JudgementDetail:
    """What one gate came to, with its report."""
    return lab.judgement(id)
