"""Questions in SQL."""

import asyncio
from threading import BoundedSemaphore, Event
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from ..access.needs import READS
from ..errors import Busy
from ..lab import LocalLab
from ..schema import Answer, Question
from .deps import AMBIGUOUS, BUSY, NOT_FOUND, REFUSED, LabOf
from .tabular import CSV, WantsCsv, as_csv

AT_ONCE = 4  # each may take a gigabyte
_LOOKS_S = 0.2  # how often a question is asked whether its client is still there

router = APIRouter(tags=["questions"], dependencies=[READS])


def _places(request: Request) -> BoundedSemaphore:
    places: BoundedSemaphore = request.app.state.places
    return places


Places = Annotated[BoundedSemaphore, Depends(_places)]


@router.post("/sql", response_model=Answer, responses=CSV | NOT_FOUND | AMBIGUOUS | REFUSED | BUSY)
async def sql(
    lab: LabOf, places: Places, request: Request, question: Question, wants_csv: WantsCsv
) -> Answer | Response:
    """The answer to one SELECT over the lab's tables: runs, commits, traces, results, series, slices, instants,
    counters, flows, args, instant_args and memory. Nothing can be written, and no file or network be reached. A
    question is stopped when its client goes away."""
    if not places.acquire(blocking=False):
        raise Busy(f"{AT_ONCE} questions are being answered; ask again in a moment")
    try:
        answer = await _while_there(lab, request, question)
    finally:
        places.release()
    return as_csv(answer.columns, answer.rows) if wants_csv else answer


async def _while_there(lab: LocalLab, request: Request, question: Question) -> Answer:
    gone = Event()
    asked = asyncio.ensure_future(run_in_threadpool(lab.answer, question, gone))
    try:
        while not (await asyncio.wait([asked], timeout=_LOOKS_S))[0]:
            if await request.is_disconnected():
                gone.set()
        return asked.result()
    finally:
        gone.set()
