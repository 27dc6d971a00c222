"""Questions in SQL to a lab: in this process, over HTTP and from the command line."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from perflab.server.errors import Refused
from perflab.server.lab import Lab
from perflab.server.schema import Label, Origin

from .conftest import BASE, HEAD, Files, Perflab

DOCS = (Path(__file__).parents[2] / "docs/sql.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(r"^```sql\n(.*?)^```$", DOCS.split("## Over a lab")[1], re.MULTILINE | re.DOTALL)


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


def test_a_commit_alone(lab: Lab, files: Files) -> None:
    fill(lab, files)
    assert lab.ask("select count(*) from slices", commit=HEAD[:8]).rows == [[9]]
    assert lab.ask("select count(*) from slices", "demo").rows == [[18]]


def test_an_empty_lab_has_the_tables(lab: Lab) -> None:
    for table in ("runs", "commits", "traces", "results", "series"):
        answer = lab.ask(f"from {table}")
        (told,) = re.findall(rf"^\| `{table}` \| (.*) \|$", DOCS, re.MULTILINE)
        assert answer.columns == told.replace(", of a lab also ", " ").replace("`", "").split()
        assert answer.rows == []


def test_the_questions_of_the_docs(lab: Lab, files: Files) -> None:
    fill(lab, files)
    assert len(QUESTIONS) == 6
    answers = [lab.ask(question) for question in QUESTIONS]
    assert all(answer.columns for answer in answers)
    by_commit = answers[1]
    assert by_commit.rows == [[BASE, 1e-4, 1], [HEAD, 1.5e-4, 1]]
    assert answers[2].rows == [["test_step", '{"n": "1"}', pytest.approx(1.5)]]
    assert sorted(answers[3].rows) == [[HEAD, 150_000.0, 3], [BASE, 100_000.0, 3]]


@pytest.mark.parametrize("query", ["copy (select 1) to '/tmp/x'", "select * from read_csv('/etc/passwd')", "selec"])
def test_what_is_refused(lab: Lab, query: str) -> None:
    with pytest.raises(Refused):
        lab.ask(query)


def test_over_http(client: httpx.Client) -> None:
    response = client.post("/api/v1/sql", json={"query": "select 1 as one, 'a' as text"})
    assert response.json() == {"columns": ["one", "text"], "rows": [[1, "a"]], "cut": False}
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
