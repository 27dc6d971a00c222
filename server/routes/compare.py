"""Two commits or runs side by side."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import TypeAdapter, ValidationError

from perflab.benchmarks.gate import GateOptions

from ..access.needs import READS
from ..errors import Refused
from ..lab import DEFAULTS
from ..schema import CommitComparison
from .compare_views import RUN, number
from .deps import AMBIGUOUS, NOT_FOUND, REFUSED, LabOf
from .tabular import CSV, WantsCsv, table_of

router = APIRouter(tags=["compare"], dependencies=[READS])

Side = Annotated[str, Query(description="At least the first 7 digits of a SHA, or `run:` and its id")]


@router.get("/compare", response_model=CommitComparison, responses=CSV | NOT_FOUND | AMBIGUOUS | REFUSED)
def compare(
    lab: LabOf,
    wants_csv: WantsCsv,
    base: Side,
    head: Side,
    project: str | None = None,
    alpha: Annotated[float, Query(description="Chance that identical code fails")] = DEFAULTS.alpha,
    min_effect: Annotated[float, Query(description="Smallest share that matters: 0.05 is 5 %")] = DEFAULTS.min_effect,
    renamed: Annotated[str, Query(description="New names of benchmarks by their old ones, a JSON object")] = "{}",
) -> CommitComparison | Response:
    """Judge the results of commit or run `head` against those of `base`, and compare one trace of each; as CSV the
    verdicts alone."""
    options = GateOptions(alpha, min_effect, _names(renamed))
    if base.startswith(RUN) or head.startswith(RUN):
        found = lab.compare_runs(number(base, RUN), number(head, RUN), options)
    else:
        found = lab.compare(base, head, project, options)
    return table_of(found.report.findings) if wants_csv else found


def _names(text: str) -> dict[str, str]:
    try:
        return TypeAdapter(dict[str, str]).validate_json(text)
    except ValidationError:
        raise Refused(f"renamed is {text[:60]!r}; give a JSON object of new names by old ones") from None
