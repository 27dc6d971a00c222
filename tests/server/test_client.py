"""The client of a server: it waits where it is told to, and carries what the server says."""

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from perflab.server.client import LONGEST_WAIT_S, TRIES, Client
from perflab.server.errors import Busy, NotFound, TooMany
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin, Run

from .conftest import BASE, Files, InProcess

DOCS = (Path(__file__).parents[2] / "docs/api.md").read_text(encoding="utf-8")


class Busier(httpx.BaseTransport):
    """A server that is busy `times` times before it answers."""

    def __init__(self, behind: httpx.BaseTransport, times: int, status: int = 503, retry_after: str = "2") -> None:
        self.behind = behind
        self.left = times
        self.status = status
        self.retry_after = retry_after
        self.seen: list[bytes] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request.read())
        if self.left:
            self.left -= 1
            headers = {"retry-after": self.retry_after}
            return httpx.Response(self.status, headers=headers, json={"error": "too many things at once; wait"})
        return self.behind.handle_request(request)


Make = Callable[..., tuple[Client, Busier, list[float]]]


@pytest.fixture
def busy(app: FastAPI) -> Make:
    def make(*arguments: object, **options: object) -> tuple[Client, Busier, list[float]]:
        transport = Busier(InProcess(app), *arguments, **options)  # type: ignore[arg-type]
        waits: list[float] = []
        return Client("http://localhost", transport=transport, sleep=waits.append), transport, waits

    return make


@pytest.mark.parametrize(("status", "retry_after", "wait"), [(503, "2", 2.0), (429, "7", 7.0), (503, "soon", 1.0)])
def test_it_asks_again_after_the_time_that_is_named(busy: Make, status: int, retry_after: str, wait: float) -> None:
    client, _, waits = busy(3, status, retry_after)
    assert client.projects() == []
    assert waits == [wait] * 3


@pytest.mark.parametrize(("status", "kind"), [(503, Busy), (429, TooMany)])
def test_in_the_end_it_says_what_the_server_said(busy: Make, status: int, kind: type[Exception]) -> None:
    client, transport, waits = busy(100, status)
    with pytest.raises(kind, match=r"^too many things at once; wait$"):
        client.projects()
    assert len(transport.seen) == TRIES and len(waits) == TRIES - 1


def test_it_does_not_wait_for_long(busy: Make) -> None:
    client, transport, waits = busy(100, 429, str(int(LONGEST_WAIT_S) + 1))
    with pytest.raises(TooMany):
        client.projects()
    assert (len(transport.seen), waits) == (1, [])


def test_other_refusals_are_not_asked_again(busy: Make) -> None:
    client, transport, waits = busy(0)
    with pytest.raises(NotFound, match="the lab has no run 7"):
        client.run(7)
    assert (len(transport.seen), waits) == (1, [])


def test_an_upload_is_sent_again_from_its_beginning(busy: Make, files: Files, local: LocalLab) -> None:
    client, transport, _ = busy(2)
    path = files.trace("step.json", 100)
    told: list[tuple[int, int]] = []
    size = path.stat().st_size
    with client:
        taken = client.upload(
            path, Label(name="step.json", said=Origin(project="demo", commit=BASE)), lambda *at: told.append(at)
        )
    assert taken.bytes == size
    assert [len(seen) > size for seen in transport.seen] == [True] * 3
    assert told[-1] == (size, size) and {total for _, total in told} == {size}
    with local.trace_file(1) as kept:
        assert kept.read() == path.read_bytes()


def test_the_token_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return httpx.Response(200, json=[])

    for given in (None, "perflab_mine"):
        for variable in ("", "perflab_theirs"):
            monkeypatch.setenv("PERFLAB_TOKEN", variable)
            Client("http://localhost", given, transport=httpx.MockTransport(answer)).projects()
    assert seen == [None, "Bearer perflab_theirs", "Bearer perflab_mine", "Bearer perflab_mine"]


def test_the_example_of_the_docs(
    app: FastAPI, files: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)
    example = example.replace(':8765")', ':8765", transport=TRANSPORT)')
    files.trace("trace.json.gz", 100)
    monkeypatch.chdir(files.folder)
    namespace: dict[str, object] = {"TRANSPORT": InProcess(app)}
    exec(compile(example, "docs/api.md", "exec"), namespace)
    assert isinstance(namespace["run"], Run) and namespace["run"].project == "training"
    health, *ops = capsys.readouterr().out.splitlines()
    assert ops == ["matmul 0.3", "relu 0.03"]
    assert "healthy" in health
