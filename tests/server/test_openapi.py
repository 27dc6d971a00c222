"""The OpenAPI document says what the routes answer: each answer is checked against its own schema."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from .conftest import BASE, HEAD, Files

KINDS: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def errors(value: object, schema: dict[str, Any], document: dict[str, Any], at: str = "") -> list[str]:
    """Where a value breaks a JSON schema, for the keywords that our document uses."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        tried = [errors(value, option, document, at) for option in schema["anyOf"]]
        return [] if [] in tried else min(tried, key=len)
    kind = schema.get("type")
    if kind and (not isinstance(value, KINDS[kind]) or (kind != "boolean" and isinstance(value, bool))):
        return [f"{at}: {value!r} is no {kind}"]
    found = [] if value in schema.get("enum", [value]) else [f"{at}: {value!r} is none of {schema['enum']}"]
    if isinstance(value, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", "properties" not in schema)
        found += [f"{at}.{key} is missing" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            if key in properties:
                found += errors(item, properties[key], document, f"{at}.{key}")
            elif more is False:
                found.append(f"{at}.{key} is not in the schema")
            elif isinstance(more, dict):
                found += errors(item, more, document, f"{at}.{key}")
    if isinstance(value, list):
        for place, item in enumerate(value):
            found += errors(item, schema.get("items", {}), document, f"{at}[{place}]")
    return found


@pytest.fixture
def ask(app: FastAPI, client: httpx.Client) -> Callable[..., Any]:
    """Sends a request, checks the answer against the document, and gives its JSON."""
    document = app.openapi()

    def ask(method: str, path: str, status: int = 200, **content: Any) -> Any:
        response = client.request(method, path, **content)
        assert response.status_code == status, response.text
        template = next(each for each in document["paths"] if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each), path))
        described = document["paths"][template][method.lower()]["responses"][str(status)]
        schema = described["content"]["application/json"]["schema"]
        assert errors(response.json(), schema, document) == []
        return response.json()

    return ask


def test_every_answer_fits_its_schema(ask: Callable[..., Any], files: Files) -> None:
    for process in range(4):
        for commit, seconds in ((BASE, 1.0), (HEAD, 2.0)):
            run = files.run(f"{commit}{process}.json", seconds + process / 100)
            fields = {"commit": commit, "branch": "main", "key": str(process)}
            taken = ask("POST", "/api/v1/uploads", files={"file": run.read_bytes()}, data=fields)
            assert taken["kind"] == "benchmarks"
    for commit, time in ((BASE, 100), (HEAD, 300)):
        trace = files.trace("trace.json", time)
        taken = ask(
            "POST",
            "/api/v1/uploads",
            files={"file": ("trace.json", trace.read_bytes())},
            data={"project": "demo", "commit": commit, "created": "2026-01-31T12:00:00Z"},
        )
    assert [project["name"] for project in ask("GET", "/api/v1/projects")] == ["demo"]
    assert len(ask("GET", "/api/v1/runs")) == 10
    assert ask("GET", f"/api/v1/runs/{taken['run']}")["run"]["traces"][0]["id"] == taken["trace"]
    assert ask("GET", f"/api/v1/traces/{taken['trace']}")["name"] == "trace.json"
    [benchmark] = ask("GET", "/api/v1/benchmarks", params={"project": "demo"})
    name = benchmark["benchmark"]["name"]
    [series] = ask("GET", "/api/v1/series", params={"project": "demo", "benchmark": name})
    assert len(series["points"]) == 8
    comparison = ask("GET", "/api/v1/compare", params={"base": BASE[:7], "head": HEAD[:7]})
    assert comparison["exit_code"] == 1
    assert comparison["report"]["findings"][0]["verdict"] == "regression"
    assert comparison["diff"]["ops"][0]["name"] == "matmul"
    kept = ask("POST", "/api/v1/judgements", json={"project": "demo", "report": comparison["report"]})
    assert ask("GET", "/api/v1/judgements") == [kept]
    assert ask("GET", f"/api/v1/judgements/{kept['id']}") == {"judgement": kept, "report": comparison["report"]}
    answer = ask("POST", "/api/v1/sql", json={"query": "select count(*) as runs, 'x' from runs", "project": "demo"})
    assert answer["rows"] == [[10, "x"]]


def test_every_refusal_fits_its_schema(ask: Callable[..., Any]) -> None:
    for method, path, status, content, sentence in (
        ("GET", "/api/v1/runs/1", 404, {}, "the lab has no run 1; list the runs it has"),
        ("GET", "/api/v1/traces/1", 404, {}, "the lab has no trace 1; list the runs and their traces"),
        ("GET", "/api/v1/traces/1/file", 404, {}, "the lab has no trace 1; list the runs and their traces"),
        (
            "GET",
            "/api/v1/runs/one",
            422,
            {},
            "path id: Input should be a valid integer, unable to parse string as an integer;"
            " /openapi.json says what GET /api/v1/runs/one takes",
        ),
        (
            "GET",
            "/api/v1/compare",
            422,
            {"params": {"base": "main", "head": HEAD}},
            "commit 'main' is no SHA; give at least the first 7 of its 40 hex digits",
        ),
        (
            "GET",
            "/api/v1/compare",
            422,
            {"params": {"head": HEAD}},
            "query base: Field required; /openapi.json says what GET /api/v1/compare takes",
        ),
        (
            "GET",
            "/api/v1/compare",
            422,
            {"params": {"base": BASE, "head": HEAD, "alpha": "2"}},
            "alpha is 2; give a chance between 0 and 1, such as 0.05",
        ),
        (
            "GET",
            "/api/v1/series",
            404,
            {"params": {"project": "demo", "benchmark": "step"}},
            "project demo has no results of benchmark step; list the benchmarks that it has",
        ),
        (
            "POST",
            "/api/v1/uploads",
            422,
            {"data": {"project": "demo"}},
            "body file: Field required; /openapi.json says what POST /api/v1/uploads takes",
        ),
    ):
        assert ask(method, path, status, **content) == {"error": sentence}


def test_unknown_routes_and_methods_are_refused_in_json(client: httpx.Client) -> None:
    unknown = client.get("/api/v1/nothing")
    assert (unknown.status_code, list(unknown.json())) == (404, ["error"])
    wrong = client.delete("/api/v1/runs")
    assert (wrong.status_code, list(wrong.json())) == (405, ["error"])
    assert wrong.headers["allow"] == "GET"


def test_an_unknown_page_is_refused_with_a_page(client: httpx.Client) -> None:
    unknown = client.get("/nothing")
    assert (unknown.status_code, unknown.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no page /nothing; begin at the list of projects." in unknown.text


def test_a_failure_is_json_and_tells_no_secrets(client: httpx.Client, app: FastAPI) -> None:
    def fail() -> None:
        raise RuntimeError("secret")

    app.state.lab.projects = fail
    answer = client.get("/api/v1/projects")
    assert answer.status_code == 500
    assert answer.json() == {"error": "GET /api/v1/projects failed (RuntimeError); the server's log says why"}


def test_a_trace_file_is_downloaded_under_its_name(client: httpx.Client, files: Files) -> None:
    content = files.trace("trace.json", 100).read_bytes()
    taken = client.post(
        "/api/v1/uploads", files={"file": ("a b ☃.json", content)}, data={"project": "demo", "commit": BASE}
    ).json()
    answer = client.get(f"/api/v1/traces/{taken['trace']}/file")
    assert answer.content == content
    assert answer.headers["content-disposition"] == "attachment; filename*=utf-8''a%20b%20%E2%98%83.json"
