"""What goes when room is wanted, what stays, and that a copy of the lab is a lab."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from sqlalchemy import create_engine
from sqlalchemy.schema import DropSchema

from perflab.benchmarks.postgres import programs
from perflab.server.blobs import Blobs, Staged, open_blobs
from perflab.server.errors import Refused
from perflab.server.keeping import Rule
from perflab.server.lab import LocalLab
from perflab.server.retention import leaving, orphans, remove, remove_orphans, tidy
from perflab.server.schema import CommitFacts, Label, Origin
from perflab.server.settings import Settings
from perflab.server.store import Store
from perflab.server.worker import Worker

from .conftest import EMBEDDED, NOON, Files, Perflab

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


def going(store: Store, blobs: Blobs, rule: Rule, *named: str) -> list[int]:
    return [int(each.run.commit, 16) - 1 for each in leaving(store, blobs, [rule], frozenset(named))]


def test_older_commits_are_thinned(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    fill(local, files)
    assert going(store, blobs, Rule()) == []
    assert going(store, blobs, Rule(newest=10, thin=5)) == [at for at in range(20) if at % 5]
    assert going(store, blobs, Rule(newest=10, thin=1)) == []
    assert going(store, blobs, Rule(newest=0, thin=100)) == list(range(1, 30))


def test_named_commits_baselines_and_changes_stay(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    fill(local, files, slow_from=12)
    local.keep_judgement("demo", local.compare(sha(3), sha(29), "demo").report)
    told = {"subject": "s", "authored": NOON, "release": "v1"}
    local.describe("demo", [CommitFacts(sha=sha(at), behind=at, released=9, **told) for at in (9, 10)])
    # 0 is the first of those that no rule keeps, and stays as one in a hundred.
    assert going(store, blobs, Rule(newest=5, thin=100), sha(7), "f" * 40) == [
        at for at in range(1, 25) if at not in (3, 7, 9, 11, 12)
    ]


def test_a_quota_takes_the_oldest_that_no_rule_keeps(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    fill(local, files)
    sizes = blobs.sizes()
    traces = [trace for run in store.runs(limit=100)[::-1] for trace in run.traces]
    assert len(traces) == COMMITS
    over = sum(sizes[trace.sha256] for trace in traces[:4])
    rule = Rule(newest=20, thin=1, quota=sizes.total() - over)
    assert going(store, blobs, rule) == [0, 1, 2, 3]
    assert going(store, blobs, Rule(newest=20, thin=1, quota=0)) == list(range(10))
    freed = leaving(store, blobs, [rule])
    assert [each.why for each in freed] == ["over the quota"] * 4
    remove(store, blobs, freed)
    assert blobs.sizes().total() == sizes.total() - over
    assert going(store, blobs, rule) == []


def test_what_goes_is_gone_and_results_stay(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    fill(local, files, 6)
    before = local.series("demo")
    freed = leaving(store, blobs, [Rule(newest=2, thin=2)])
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
    freed = leaving(store, blobs, [Rule(newest=0, thin=2)])
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
    assert last.startswith("would go: 1 trace and 0 files that no upload has, ")
    assert perflab(*command, "--dry-run")[1] == said
    assert perflab(*command)[1].splitlines()[-1] == last.replace("would go", "gone")
    assert perflab(*command)[1] == "gone: 0 traces and 0 files that no upload has, 0 bytes\n"


def test_a_project_goes_by_its_own_rule(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    fill(local, files, 8)
    for number in range(4):
        said = Origin(project="other", commit=sha(number))
        name = f"other{number}.json"
        local.upload(files.trace(name, 500 + number), Label(name=name, said=said, created=NOON))
    other = store.runs(project="other")
    size = sum(blobs.sizes()[trace.sha256] for run in other for trace in run.traces)

    def gone(*rules: Rule) -> list[tuple[str, str]]:
        return [(each.run.project, each.why) for each in leaving(store, blobs, rules)]

    assert gone() == []
    assert gone(Rule(project="other", newest=0, thin=2)) == [("other", "thinned: one commit in 2 stays")] * 2
    thin = Rule(newest=0, thin=4)
    assert [project for project, _ in gone(thin)].count("demo") == 6
    assert gone(thin, Rule(project="demo"), Rule(project="other")) == []
    whole = Rule(project="other", newest=0, thin=1, quota=size - 1)
    assert gone(whole) == [("other", "over the project's quota")]
    assert gone(replace(whole, quota=size)) == []


def test_rules_are_kept(store: Store) -> None:
    keeping = store.keeping
    assert keeping.rules() == []
    of_lab, of_demo = Rule(newest=5, thin=2, quota=7 << 40), Rule(project="demo", newest=0)
    for rule in (of_demo, replace(of_lab, thin=9), of_lab):
        keeping.set_rule(rule)
    assert keeping.rules() == [of_lab, of_demo]
    keeping.drop_rule(None)
    keeping.drop_rule("another")
    assert keeping.rules() == [of_demo]
    for wrong in (Rule(thin=0), Rule(newest=-1), Rule(quota=-1), Rule(project=" "), Rule(newest=1 << 60)):
        with pytest.raises(Refused):
            keeping.set_rule(wrong)


def test_the_command_keeps_rules_and_goes_by_them(perflab: Perflab, files: Files) -> None:
    lab = LocalLab.open(Settings(Path("lab")), create=True)
    fill(lab, files, 4)
    lab.close()
    here = ("--lab", "lab")
    assert perflab("lab", "rule", *here)[1] == "no rules: workers remove no traces\n"
    perflab("lab", "rule", *here, "--newest", "1", "--thin", "3")
    _, said, _ = perflab("lab", "rule", *here, "--quota", "7G", "--project", "demo")
    assert said.splitlines() == [
        "traces of the lab stay at the newest 1 commits and at one in 3 older",
        "traces of project demo stay at the newest 100 commits and at one in 10 older, in at most 7,516,192,768 bytes",
    ]
    assert perflab("lab", "gc", *here)[1].startswith("gone: 0 traces and 0 files")
    assert len(perflab("lab", "rule", *here, "--drop", "--project", "demo")[1].splitlines()) == 1
    assert perflab("lab", "gc", *here)[1].splitlines()[-1].startswith("gone: 2 traces and 0 files")
    store = Store.open(Settings(Path("lab")), create=False)
    assert {entry.action for entry in store.register.entries()} == {"set retention", "drop retention", "make room"}
    store.close()


def keep(blobs: Blobs, path: Path) -> str:
    with open(path, "rb") as file, blobs.stage(file) as staged:
        blobs.keep(staged)
        return staged.sha256


def test_files_that_no_upload_has_go(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    fill(local, files, 2)
    kept = set(blobs.sizes())
    lost, refused, waiting = (keep(blobs, files.write(name, name)) for name in ("lost", "refused", "waiting"))
    blobs.keep_derived(f"{lost}.columns", lambda file: None)
    for sha256 in (refused, waiting):
        store.jobs.add(sha256, Label(name="t.json"))
    job = store.jobs.take()
    assert job is not None and job.sha256 == refused
    store.jobs.finish(job, None, "it is no trace")
    found = orphans(store, blobs)
    assert set(found) == {lost, refused}
    assert remove_orphans(store, blobs, found | dict.fromkeys(kept, 1)) == found
    assert set(blobs.sizes()) == kept | {waiting}
    assert blobs.open_derived(f"{lost}.columns") is None


def test_a_file_that_is_just_coming_stays(local: LocalLab, store: Store, blobs: Blobs, files: Files) -> None:
    """Between its rows and their commit nobody sees that an upload has it."""
    threads: list[Thread] = []
    removed: list[dict[str, int]] = []
    stage_and_keep = blobs.keep

    def keep_slowly(staged: Staged) -> None:
        stage_and_keep(staged)
        found = {staged.sha256: staged.size}
        threads.append(Thread(target=lambda: removed.append(remove_orphans(store, blobs, found))))
        threads[0].start()
        threads[0].join(0.05)

    blobs.keep = keep_slowly  # type: ignore[method-assign]
    path = files.trace("t.json", 100)
    taken = local.upload(path, Label(name="t.json", said=Origin(project="demo", commit=sha(0))))
    threads[0].join()
    assert removed == [{}]
    with blobs.open(taken.sha256) as file:
        assert file.read() == path.read_bytes()


@EMBEDDED
def test_what_a_killed_process_left_is_swept(blobs: Blobs, settings: Settings, local: LocalLab, files: Files) -> None:
    fill(local, files, 1)
    kept = blobs.sizes()
    old, new = (settings.blobs / "incoming" / name for name in ("tmpold", "tmpnew"))
    derived = next((settings.blobs / "derived").iterdir()) / "tmpold"
    for path in (old, new, derived):
        path.write_text("half")
    for path in (old, derived):
        os.utime(path, (0, 0))
    blobs.sweep()
    assert [path.exists() for path in (old, new, derived)] == [False, True, False]
    assert blobs.sizes() == kept


def test_a_worker_makes_room(
    local: LocalLab, store: Store, blobs: Blobs, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(local, files, 4)
    lost = keep(blobs, files.write("lost", "lost"))
    store.keeping.set_rule(Rule(newest=1, thin=3))
    monkeypatch.setattr("perflab.server.worker.TIDY_EVERY_S", 0.0)
    stop = Event()
    thread = Thread(target=Worker(store, blobs, store.jobs).work, args=(stop,))
    thread.start()
    while not store.register.entries():
        stop.wait(0.01)
    stop.set()
    thread.join()
    assert [(entry.who, entry.action) for entry in store.register.entries()] == [("a worker", "make room")]
    assert store.register.entries()[0].detail.startswith("2 traces and 1 file that no upload has, ")
    assert lost not in blobs.sizes()
    assert sorted(trace.name for run in local.runs() for trace in run.traces) == ["0.json", "3.json"]
    assert tidy(store, blobs).traces == 0


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
