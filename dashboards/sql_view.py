"""What the SQL page is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perflab.profiler.questions import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlView:
    """What a question is asked of: one trace with its name, or runs of a project and of commits, or all.

    `query` is what the editor begins with, `runs` that it is asked at once; `tables` are the columns by table.
    """

    project: str = ""
    projects: Sequence[str] = ()
    commits: str = ""
    trace: int | None = None
    trace_name: str = ""
    query: str
    runs: bool
    questions: Sequence[Question]
    tables: Mapping[str, Sequence[str]]
