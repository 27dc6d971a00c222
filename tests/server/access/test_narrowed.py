"""A token for one project shows nothing of the others."""

import inspect
import json

import httpx
import pytest
from fastapi import FastAPI

from perflab.server.access.narrowed import NarrowedLab
from perflab.server.client import NEW_JUDGEMENT
from perflab.server.errors import Forbidden
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, NewJudgement, Origin

from ..conftest import BASE, Files
from ..test_judgements import FAIL
from .conftest import Call
from .test_routes import filled, routes

# What is of the project that the caller may not see is named by words that are nowhere else.
SHA = "5ec2e7" + "0" * 34
HIDDEN = ("veiled", SHA, "secret_op", "secret_benchmark", "secret.json")


@pytest.fixture
def two(local: LocalLab, files: Files) -> LocalLab:
    """Projects that may be seen and that may not; everything with the number 1 is of the latter."""
    for project, commit, what in (("veiled", SHA, "secret"), ("seen", BASE, "open")):
        label = Label(name=f"{what}.json", said=Origin(project=project, commit=commit, branch=f"{what}_branch"))
        trace = files.trace("trace.json", 100).read_text().replace("matmul", f"{what}_op")
        for name, text in (
            ("t.json", trace),
            ("r.json", files.run("r", 1.0, benchmark=f"{what}_benchmark").read_text()),
        ):
            with files.write(name, text.replace('"demo"', f'"{project}"')).open("rb") as file:
                local.upload_stream(file, label)
        local.keep_judgement(project, FAIL)
    return local


def hidden_words(text: str) -> set[str]:
    return {word for word in HIDDEN if word in text}


def test_the_words_are_there_for_those_who_may_see_them(two: LocalLab, caller: Call) -> None:
    reader = caller("read", "veiled")
    seen = "".join(reader.get(path).text for path in ("/runs", "/api/v1/runs/1", "/traces/1", "/series?project=veiled"))
    assert hidden_words(seen) == set(HIDDEN)


QUERIES = (
    {},
    {"project": "veiled"},
    {"all": "true"},
    {"project": "veiled", "benchmark": "secret_benchmark"},
    {"commit": SHA},
    {"base": "trace:1", "head": "trace:2"},
    {"base": "trace:2", "head": "trace:1"},
    {"base": SHA, "head": SHA},
    {"base": SHA, "head": SHA, "project": "veiled"},
    {"base": BASE, "head": SHA},
    {"start": "0", "end": "1000000", "width": "100", "name": "secret"},
)


def test_no_route_shows_another_project(two: LocalLab, app: FastAPI, caller: Call) -> None:
    admin = caller("admin", "seen")
    tried = 0
    for route in routes(app):
        for query in QUERIES if "GET" in route.methods else ():
            answer = admin.get(filled(route), params=query)
            asked = {word for word in HIDDEN if word in str(query.values())}
            found = hidden_words(answer.text) - asked
            assert answer.status_code < 500, (route.path, query)
            assert not found, (route.path, query, answer.text[:2000])
            tried += 1
    assert tried > 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/runs/1", 404),
        ("/api/v1/traces/1", 404),
        ("/api/v1/traces/1/file", 404),
        ("/api/v1/traces/1/repaired", 404),
        ("/api/v1/traces/1/timeline?start=0&end=1000&width=10", 404),
        ("/api/v1/traces/1/timeline/slices/0", 404),
        ("/api/v1/traces/1/timeline/search?name=secret_op", 404),
        ("/api/v1/traces/1/timeline/totals?start=0&end=1000", 404),
        ("/api/v1/judgements/1", 404),
        ("/api/v1/series?project=veiled", 404),
        ("/runs/1", 404),
        ("/traces/1", 404),
        ("/gates/1", 404),
        ("/api/v1/runs/3", 200),
        ("/api/v1/traces/2", 200),
        ("/api/v1/traces/2/timeline/slices/0", 200),
        ("/api/v1/judgements/2", 200),
        ("/traces/2", 200),
    ],
)
def test_what_is_of_another_project_is_not_there(two: LocalLab, caller: Call, path: str, status: int) -> None:
    assert caller("read", "seen").get(path).status_code == status


def test_questions_reach_one_project(two: LocalLab, caller: Call) -> None:
    reader = caller("read", "seen")

    def ask(query: str, **more: str | int) -> httpx.Response:
        return reader.post("/api/v1/sql", json={"query": query, **more})

    assert ask("select distinct project from runs").json()["rows"] == [["seen"]]
    assert ask("select distinct benchmark from results").json()["rows"] == [["open_benchmark"]]
    assert ask("select count(*) from slices where name = 'secret_op'").json()["rows"] == [[0]]
    assert ask("select 1 from runs", project="veiled").status_code == 404
    assert ask("select 1 from runs", commits=SHA).status_code == 404
    assert ask("select 1 from slices", trace=1).status_code == 404


def test_lists_hold_one_project(two: LocalLab, caller: Call) -> None:
    reader = caller("read", "seen")
    assert [project["name"] for project in reader.get("/api/v1/projects").json()] == ["seen"]
    assert {run["project"] for run in reader.get("/api/v1/runs").json()} == {"seen"}
    assert reader.get("/api/v1/runs", params={"project": "veiled"}).json() == []
    assert {found["project"] for found in reader.get("/api/v1/benchmarks").json()} == {"seen"}
    assert [found["project"] for found in reader.get("/api/v1/judgements").json()] == ["seen"]


def test_uploads_go_to_its_project_alone(two: LocalLab, caller: Call, files: Files) -> None:
    writer = caller("write", "seen")
    run = files.run("run.json", 2.0).read_text()
    assert '"demo"' in run

    def upload(**fields: str) -> httpx.Response:
        return writer.post("/api/v1/uploads", files={"file": run.encode()}, data={"commit": BASE, **fields})

    assert upload().json()["project"] == "seen"  # whatever the file says
    assert upload(project="seen").json()["project"] == "seen"
    refused = upload(project="veiled")
    assert refused.status_code == 403
    assert refused.json() == {"error": "the token is for project seen and this is of veiled; use another token"}
    new = NEW_JUDGEMENT.dump_python(NewJudgement(project="veiled", report=FAIL), mode="json")
    assert writer.post("/api/v1/judgements", json=new).status_code == 403
    assert writer.post("/api/v1/judgements", json=new | {"project": "seen"}).status_code == 200
    assert json.dumps([project.name for project in two.projects()]) == '["seen", "veiled"]'


def test_every_method_of_a_lab_is_narrowed(two: LocalLab, files: Files) -> None:
    """One that is not would reach for the store, and fail."""
    methods = {name for name, _ in inspect.getmembers(LocalLab, inspect.isfunction) if not name.startswith("_")}
    assert methods <= NarrowedLab.__dict__.keys()
    narrowed = NarrowedLab(two, "seen")
    assert not hasattr(narrowed, "_store")
    with pytest.raises(Forbidden):
        narrowed.upload(files.run("r", 1.0), Label(name="r", said=Origin(project="veiled", commit=BASE)))
    narrowed.close()
    assert two.projects()
