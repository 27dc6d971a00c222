"""What git says of commits: kept with them, and what they are ordered by."""

import io
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from perflab.server.client import Client
from perflab.server.git import facts
from perflab.server.lab import LocalLab
from perflab.server.schema import CommitFacts, Label
from perflab.server.settings import Settings
from perflab.server.standing import release, standings
from tests.dashboards import history

AUTHORED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LocalLab]:
    lab = LocalLab.open(Settings(lab=tmp_path / "lab"), create=True)
    yield lab
    lab.close()


def told(number: int, **more: object) -> CommitFacts:
    return replace(
        CommitFacts(sha=history.sha(number), subject=f"commit {number}", authored=AUTHORED), behind=number, **more
    )


def test_commits_stand_after_their_ancestors(lab: LocalLab) -> None:
    # Measured from the newest to the oldest, as a bisection or a backfill does.
    for number, run in enumerate(history.runs(4, 1)):
        later = replace(run, created=history.BEGIN - timedelta(hours=number), results=run.results)
        if run.results:
            lab.upload_stream(io.BytesIO(later.to_json().encode()), Label(name="run.json"))
    measured = [point.commit for point in lab.series("trainer")[0].points]
    assert measured == [history.sha(number) for number in (2, 1, 0)]
    assert lab.describe("trainer", [told(0), told(2)]) == 2
    # Of the second nothing is known: it stays where its first run puts it.
    assert [point.commit for point in lab.series("trainer")[0].points] == [history.sha(number) for number in (0, 1, 2)]
    assert [commit.facts for commit in lab.recent("trainer", 10).commits] == [told(0), None, told(2)]


def test_results_of_a_dirty_tree_give_way_to_those_of_the_commit(lab: LocalLab) -> None:
    measured, other = (run for run in history.runs(2, 2) if run.results)
    slow = tuple(replace(result, samples=(9.0,)) for result in measured.results)

    def points() -> set[tuple[str, float, bool]]:
        every = lab.series("trainer", measured.results[0].benchmark.name)[0].points
        return {(point.commit, point.median, point.dirty) for point in every}

    for run in (replace(measured, results=slow, dirty=True), other):
        lab.upload_stream(io.BytesIO(run.to_json().encode()), Label(name="run.json"))
    (first,) = points() - {each for each in points() if each[0] == other.commit}
    assert first == (measured.commit, 9.0, True)
    lab.upload_stream(io.BytesIO(measured.to_json().encode()), Label(name="run.json"))
    assert {each[2] for each in points()} == {False} and 9.0 not in {each[1] for each in points()}
    assert len(points()) == 2


def test_facts_go_over_http(client: httpx.Client, local: LocalLab) -> None:
    history.fill(local, 2, 2)
    with Client("http://127.0.0.1", transport=client._transport) as remote:
        assert remote.describe("trainer", [told(0), told(7)]) == 1  # there is no seventh
        assert remote.commits("trainer") == [told(0), local.commits("trainer")[1]]
    assert client.get("/api/v1/commits", params={"project": "nothing"}).json() == []


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_git_tells_the_message_the_time_and_what_lies_behind(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    shas = []
    for number, subject in enumerate(("First", "Fuse the bias: into the matmul", "Third")):
        when = f"2026-01-0{number + 1}T12:00:00+02:00"
        git(folder, "commit", "-q", "--allow-empty", "-m", f"{subject}\n\nmore", "--date", when)
        shas.append(git(folder, "rev-parse", "HEAD"))
        if number == 0:
            git(folder, "tag", "v1.0")
    assert facts(folder, shas[1]) == CommitFacts(
        sha=shas[1],
        subject="Fuse the bias: into the matmul",
        authored=datetime.fromisoformat("2026-01-02T12:00:00+02:00"),
        behind=1,
        release="v1.0",
        released=0,
    )
    assert facts(folder, "0" * 40) is None
    clone = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", "1", folder.as_uri(), clone], check=True)
    shallow = facts(clone, shas[2])
    assert shallow is not None and (shallow.subject, shallow.behind, shallow.release) == ("Third", None, None)


def test_a_drift_is_since_the_release(lab: LocalLab) -> None:
    history.fill(lab, 100, 9)
    found = lab.recent("trainer", 100)
    # The newest commit, the hundredth, has v0.1 behind it: fifty commits behind that, and its own.
    assert release(found) == ("v0.1", 51)
    drifting = {standing.series.benchmark.name for standing in standings(found) if standing.drift}
    # The eighth drifts in the last half, the third is 14 % slower in the last fifth: both lost since the release.
    assert {"ops/pointwise.py::test_gelu", "train/step.py::test_optimizer"} <= drifting
    assert "train/step.py::test_forward" not in drifting
    assert release(replace(found, commits=())) == ("", None)
