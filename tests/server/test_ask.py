"""Questions in SQL to a lab: in this process, over HTTP and from the command line."""

import asyncio
import csv
import io
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from perflab.profiler import columns_file, importers
from perflab.profiler.questions import OF_LAB
from perflab.server.blobs import MemoryBlobs
from perflab.server.errors import NotFound, Refused
from perflab.server.lab import Lab, LocalLab
from perflab.server.routes.ask import AT_ONCE
from perflab.server.schema import CommitFacts, Label, Origin
from perflab.server.settings import Settings
from perflab.server.store import Store

from .conftest import BASE, EMBEDDED, HEAD, NAMELESS, NOON, Files, Perflab

DOCS = (Path(__file__).parents[2] / "docs/sql.md").read_text(encoding="utf-8")


def fill(lab: Lab, files: Files) -> None:
    for commit, matmul_us in ((BASE, 100), (HEAD, 150)):
        said = Origin(project="demo", commit=commit, branch="main")
        lab.upload(files.trace(f"{commit[:4]}.json", matmul_us), Label(name=f"{commit[:4]}.json", said=said))
        run = files.run(f"run{commit[:4]}.json", matmul_us / 1e6, benchmark="test_step", minutes=matmul_us)
        lab.upload(run, Label(name=run.name, said=said))


def test_every_table(lab: Lab, files: Files) -> None:
    fill(lab, files)
    assert lab.ask("select project, count(*) from runs group by all").rows == [["demo", 4]]
    assert lab.ask("select commit from commits order by commit").rows == [[HEAD], [BASE]]
    assert lab.ask("select name, verdict from traces order by name").rows == [
        ["4ead.json", "healthy"],
        ["ba5e.json", "healthy"],
    ]
    assert lab.ask("select benchmark, median from results order by median").rows == [
        ["test_step", 1e-4],
        ["test_step", 1.5e-4],
    ]
    assert lab.ask("select params, results, commits, latest from series").rows == [['{"n": "1"}', 2, 2, 1.5e-4]]
    counted = lab.ask("select runs.commit, sum(self_ns) from slices join traces using (trace) join runs using (run)"
                      " where slices.name = 'matmul' group by all order by all")  # fmt: skip
    assert counted.rows == [[HEAD, 450_000], [BASE, 300_000]]


@EMBEDDED
def test_a_commit_alone(lab: Lab, files: Files) -> None:
    fill(lab, files)
    assert lab.ask("select count(*) from slices", commits=HEAD[:8]).rows == [[9]]
    assert lab.ask("select count(*) from slices", "demo").rows == [[18]]


@EMBEDDED
def test_an_empty_lab_has_the_tables(lab: Lab) -> None:
    for table in ("runs", "commits", "traces", "results", "series"):
        answer = lab.ask(f"from {table}")
        (told,) = re.findall(rf"^\| `{table}` \| (.*) \|$", DOCS, re.MULTILINE)
        assert answer.columns == told.replace(", of a lab also ", " ").replace("`", "").split()
        assert answer.rows == []


@EMBEDDED
@pytest.mark.parametrize("query", ["copy (select 1) to '/tmp/x'", "select * from read_csv('/etc/passwd')", "selec"])
def test_what_is_refused(lab: Lab, query: str) -> None:
    with pytest.raises(Refused):
        lab.ask(query)


@EMBEDDED
def test_over_http(client: httpx.Client) -> None:
    response = client.post("/api/v1/sql", json={"query": "select 1 as one, 'a' as text"})
    answer = response.json()
    assert answer.pop("seconds") < 30
    assert answer == {
        "columns": ["one", "text"],
        "types": ["INTEGER", "VARCHAR"],
        "rows": [[1, "a"]],
        "limit": 10_000,
        "cut": False,
    }
    refused: Any = client.post("/api/v1/sql", json={"query": "attach 'x'"})
    assert refused.status_code == 422
    assert refused.json()["error"].startswith("ask one SELECT")
    assert client.post("/api/v1/sql", json={}).status_code == 422


def test_from_the_command_line(perflab: Perflab, files: Files) -> None:
    trace = files.trace("step.json", 100)
    code, out, _ = perflab("sql", "select name, count(*) as calls from slices group by name order by name", str(trace))
    assert code == 0
    assert out.splitlines() == [
        "name            calls",
        "--------------  -----",
        "ProfilerStep#0      1",
        "ProfilerStep#1      1",
        "ProfilerStep#2      1",
        "matmul              3",
        "relu                3",
    ]
    code, _, err = perflab("sql", "drop table slices", str(trace))
    assert (code, err.startswith("perflab: ask one SELECT")) == (3, True)


THIRD = "7a5d" * 10


