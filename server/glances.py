"""How the projects stand that were looked at, kept until something comes to the lab."""

from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

from .lab import LocalLab
from .schema import Recent
from .standing import Standing, standings

NEWEST = 256  # commits that the pages of a project speak of
KEPT = 8


@dataclass(frozen=True, slots=True)
class Glance:
    """The newest commits of a project, and how its series stand."""

    recent: Recent
    standings: list[Standing]


class Glances:
    """Looks at a project when it is first asked for, and again when the lab has another state than then."""

    def __init__(self, lab: LocalLab) -> None:
        self._lab = lab
        # Of several requests at once the first looks, the others wait for it.
        self._lock = Lock()
        self._recent = lru_cache(KEPT)(self._made)

    def of(self, project: str) -> Glance:
        """The project at a glance."""
        with self._lock:
            return self._recent(project, self._lab.state())

    def _made(self, project: str, state: object) -> Glance:
        recent = self._lab.recent(project, NEWEST)
        return Glance(recent, standings(recent))
