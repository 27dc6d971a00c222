"""Answers that a client has already are not sent again, and answers go out packed."""

import httpx
import pytest

from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin

from .conftest import BASE, HEAD, Files

ADDRESSES = [
    "/api/v1/projects",
    "/api/v1/runs",
    "/api/v1/runs?format=csv",
    "/api/v1/runs/1",
    "/api/v1/traces/2",
    "/api/v1/traces/2/ops",
    "/api/v1/traces/2/steps",
    "/api/v1/traces/4/diff?base=2",
    "/api/v1/traces/2/timeline?start=0&end=1000&width=100",
    "/api/v1/traces/2/timeline/slices/0",
    "/api/v1/traces/2/timeline/totals?start=0&end=1000",
    "/api/v1/traces/2/flame",
    "/api/v1/benchmarks",
    "/api/v1/series?project=demo",
    f"/api/v1/compare?base={BASE}&head={HEAD}",
    "/api/v1/standings?project=demo",
    "/api/v1/judgements",
    "/openapi.json",
    "/runs",
    "/series?project=demo",
    "/traces/2",
]


@pytest.fixture
def filled(local: LocalLab, files: Files) -> LocalLab:
    for number, commit in enumerate((BASE, HEAD)):
        said = Origin(project="demo", commit=commit)
        for path in (files.run(f"{number}.run.json", 1.0, 1.1), files.trace(f"{number}.json", 100 + 50 * number, 40)):
            local.upload(path, Label(name=path.name, said=said))
    return local


def traces(address: str, filled: LocalLab) -> str:
    """The address with the number of its trace: uploads of results have none."""
    first, second = sorted(trace.id for run in filled.runs() for trace in run.traces)
    return (
        address.replace("traces/2", f"traces/{first}")
        .replace("traces/4", f"traces/{second}")
        .replace("base=2", f"base={first}")
    )


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_same_answer_is_not_sent_again(client: httpx.Client, filled: LocalLab, address: str) -> None:
    address = traces(address, filled)
    first = client.get(address)
    assert (first.status_code, bool(first.content)) == (200, True), first.text
    tag = first.headers["etag"]
    assert "no-cache" in first.headers["cache-control"]
    for known in (tag, f'"another", {tag}'):
        again = client.get(address, headers={"if-none-match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    other = client.get(address, headers={"if-none-match": '"another"'})
    assert (other.status_code, other.content) == (200, first.content)


def test_another_answer_has_another_tag(client: httpx.Client, filled: LocalLab, files: Files) -> None:
    before = client.get("/api/v1/runs")
    run = files.run("more.json", 2.0)
    filled.upload(run, Label(name=run.name, said=Origin(project="demo", commit=HEAD)))
    after = client.get("/api/v1/runs", headers={"if-none-match": before.headers["etag"]})
    assert after.status_code == 200 and after.headers["etag"] != before.headers["etag"]
    assert len(after.json()) == len(before.json()) + 1


def test_refusals_and_posts_have_no_tag(client: httpx.Client, filled: LocalLab) -> None:
    for response in (client.get("/api/v1/runs/99"), client.post("/api/v1/sql", json={"query": "select 1"})):
        assert "etag" not in response.headers


@pytest.mark.parametrize(
    "address", ["/api/v1/traces/2/steps", "/api/v1/traces/2/repaired", "/traces/2", "/openapi.json"]
)
def test_answers_are_packed(client: httpx.Client, filled: LocalLab, address: str) -> None:
    address = traces(address, filled)
    plain = client.get(address, headers={"accept-encoding": "identity"})
    packed = client.get(address, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip" and "accept-encoding" in packed.headers["vary"].lower()
    assert packed.content == plain.content
    assert int(packed.headers.get("content-length", 0)) < len(plain.content) / 2
    assert packed.headers.get("etag") == plain.headers.get("etag")


def test_a_trace_goes_out_as_it_came(client: httpx.Client, filled: LocalLab) -> None:
    response = client.get(traces("/api/v1/traces/2/file", filled), headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in response.headers
    assert response.json()["traceEvents"]