@pytest.fixture
def history(local: LocalLab, files: Files) -> LocalLab:
    """Three commits; matmul takes 100, 150 and 200 us."""
    fill(local, files)
    said = Origin(project="demo", commit=THIRD, branch="main")
    run = files.run("third.json", 2e-4, benchmark="test_step", minutes=200)
    local.upload(run, Label(name="third.json", said=said))
    trace = files.trace("7a5d.json", 200)
    local.upload(trace, Label(name="7a5d.json", said=said, created=NOON + timedelta(minutes=200)))
    return local


@EMBEDDED
@pytest.mark.parametrize(
    ("commits", "reached"),
    [
        (None, [BASE, HEAD, THIRD]),
        (HEAD[:7], [HEAD]),
        (f"{BASE[:7]}..{THIRD[:7]}", [HEAD, THIRD]),
        (f"{BASE[:7]}..{HEAD}", [HEAD]),
        (f"{HEAD[:7]}..", [THIRD]),
        (f"..{HEAD[:7]}", [BASE, HEAD]),
        ("..", [BASE, HEAD, THIRD]),
        (f"{HEAD}..{HEAD}", []),
    ],
)
def test_a_range_of_commits(history: LocalLab, commits: str | None, reached: list[str]) -> None:
    asked = "select distinct commit, avg(self_ns) from slices join traces using (trace) where slices.name = 'matmul'"
    rows = history.ask(f"{asked} group by commit order by 2", "demo", commits).rows
    assert [row[0] for row in rows] == reached
    assert [row[1] for row in rows] == [{BASE: 1e5, HEAD: 1.5e5, THIRD: 2e5}[commit] for commit in reached]


@EMBEDDED
def test_commits_stand_after_their_ancestors(history: LocalLab) -> None:
    """Git says that the third commit, which was measured last, comes before the second."""
    told = [CommitFacts(sha=sha, subject="s", authored=NOON, behind=at) for at, sha in enumerate((BASE, THIRD, HEAD))]
    assert history.describe("demo", told) == 3
    asked = "select commit, place from commits order by place"
    assert history.ask(asked).rows == [[BASE, 0], [THIRD, 1], [HEAD, 2]]
    assert history.ask(asked, "demo", f"{BASE}..{THIRD}").rows == [[THIRD, 0]]
    with pytest.raises(Refused, match="the first comes after the last"):
        history.ask(asked, "demo", f"{HEAD}..{THIRD}")


@EMBEDDED
def test_each_project_counts_its_own_commits(history: LocalLab, files: Files) -> None:
    run = files.run("other.json", 1.0)
    history.upload(run, Label(name="other.json", said=Origin(project="other", commit=HEAD)))
    rows = history.ask("select project, max(place) from commits group by all order by all").rows
    assert rows == [["demo", 2], ["other", 0]]


@EMBEDDED
def test_ranges_that_are_none(history: LocalLab) -> None:
    for commits, project, says in (
        (f"{HEAD}..{BASE}", "demo", "the first comes after the last"),
        ("..", None, "name the project"),
        ("main..", "demo", "'main' is no SHA"),
    ):
        with pytest.raises(Refused, match=says):
            history.ask("select 1", project, commits)
    with pytest.raises(NotFound, match="has no run of commit 1234567"):
        history.ask("select 1", "demo", "1234567..")


@EMBEDDED
def test_one_trace(lab: Lab, files: Files) -> None:
    fill(lab, files)
    (trace, *_) = lab.ask("select trace from traces where name = '4ead.json'").rows[0]
    columns = "select count(*), max(duration_ns) from slices where name = 'matmul'"
    assert lab.ask(columns, trace=trace).rows == [[3, 150_000]]
    assert lab.ask("select commit from runs", trace=trace).rows == [[HEAD]]
    with pytest.raises(NotFound, match="no trace 99"):
        lab.ask("select 1", trace=99)


