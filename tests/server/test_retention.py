"""What goes when room is wanted, what stays, and that a copy of the lab is a lab."""

import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.schema import DropSchema

from perflab.benchmarks.postgres import programs
from perflab.server.blobs import Blobs, open_blobs
from perflab.server.lab import LocalLab
from perflab.server.retention import Rules, leaving, remove
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from perflab.server.store import Store

from .conftest import NOON, Files, Perflab

COMMITS = 30


def sha(number: int) -> str:
    return f"{number + 1:040x}"


def fill(lab: LocalLab, files: Files, commits: int = COMMITS, slow_from: int = COMMITS) -> None:
    """A trace and a result of each commit, an hour after the other; results double at `slow_from`."""
    for number in range(commits):
        said = Origin(project="demo", commit=sha(number))
        label = Label(name=f"{number}.json", said=said, created=NOON + timedelta(hours=number))
        lab.upload(files.trace(f"{number}.json", 100 + number), label)
        value = (2.0 if number >= slow_from else 1.0) + number % 3 / 1000
        path = files.run(f"run{number}.json", value, minutes=60 * number)
        lab.upload(path, Label(name=path.name, said=said))


def going(store: Store, blobs: Blobs, rules: Rules) -> list[int]:
    return [int(each.run.commit, 16) - 1 for each in leaving(store, blobs, rules)]


