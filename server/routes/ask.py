"""Questions in SQL."""

from fastapi import APIRouter

from ..schema import Answer, Question
from .deps import AMBIGUOUS, NOT_FOUND, REFUSED, LabOf

router = APIRouter(tags=["questions"])


@router.post("/sql", responses=NOT_FOUND | AMBIGUOUS | REFUSED)
def sql(lab: LabOf, question: Question) -> Answer:
    """The answer to one SELECT over the lab's tables: runs, commits, traces, results, series, slices, instants,
    counters, flows, args and instant_args. Nothing can be written, and no file or network be reached."""
    return lab.ask(question.query, question.project, question.commit)