@EMBEDDED
def test_a_trace_is_read_once(history: LocalLab, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "select sum(self_ns) from slices"
    before = history.ask(asked).rows
    monkeypatch.setattr(importers, "read", lambda file: pytest.fail("a trace was read again"))
    monkeypatch.setattr(columns_file, "load", lambda file: pytest.fail("a trace was read again"))
    assert history.ask(asked).rows == before
    assert history.ask("select count(*) from slices where trace = 1").rows == [[9]]


def test_a_lab_named_by_a_relative_path(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit('a module of the working directory')")
    lab = LocalLab.open(Settings(Path("beside")), create=True)
    fill(lab, files)
    for _ in range(2):
        assert lab.ask("select count(*) from slices").rows == [[18]]
    lab.close()


def test_where_tables_cannot_be_kept(files: Files, store: Store) -> None:
    class Forgets(MemoryBlobs):
        def keep_derived(self, sha256: str, write: Callable[[BinaryIO], None]) -> None: ...

    for blobs in (MemoryBlobs(), Forgets()):
        lab = LocalLab(store, blobs)
        fill(lab, files)
        for _ in range(2):
            assert lab.ask("select count(*) from slices").rows == [[18]]
        store = Store.open(Settings(files.folder / "second"), create=True)
    store.close()


@EMBEDDED
def test_nothing_else_of_the_lab_is_in_reach(history: LocalLab, settings: Settings) -> None:
    """Questions over one trace reach no other's files, nor the lab's own."""
    history.ask("from slices")
    kept = sorted(settings.blobs.rglob("*.parquet"))
    assert len(kept) == 3
    own = history.trace(1).sha256
    (other, *_) = (path for path in kept if not path.name.startswith(own))
    paths = [settings.database, other, settings.blobs / own[:2] / own] * 2
    for read, path in zip(("read_blob", "read_csv", "read_parquet", "read_json_objects", "glob"), paths, strict=False):
        assert path.is_file()
        with pytest.raises(Refused, match="Permission Error"):
            history.ask(f"select *, (select count(*) from slices) from {read}('{path}')", trace=1)


@EMBEDDED
def test_errors_do_not_tell_folders(history: LocalLab, settings: Settings) -> None:
    with pytest.raises(Refused) as refused:
        history.ask("select nothing_of_this_name from slices")
    assert "not found" in str(refused.value)
    assert "/" not in str(refused.value)


@EMBEDDED
def test_an_answer_says_its_limit(client: httpx.Client) -> None:
    answer = client.post("/api/v1/sql", json={"query": "select n from range(1000000) t(n)"}).json()
    assert (len(answer["rows"]), answer["limit"], answer["cut"]) == (10_000, 10_000, True)
    assert answer["rows"][-1] == [9999]


@EMBEDDED
@pytest.mark.parametrize("how", ["format", "accept"])
def test_as_csv(client: httpx.Client, how: str) -> None:
    query = "select 'a,b' as x, null as y, [1, 2] as z, 1.5 as w, true as v union all select 'é', 1, [], 2, false"
    if how == "format":
        response = client.post("/api/v1/sql?format=csv", json={"query": query})
    else:
        response = client.post("/api/v1/sql", json={"query": query}, headers={"accept": "text/csv"})
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert list(csv.reader(io.StringIO(response.text))) == [
        ["x", "y", "z", "w", "v"],
        ["a,b", "", "[1, 2]", "1.5", "true"],
        ["é", "1", "[]", "2.0", "false"],
    ]


@EMBEDDED
def test_too_many_questions_at_once(client: httpx.Client, app: FastAPI) -> None:
    for _ in range(AT_ONCE):
        app.state.places.acquire()
    refused = client.post("/api/v1/sql", json={"query": "select 1"})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["error"] == "4 questions are being answered; ask again in a moment"
    app.state.places.release()
    for _ in range(2):  # the place is given back
        assert client.post("/api/v1/sql", json={"query": "select 1"}).status_code == 200


@EMBEDDED
def test_a_question_ends_with_its_client(app: FastAPI) -> None:
    """The process that answers is stopped long before its limit, and its place is free again."""
    endless = json.dumps({"query": "select count(*) from range(1000000000000000)"}).encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/sql",
        "raw_path": b"/api/v1/sql",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "app": app,
    }
    sent: list[Message] = []
    messages: list[Message] = [{"type": "http.request", "body": endless}, {"type": "http.disconnect"}]

    async def receive() -> Message:
        return messages.pop(0) if len(messages) > 1 else messages[0]

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert [message["status"] for message in sent if message["type"] == "http.response.start"] == [499]
    assert all(app.state.places.acquire(blocking=False) for _ in range(AT_ONCE))


ANSWERS: dict[str, list[list[Any]]] = {
    "Which benchmarks are there, and how slow are they now?": [["demo", "test_step", '{"n": "1"}', 2e-4, "s", 3]],
    "What was the median of a benchmark at each commit?": [[BASE, 1e-4, 1], [HEAD, 1.5e-4, 1], [THIRD, 2e-4, 1]],
    "By how much did each benchmark change between its first and its last commit?": [
        ["test_step", '{"n": "1"}', pytest.approx(2.0)]
    ],
    "What is the 95th percentile of one op's self time, by commit?": [
        [BASE, 100_000.0, 3],
        [HEAD, 150_000.0, 3],
        [THIRD, 200_000.0, 3],
    ],
    "Which ops grew most between the first commit and the last?": [
        ["matmul", 0.3, 0.6, pytest.approx(0.3)],
        ["relu", 0.03, 0.03, 0.0],
    ],
    "Which traces are not healthy?": [],
    "Who measures most?": [[str(NAMELESS), 3, (NOON + timedelta(minutes=200)).isoformat()]],
}


@EMBEDDED
def test_the_ready_questions(history: LocalLab) -> None:
    for question in OF_LAB:
        rows = history.ask(question.sql, "demo").rows
        if question.title == "Who measures most?":
            rows = [row for row in rows if row[0] == str(NAMELESS)]  # the traces' runs have no machine
        assert rows == ANSWERS[question.title], question.title
