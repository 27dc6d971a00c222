"""How the series of a project stand: what moved lately, what drifts, what is no longer measured."""

import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perflab.benchmarks.history import ChangePoint, change_points
from perflab.benchmarks.ledger import Drift, drift
from perflab.benchmarks.stats import Comparison, Verdict, compare, holm, verdict
from perflab.benchmarks.trend import NEEDED

from .ancestry import STALE_COMMITS, STALE_DAYS
from .lab import DEFAULTS
from .schema import Recent, Series

LATELY = 50  # commits: what moved before them is how it is now
SINCE = 20  # commits, the oldest known, that a drift is held against where no release is known


@dataclass(frozen=True, slots=True)
class Move:
    """A series on another level than before.

    Attributes:
        place: of the first commit on the new level, among the series' own.
        ratio: the new level over the old one; worse: whether that is the bad direction.
    """

    place: int
    ratio: float
    worse: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """How one series stands.

    Attributes:
        places: of its commits among those of the project, oldest first.
        values: the median over each commit's runs.
        moves: every change of its level.
        lately: the newest of them, where that is among the project's newest LATELY commits.
        drift: what it lost in steps too small for any commit to be blamed.
        behind: how many commits of the project are newer than its newest; days: by how many days.
    """

    series: Series
    places: Sequence[int]
    values: Sequence[float]
    moves: Sequence[Move]
    lately: Move | None
    drift: Drift | None
    behind: int
    days: int

    def worse(self, ratio: float) -> bool:
        """Whether such a change is for the worse."""
        return (ratio > 1) == (self.series.benchmark.direction == "lower")

    @property
    def stale(self) -> bool:
        return self.behind > STALE_COMMITS or self.days > STALE_DAYS

    @property
    def young(self) -> bool:
        """Whether it has too few commits for a history to tell anything, and runs that tell nothing either."""
        return len(self.values) < NEEDED and not self.moves


def standings(recent: Recent) -> list[Standing]:
    """How each series of the newest commits stands."""
    places = {commit.sha: at for at, commit in enumerate(recent.commits)}
    _, released = release(recent)
    found = [_standing(series, recent, places, released) for series in recent.series]
    return _with_verdicts(found, len(places))


def release(recent: Recent) -> tuple[str, int | None]:
    """The last release behind the newest commit, and how many of the commits are part of it; "" and None where git did
    not tell, or none of them is."""
    newest = recent.commits[-1].facts if recent.commits else None
    if newest is None or newest.release is None or newest.released is None:
        return "", None
    part = [
        commit.facts is not None and commit.facts.behind is not None and commit.facts.behind <= newest.released
        for commit in recent.commits
    ]
    return (newest.release, sum(part)) if any(part) else ("", None)


def _standing(series: Series, recent: Recent, places: dict[str, int], released: int | None) -> Standing:
    runs = runs_by_commit(series)
    values = [statistics.median(each) if len(each) > 1 else each[0] for each in runs.values()]
    own = [places[commit] for commit in runs]
    moves = [_move(series, each) for each in change_points(values)]
    behind = len(places) - 1 - own[-1]
    age = recent.commits[-1].created - recent.commits[own[-1]].created
    return Standing(
        series=series,
        places=own,
        values=values,
        moves=moves,
        lately=_lately(moves, own, len(places)),
        drift=_drift(series, values, moves, None if released is None else bisect_left(own, released)),
        behind=behind,
        days=age.days,
    )


def runs_by_commit(series: Series) -> dict[str, list[float]]:
    """The value of each run, by its commit."""
    runs: dict[str, list[float]] = {}
    for point in series.points:
        runs.setdefault(point.commit, []).append(series.value(point))
    return runs


def _move(series: Series, change: ChangePoint) -> Move:
    return Move(change.index, change.ratio, _worse(series, change.ratio))


def _worse(series: Series, ratio: float) -> bool:
    return (ratio > 1) == (series.benchmark.direction == "lower")


def _lately(moves: Sequence[Move], places: Sequence[int], commits: int) -> Move | None:
    return moves[-1] if moves and places[moves[-1].place] >= commits - LATELY else None


def _drift(series: Series, values: Sequence[float], moves: Sequence[Move], released: int | None) -> Drift | None:
    """What the series lost since the release, to which `released` of its values belong; where none is known, what its
    present level lost since it began."""
    if released is not None:
        positive = min(values) > 0
        return drift(values, released, series.benchmark.direction, DEFAULTS.min_effect) if positive else None
    level = values[moves[-1].place if moves else 0 :]
    if min(level) <= 0:
        return None
    return drift(level, min(SINCE, len(level)), series.benchmark.direction, DEFAULTS.min_effect)


def _with_verdicts(found: Sequence[Standing], commits: int) -> list[Standing]:
    """Where commits are too few for a history, the newest is judged against the one before it, by its runs."""
    compared: dict[int, Comparison] = {}
    for at, standing in enumerate(found):
        runs = list(runs_by_commit(standing.series).values())[-2:]
        if len(standing.values) < NEEDED and len(runs) == 2 and min(*runs[0], *runs[1]) > 0:
            compared[at] = compare(runs[0], runs[1], DEFAULTS.alpha)
    corrected = dict(zip(compared, holm([each.p_value for each in compared.values()]), strict=True))
    return [
        _judged(standing, compared[at], corrected[at], len(compared), commits) if at in compared else standing
        for at, standing in enumerate(found)
    ]


def _judged(standing: Standing, comparison: Comparison, p_value: float, judged: int, commits: int) -> Standing:
    series = standing.series
    said = verdict(
        comparison,
        p_value,
        direction=series.benchmark.direction,
        benchmarks=judged,
        alpha=DEFAULTS.alpha,
        min_effect=DEFAULTS.min_effect,
    )
    if said not in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        return standing
    moves = [Move(len(standing.values) - 1, comparison.ratio, said == Verdict.REGRESSION)]
    return replace(standing, moves=moves, lately=_lately(moves, standing.places, commits))
