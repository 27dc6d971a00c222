"""How the series of a project stand: what the overview and the grid show."""

from fastapi import APIRouter, Response

from ..access.needs import READS
from ..schema import Moved, SeriesStanding
from ..standing import Standing
from .deps import NOT_FOUND, REFUSED, GlancesOf
from .tabular import CSV, WantsCsv, table_of

router = APIRouter(tags=["series"], dependencies=[READS])


@router.get("/standings", response_model=list[SeriesStanding], responses=CSV | NOT_FOUND | REFUSED)
def standings(glances: GlancesOf, project: str, wants_csv: WantsCsv) -> list[SeriesStanding] | Response:
    """Each series of a project over its newest commits: its levels, its drift, whether it is still measured."""
    glance = glances.of(project)
    commits = [commit.sha for commit in glance.recent.commits]
    found = [_told(standing, commits) for standing in glance.standings]
    return table_of(found) if wants_csv else found


def _told(standing: Standing, commits: list[str]) -> SeriesStanding:
    own = [commits[place] for place in standing.places]
    return SeriesStanding(
        benchmark=standing.series.benchmark,
        machine=standing.series.machine,
        commits=tuple(own),
        values=tuple(standing.values),
        moves=tuple(Moved(commit=own[move.place], ratio=move.ratio, worse=move.worse) for move in standing.moves),
        drift=standing.drift.best if standing.drift else None,
        behind=standing.behind,
        days=standing.days,
    )
