"""How series stand: what moved, drifts or is stale, over histories made by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Direction
from perflab.server.glances import Glances
from perflab.server.lab import LocalLab
from perflab.server.schema import Measured, Point, Recent, Series
from perflab.server.settings import Settings
from perflab.server.standing import Move, standings
from tests.dashboards import history

MACHINE = Machine.of(name="ada", cpu="A CPU", cores=2, os="Linux x86_64", python="CPython 3.11")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def commit(number: int) -> str:
    return f"{number:040x}"


def recent(
    values: Sequence[Sequence[float]], *, direction: Direction = "lower", after: int = 0, apart: timedelta | None = None
) -> Recent:
    """A project with one series: the runs of each commit, and `after` more commits at which it was not measured."""
    apart = apart or timedelta(hours=1)
    commits = [Measured(sha=commit(at), branch="main", created=NOON + at * apart) for at in range(len(values) + after)]
    points = [
        Point(
            run=at,
            commit=commit(at),
            branch="main",
            created=commits[at].created,
            samples=1,
            minimum=value,
            median=value,
            dirty=False,
        )
        for at, runs in enumerate(values)
        for value in runs
    ]
    benchmark = Benchmark("test_step", direction=direction)
    series = Series(project="demo", benchmark=benchmark, machine=MACHINE, points=tuple(points))
    return Recent(project="demo", commits=tuple(commits), series=(series,), missing=())


def level(count: int, height: float) -> list[list[float]]:
    """Commits with one run each, within half a percent of a height."""
    return [[height * (1 + 0.005 * ((7 * at) % 11 - 5) / 5)] for at in range(count)]


def test_a_step_is_found_where_it_is() -> None:
    (found,) = standings(recent(level(40, 1.0) + level(20, 1.2)))
    assert found.lately is not None and found.moves == [found.lately]
    assert found.lately.place == 40 and found.lately.worse
    assert found.lately.ratio == pytest.approx(1.2, rel=0.01)
    assert not found.stale and found.drift is None


def test_more_is_better_where_it_says_so() -> None:
    (found,) = standings(recent(level(40, 1.0) + level(20, 1.2), direction="higher"))
    assert found.lately is not None and not found.lately.worse


def test_what_moved_long_ago_is_how_it_is_now() -> None:
    (found,) = standings(recent(level(40, 1.0) + level(60, 1.2)))
    assert [move.place for move in found.moves] == [40]
    assert found.lately is None


def test_runs_of_two_commits_are_judged() -> None:
    base, head = [1.0, 1.01, 1.02, 1.03, 1.04], [1.3, 1.31, 1.32, 1.33, 1.34]
    (found,) = standings(recent([base, head]))
    assert found.lately == Move(1, pytest.approx(1.32 / 1.02), True)  # the median of all ratios
    (same,) = standings(recent([base, base]))
    assert same.lately is None and same.young
    (few,) = standings(recent([base[:1], head[:1]]))
    assert few.lately is None and few.young


def test_a_series_that_stopped_is_stale() -> None:
    (found,) = standings(recent(level(20, 1.0), after=51))
    assert (found.behind, found.stale) == (51, True)
    (fresh,) = standings(recent(level(20, 1.0), after=3))
    assert (fresh.behind, fresh.stale) == (3, False)
    (old,) = standings(recent(level(20, 1.0), after=1, apart=timedelta(days=31)))
    assert old.stale


def test_a_slow_loss_is_a_drift() -> None:
    values = level(30, 1.0) + [[one[0] * 1.0008**at] for at, one in enumerate(level(60, 1.0))]
    (found,) = standings(recent(values))
    assert found.moves == []
    assert found.drift is not None and found.drift.since.ratio == pytest.approx(1.046, abs=0.01)


def test_a_glance_is_kept_until_something_comes(tmp_path: Path) -> None:
    lab = LocalLab.open(Settings(lab=tmp_path / "lab"), create=True)
    history.fill(lab, 12, 4)
    glances = Glances(lab)
    first = glances.of("trainer")
    assert [commit.sha for commit in first.recent.commits] == [history.sha(number) for number in range(12)]
    # The last benchmark ended after the ninth commit.
    assert [len(found.values) for found in first.standings] == [12, 12, 12, 9]
    assert glances.of("trainer") is first
    history.fill(lab, 13, 4)
    assert [len(found.values) for found in glances.of("trainer").standings] == [13, 13, 13, 9]
    lab.close()


def test_only_the_newest_commits_are_read(tmp_path: Path) -> None:
    lab = LocalLab.open(Settings(lab=tmp_path / "lab"), create=True)
    history.fill(lab, 20, 4)
    found = lab.recent("trainer", 4)
    assert [commit.sha for commit in found.commits] == [history.sha(number) for number in range(16, 20)]
    assert [len(series.points) for series in found.series] == [4, 4, 4]
    # Of no commit shown, but known.
    assert [benchmark.name for benchmark in found.missing] == [history.benchmarks(4)[-1].name]
    assert lab.recent("nothing", 4) == Recent(project="nothing", commits=(), series=(), missing=())
    lab.close()
