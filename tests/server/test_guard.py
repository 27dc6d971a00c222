import gzip
import json
from collections.abc import Iterator

import httpx
import pytest

from perflab.server import guard, ingest
from perflab.server.settings import Settings

from .test_bad_uploads import assert_untouched

SAID = {"project": "demo", "commit": "ba5e" * 10}
TRACE = b'{"traceEvents":[{"ph":"X","name":"matmul","ts":1,"dur":2,"pid":1,"tid":1}]}'


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "10.0.0.1", ""])
def test_a_foreign_name_is_refused(client: httpx.Client, host: str) -> None:
    answer = client.get("/api/v1/runs", headers={"host": host})
    assert answer.status_code == 421
    assert answer.json() == {"error": f"the host is {host!r}; ask for 127.0.0.1 or localhost"}


@pytest.mark.parametrize("host", ["localhost", "localhost:8765", "127.0.0.1:8765", "127.9.9.9", "[::1]:8765"])
def test_names_of_this_machine_are_answered(client: httpx.Client, host: str) -> None:
    assert client.get("/api/v1/runs", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:9", "null"])
def test_a_foreign_page_cannot_upload(client: httpx.Client, settings: Settings, origin: str) -> None:
    answer = client.post("/api/v1/uploads", files={"file": ("t.json", TRACE)}, data=SAID, headers={"origin": origin})
    assert answer.status_code == 403
    assert answer.json()["error"] == f"a page of {origin} sent this; only pages of localhost may"
    assert_untouched(settings)


def test_our_own_page_may_upload(client: httpx.Client) -> None:
    own = {"origin": "http://localhost"}
    assert client.post("/api/v1/uploads", files={"file": ("t.json", TRACE)}, data=SAID, headers=own).status_code == 200


@pytest.mark.parametrize("announced", [True, False])
def test_an_upload_that_is_too_large_is_refused(
    client: httpx.Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, announced: bool
) -> None:
    monkeypatch.setattr(guard, "LARGEST_BODY", 1 << 20)
    request = client.build_request("POST", "/api/v1/uploads", files={"file": ("t.json", b" " * (2 << 20))}, data=SAID)
    body = request.read()

    def pieces() -> Iterator[bytes]:
        yield from (body[at : at + 65536] for at in range(0, len(body), 65536))

    kind = {"content-type": request.headers["content-type"]}
    answer = client.post("/api/v1/uploads", content=body if announced else pieces(), headers=kind)
    assert answer.status_code == 413
    assert answer.json()["error"].startswith("the upload is larger than 1 MiB; compress it")
    assert_untouched(settings)


def test_a_trace_that_unpacks_to_too_much_is_refused(
    client: httpx.Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "LARGEST_TRACE", 1 << 20)
    for unpacked in (TRACE.replace(b"[", b"[" + b" " * (1 << 20)), b'{\n"schemaVersion": 1' + b" " * (1 << 21)):
        packed = {"file": ("t.json.gz", gzip.compress(unpacked))}
        answer = client.post("/api/v1/uploads", files=packed, data=SAID)
        assert answer.status_code == 422
        assert answer.json()["error"] == "t.json.gz: it unpacks to more than 1 MiB; record fewer steps a file"
    assert_untouched(settings)
    just = TRACE.replace(b"[", b"[" + b" " * ((1 << 20) - len(TRACE)))
    assert len(just) == 1 << 20
    packed = {"file": ("t.json.gz", gzip.compress(just))}
    assert client.post("/api/v1/uploads", files=packed, data=SAID).status_code == 200


def test_every_answer_says_what_browsers_may_do(client: httpx.Client) -> None:
    for path in ("/", "/api/v1/runs", "/nowhere", "/static/perflab.css"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_the_answer_is_json(client: httpx.Client) -> None:
    assert json.loads(client.get("/", headers={"host": "x"}).content)["error"].startswith("the host is 'x'")