def test_older_commits_are_thinned(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    fill(local, files)
    assert going(store, blobs, Rules()) == []
    assert going(store, blobs, Rules(newest=10, thin=5)) == [at for at in range(20) if at % 5]
    assert going(store, blobs, Rules(newest=10, thin=1)) == []
    assert going(store, blobs, Rules(newest=0, thin=100)) == list(range(1, 30))


def test_named_commits_baselines_and_changes_stay(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    fill(local, files, slow_from=12)
    local.keep_judgement("demo", local.compare(sha(3), sha(29), "demo").report)
    rules = Rules(newest=5, thin=100, named=frozenset({sha(7), "f" * 40}))
    # 0 is the first of those that no rule keeps, and stays as one in a hundred.
    assert going(store, blobs, rules) == [at for at in range(1, 25) if at not in (3, 7, 11, 12)]


def test_a_quota_takes_the_oldest_that_no_rule_keeps(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    fill(local, files)
    sizes = blobs.sizes()
    traces = [trace for run in store.runs(limit=100)[::-1] for trace in run.traces]
    assert len(traces) == COMMITS
    over = sum(sizes[trace.sha256] for trace in traces[:4])
    rules = Rules(newest=20, thin=1, quota=sizes.total() - over)
    assert going(store, blobs, rules) == [0, 1, 2, 3]
    assert going(store, blobs, Rules(newest=20, thin=1, quota=0)) == list(range(10))
    freed = leaving(store, blobs, rules)
    assert [each.why for each in freed] == ["over the quota"] * 4
    remove(store, blobs, freed)
    assert blobs.sizes().total() == sizes.total() - over
    assert going(store, blobs, rules) == []


def test_what_goes_is_gone_and_results_stay(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    fill(local, files, 6)
    before = local.series("demo")
    freed = leaving(store, blobs, Rules(newest=2, thin=2))
    assert [each.run.commit for each in freed] == [sha(1), sha(3)]
    kept = blobs.sizes()
    remove(store, blobs, freed)
    remove(store, blobs, freed)  # as another process that was slower
    assert local.series("demo") == before
    left = [trace.name for run in local.runs("demo") for trace in run.traces]
    assert sorted(left) == ["0.json", "2.json", "4.json", "5.json"]
    assert set(kept) - set(blobs.sizes()) == {each.trace.sha256 for each in freed}
    # And may come again.
    said = Origin(project="demo", commit=sha(1))
    again = local.upload(files.folder / "1.json", Label(name="1.json", said=said))
    assert again.new and again.trace is not None and len(local.read_trace(again.trace).slices) == 9


def test_a_file_of_two_runs_goes_with_the_last(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    path = files.trace("same.json", 100)
    for number in range(3):
        label = Label(
            name="same.json",
            said=Origin(project="demo", commit=sha(number)),
            created=NOON + timedelta(hours=number),
        )
        local.upload(path, label)
    freed = leaving(store, blobs, Rules(newest=0, thin=2))
    assert [(each.run.commit, each.bytes) for each in freed] == [(sha(1), 0)]
    remove(store, blobs, freed)
    assert len(blobs.sizes()) == 1
    assert [len(local.read_trace(trace.id).slices) for run in local.runs() for trace in run.traces] == [9, 9]


def test_the_command_says_what_would_go_and_then_does_it(perflab: Perflab, files: Files) -> None:
    lab = LocalLab.open(Settings(Path("lab")), create=True)
    fill(lab, files, 4)
    lab.close()
    command = ("lab", "gc", "--newest", "1", "--thin", "2", "--lab", "lab")
    code, said, err = perflab(*command, "--dry-run")
    assert (code, err) == (0, "")
    *table, last = said.splitlines()
    assert [line.split()[:5] for line in table[2:]] == [["demo", "0" * 12, "2026-01-31", "2", "1.json"]]
    assert table[2].endswith("thinned: one commit in 2 stays")
    assert last.startswith("1 trace would go, ")
    assert perflab(*command, "--dry-run")[1] == said
    assert perflab(*command)[1].splitlines()[-1] == last.replace("would go", "gone")
    assert perflab(*command)[1] == "0 traces gone, 0 bytes\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--quota", "5 GB"), "'5 GB' is no size; give bytes, or as in 500M or 50G"),
        (("--newest", "-1"), "'-1' is no number of commits; give 0 or more"),
        (("--thin", "0"), "--thin is 0, and one in no commits is none; give 1 to keep every commit"),
        (("--lab", "nowhere"), "there is no lab in nowhere; upload a file to make one, or name another with --lab"),
    ],
)
def test_refusals_of_the_command(perflab: Perflab, arguments: tuple[str, ...], sentence: str) -> None:
    code, _, err = perflab("lab", "gc", *(f"{arguments[0]}={arguments[1]}",))
    assert code == 3
    assert sentence in err


def test_the_backup_of_a_folder_is_a_lab(embedded: Settings, files: Files, tmp_path: Path) -> None:
    """The recipe of docs/team.md, while the lab is open."""
    lab = LocalLab.open(embedded, create=True)
    fill(lab, files, 2)
    copy = tmp_path / "copy"
    copy.mkdir()
    with closing(sqlite3.connect(embedded.database)) as connection:
        connection.execute("vacuum into ?", (str(copy / "lab.sqlite"),))
    fill(lab, files, 3)  # what comes between the two steps is in the files alone, and does no harm
    shutil.copytree(embedded.blobs, copy / "blobs", ignore=shutil.ignore_patterns("derived", "incoming"))
    lab.close()
    second = LocalLab.open(Settings(copy), create=False)
    traces = [trace for run in second.runs("demo") for trace in run.traces]
    assert sorted(trace.name for trace in traces) == ["0.json", "1.json"]
    assert [len(second.read_trace(trace.id).slices) for trace in traces] == [9, 9]
    second.close()


def test_the_backup_of_a_team_is_a_lab(team: Settings, files: Files, tmp_path: Path) -> None:
    """As docs/team.md says, with the files put where S3's client would put them."""
    lab = LocalLab.open(team, create=True)
    fill(lab, files, 2)
    assert team.database_url is not None
    address, _, schema = team.database_url.replace("+psycopg", "").partition("&options=-csearch_path=")
    dump = tmp_path / "lab.dump"
    folder = programs()
    subprocess.run([folder / "pg_dump", "--format=custom", f"--schema={schema}", f"--file={dump}", address], check=True)
    fill(lab, files, 3)
    copies = tmp_path / "copy" / "blobs"
    blobs = open_blobs(team)
    for sha256 in blobs.sizes():
        (copies / sha256[:2]).mkdir(parents=True, exist_ok=True)
        with blobs.open(sha256) as source, open(copies / sha256[:2] / sha256, "wb") as target:
            shutil.copyfileobj(source, target)
    lab.close()

    engine = create_engine(team.database_url)
    with engine.begin() as connection:
        connection.execute(DropSchema(schema, cascade=True))
    engine.dispose()
    subprocess.run([folder / "pg_restore", f"--dbname={address}", dump], check=True)
    second = LocalLab.open(replace(team, lab=tmp_path / "copy", blobs_url=None), create=False)
    traces = [trace for run in second.runs("demo") for trace in run.traces]
    assert sorted(trace.name for trace in traces) == ["0.json", "1.json"]
    assert [len(second.read_trace(trace.id).slices) for trace in traces] == [9, 9]
    second.close()
