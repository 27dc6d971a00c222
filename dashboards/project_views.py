"""What the pages of a project are given: its overview, the list of its series, the grid of its benchmarks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .grid import GridRow
from .views import RunRow, SeriesChange

State = Literal["worse", "drift", "better", "steady", "stale", "young"]


@dataclass(frozen=True, kw_only=True)
class ProjectRow:
    """A project in the list of all."""

    name: str
    runs: int
    latest: datetime


@dataclass(frozen=True, kw_only=True)
class CommitMark:
    """A commit on the axis of a project; `created` is when it was first measured, `subject` and `authored` are git's
    words, where they are known."""

    sha: str
    branch: str | None
    created: datetime
    subject: str = ""
    authored: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SeriesRow:
    """A series as lists show it. `values` are medians over a commit's runs, `places` where these commits stand among
    those of the project, both oldest first; the places of `changes` are among the values.

    `ratio` is what its state says: of the last change, or of the drift; None where nothing changed. `note` says it in
    words.
    """

    benchmark: str
    params: str
    unit: str
    direction: str
    machine: str
    address: str
    places: Sequence[int]
    values: Sequence[float]
    changes: Sequence[SeriesChange]
    state: State
    ratio: float | None
    note: str

    @property
    def title(self) -> str:
        return f"{self.benchmark} [{self.params}]" if self.params else self.benchmark

    @property
    def suite(self) -> str:
        """What stands before the last `::` of its name: the file of a test."""
        return self.benchmark.rpartition("::")[0]

    @property
    def short(self) -> str:
        """Its name without the suite."""
        return self.benchmark.rpartition("::")[2]


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A benchmark that changed, as `ratio` to what it was."""

    title: str
    address: str
    ratio: float
    worse: bool


@dataclass(frozen=True, kw_only=True)
class Event:
    """What happened to a project: a commit that moved benchmarks, or what a gate came to; `subject` is git's word.

    `base` is the commit before, empty where it is not known; `result` and `gate` are the gate's, if there was one;
    `cause` is the largest line of the bill, empty where it is not known; `cause_at` is where it is had then, empty
    where no traces tell it.
    """

    when: datetime
    head: str
    base: str
    moved: Sequence[Moved]
    subject: str = ""
    result: str = ""
    gate: int | None = None
    sentence: str = ""
    cause: str = ""
    cause_at: str = ""


@dataclass(frozen=True, kw_only=True)
class OverviewView:
    """A project at a glance. `commits` are its newest, oldest first, and everything is said of these alone; what moved
    in the newest `lately` of them is news. Drifts are since `release`, where it is known."""

    project: str
    commits: Sequence[CommitMark]
    series: Sequence[SeriesRow]
    missing: Sequence[str]
    events: Sequence[Event]
    runs: Sequence[RunRow]
    lately: int
    release: str = ""


@dataclass(frozen=True, kw_only=True)
class SeriesListView:
    """Every series of a project, as its newest commits know it; `missing` are benchmarks that only older ones have."""

    project: str
    commits: Sequence[CommitMark]
    series: Sequence[SeriesRow]
    missing: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class GridView:
    """The benchmarks of a project over its newest commits, oldest first."""

    project: str
    commits: Sequence[CommitMark]
    rows: Sequence[GridRow]
