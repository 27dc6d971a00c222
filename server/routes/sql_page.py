"""The page for questions in SQL."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from perflab.dashboards import pages
from perflab.dashboards.sql_view import SqlView
from perflab.profiler.questions import OF_LAB, OF_TRACE
from perflab.profiler.trace_tables import TRACE_TABLES

from ..access.needs import READS
from ..ask import LAB_TABLES
from .deps import LabOf

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[READS])


@router.get("/sql")
def sql_page(lab: LabOf, project: str = "", commits: str = "", trace: int | None = None, q: str = "") -> str:
    """The editor, over one trace, or over the runs of a project and of commits; `q` is asked at once."""
    questions = OF_LAB + OF_TRACE if trace is None else OF_TRACE
    found = None if trace is None else lab.trace(trace)
    return pages.sql_page(
        SqlView(
            project=project if found is None else lab.run(found.run).run.project,
            projects=[known.name for known in lab.projects()],
            commits=commits,
            trace=trace,
            trace_name="" if found is None else found.name,
            query=q or questions[0].sql,
            runs=bool(q),
            questions=questions,
            tables=LAB_TABLES | TRACE_TABLES,
        )
    )
