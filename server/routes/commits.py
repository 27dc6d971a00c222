"""What git says of commits."""

from fastapi import APIRouter

from ..access.needs import READS, WRITES
from ..schema import CommitFacts, NewFacts
from .deps import NOT_FOUND, REFUSED, LabOf

router = APIRouter(tags=["commits"], dependencies=[READS])


@router.put("/commits", responses=REFUSED, dependencies=[WRITES])
def describe(lab: LabOf, new: NewFacts) -> int:
    """Keep what git says of commits; how many of them the lab has runs of. Those of others are not kept."""
    return lab.describe(new.project, new.commits)


@router.get("/commits", responses=NOT_FOUND | REFUSED)
def commits(lab: LabOf, project: str) -> list[CommitFacts]:
    """What git said of the commits of a project, as far as it is known."""
    return lab.commits(project)
