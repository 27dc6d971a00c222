"""Who is let in, and what is written down."""

from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from perflab.server.access import gate
from perflab.server.access.entries import TokenOrder
from perflab.server.access.gate import COOKIE
from perflab.server.access.limits import Rate
from perflab.server.access.register import Register
from perflab.server.access.scopes import Scope
from perflab.server.app import create_app
from perflab.server.blobs import FolderBlobs
from perflab.server.client import Client
from perflab.server.errors import Forbidden, SignInNeeded, TooMany
from perflab.server.settings import Settings
from perflab.server.store import Store

from ..conftest import BASE, Files, InProcess
from ..test_judgements import PASS
from .conftest import ADDRESS, Call

SAID = {"project": "demo", "commit": BASE}


def upload(client: httpx.Client, files: Files, project: str = "demo") -> httpx.Response:
    run = files.run("run.json", 1.0)
    return client.post("/api/v1/uploads", files={"file": run.read_bytes()}, data=SAID | {"project": project})


def test_a_server_for_this_machine_asks_nobody(client: httpx.Client, files: Files, register: Register) -> None:
    assert client.get("/runs").status_code == 200
    assert upload(client, files).status_code == 200
    assert client.get("/api/v1/tokens").status_code == 200
    [entry] = register.entries()
    assert (entry.who, entry.action) == ("this machine", "upload")
    assert entry.detail == f"upload of demo at {BASE[:12]}, run 1"


@pytest.mark.parametrize(
    ("host", "proxy", "is_open"),
    [
        ("127.0.0.1", None, True),
        ("127.9.9.9", None, True),
        ("localhost", None, True),
        ("::1", None, True),
        ("0.0.0.0", None, False),
        ("::", None, False),
        ("", None, False),
        ("10.0.0.1", None, False),
        ("lab.example", None, False),
        ("127.0.0.1", "127.0.0.1", False),  # everyone whom the proxy speaks for
    ],
)
def test_a_server_that_others_can_reach_is_not_open(host: str, proxy: str | None, is_open: bool) -> None:
    assert Settings(host=host, proxy=proxy).is_open is is_open


def test_a_stranger_is_asked_for_a_token(caller: Call, files: Files, settings: Settings) -> None:
    stranger = caller()
    for path in ("/api/v1/runs", "/api/v1/tokens", "/api/v1/nothing"):
        answer = stranger.get(path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json() == {
            "error": "this lab asks for a token; send it as `Authorization: Bearer ...`, or sign in at /sign-in"
        }
    assert upload(stranger, files).status_code == 401
    assert stranger.get("/openapi.json").status_code == 303
    assert not [path for path in settings.blobs.rglob("*") if path.is_file()]
    page = stranger.get("/compare?base=trace:1&head=trace:2")
    assert page.status_code == 303
    assert page.headers["location"] == "/sign-in?to=%2Fcompare%3Fbase%3Dtrace%3A1%26head%3Dtrace%3A2"
    assert stranger.get(page.headers["location"]).status_code == 200


def test_each_scope_does_what_it_says(caller: Call, files: Files) -> None:
    reader, writer, admin = caller("read"), caller("write"), caller("admin")
    refused = upload(reader, files)
    assert refused.status_code == 403
    assert refused.json() == {
        "error": "this needs the scope write and token reader has read; ask who keeps the lab for another token"
    }
    assert upload(writer, files).status_code == 200
    assert upload(admin, files).status_code == 200
    for client in (reader, writer, admin):
        assert len(client.get("/api/v1/runs").json()) == 1
        assert client.get("/runs").status_code == 200
        answer = client.post("/api/v1/sql", json={"query": "select count(*) from runs"})
        assert answer.json()["rows"] == [[1]]
    assert [client.get("/api/v1/tokens").status_code for client in (reader, writer, admin)] == [403, 403, 200]


def test_the_lab_is_kept_by_admins_of_all_projects(caller: Call) -> None:
    answer = caller("admin", "demo").get("/api/v1/audit")
    assert answer.status_code == 403
    assert answer.json()["error"].startswith("this concerns the whole lab and token adminer is for project demo alone;")


@pytest.mark.parametrize("given", ["perflab_" + "x" * 43, "", "Bearer", "a b", "\x7f"])
def test_a_wrong_token_is_refused_and_written_down(caller: Call, register: Register, given: str) -> None:
    answer = caller().get("/api/v1/runs?secret=1", headers={"authorization": f"Bearer {given}"})
    assert answer.status_code == 401
    assert answer.json() == {"error": "the token is unknown, revoked or expired; ask who keeps the lab for another"}
    [entry] = register.entries()
    assert (entry.who, entry.action, entry.detail) == ("a stranger", "refused", "GET /api/v1/runs")


def test_a_wrong_token_is_refused_where_none_is_needed(client: httpx.Client) -> None:
    assert client.get("/api/v1/runs", headers={"authorization": "Bearer x"}).status_code == 401
    assert client.get("/api/v1/runs", headers={"authorization": "Basic x"}).status_code == 200


def test_a_revoked_token_opens_nothing_from_then_on(caller: Call, register: Register) -> None:
    reader = caller("read")
    assert reader.get("/api/v1/runs").status_code == 200
    register.revoke_token(1)
    assert reader.get("/api/v1/runs").status_code == 401


def test_tokens_over_http(caller: Call, register: Register) -> None:
    admin = caller("admin")
    made = admin.post("/api/v1/tokens", json={"name": "ci", "scope": "read", "project": "demo", "days": 3}).json()
    assert made["token"]["name"] == "ci"
    listed = admin.get("/api/v1/tokens").json()
    assert [(token["name"], token["scope"], token["project"]) for token in listed] == [
        ("ci", "read", "demo"),
        ("adminer", "admin", None),
    ]
    assert made["secret"] not in str(listed)
    mine = httpx.Client(
        transport=admin._transport, base_url=ADDRESS, headers={"authorization": f"Bearer {made['secret']}"}
    )
    assert mine.get("/api/v1/runs").status_code == 200
    assert admin.delete(f"/api/v1/tokens/{made['token']['id']}").status_code == 200
    assert mine.get("/api/v1/runs").status_code == 401
    assert admin.delete("/api/v1/tokens/99").status_code == 404
    wrong = admin.post("/api/v1/tokens", json={"name": "ci", "scope": "root"})
    assert wrong.status_code == 422
    log = [(entry["who"], entry["action"], entry["detail"]) for entry in admin.get("/api/v1/audit").json()]
    assert log == [
        ("a stranger", "refused", "GET /api/v1/runs"),
        ("token adminer", "revoke token", "token ci (#2, read, demo)"),
        ("token adminer", "make token", "token ci (#2, read, demo)"),
    ]


def test_what_is_asked_is_not_written_down(caller: Call, register: Register, files: Files) -> None:
    writer = caller("write")
    writer.get("/api/v1/runs")
    writer.post("/api/v1/sql", json={"query": "select 1"})
    writer.post("/api/v1/uploads", data=SAID)  # no file: refused
    assert register.entries() == []


def sign_in(client: httpx.Client, token: str, to: str = "/", origin: str | None = ADDRESS) -> httpx.Response:
    headers = {} if origin is None else {"origin": origin}
    return client.post("/sign-in", data={"token": token, "to": to}, headers=headers)


@pytest.fixture
def token(register: Register) -> str:
    return register.make_token(TokenOrder(name="ada", scope=Scope.WRITE)).secret


def test_a_browser_signs_in_and_out(caller: Call, token: str, register: Register, files: Files) -> None:
    browser = caller()
    answer = sign_in(browser, f" {token}\n", "/series")
    assert (answer.status_code, answer.headers["location"]) == (303, "/series")
    cookie = answer.headers["set-cookie"]
    assert cookie == f"{COOKIE}={token}; HttpOnly; Path=/; SameSite=strict"
    assert browser.get("/series").status_code == 200
    run = {"file": files.run("run.json", 1.0).read_bytes()}
    for headers, status in (
        ({"origin": ADDRESS}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": ADDRESS}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ):
        assert browser.post("/api/v1/uploads", files=run, data=SAID, headers=headers).status_code == status, headers
    out = browser.post("/sign-in", headers={"origin": ADDRESS})
    assert out.headers["location"] == "/sign-in"
    assert browser.get("/series").status_code == 303
    assert [(entry.who, entry.action) for entry in register.entries()] == [
        ("token ada", "upload"),
        ("token ada", "upload"),
        ("token ada", "sign in"),
    ]


def test_over_https_the_cookie_stays_there(guarded: FastAPI, register: Register) -> None:
    made = register.make_token(TokenOrder(name="ada", scope=Scope.READ, days=1))
    with httpx.Client(transport=InProcess(guarded), base_url="https://lab.example") as browser:
        cookie = sign_in(browser, made.secret, origin="https://lab.example").headers["set-cookie"]
    assert "; Secure" in cookie
    seconds = int(cookie.split("Max-Age=")[1].split(";")[0])
    assert 86_000 < seconds <= 86_400


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/a\r\nb: c", ""])
def test_signing_in_leads_nowhere_else(caller: Call, token: str, to: str) -> None:
    assert sign_in(caller(), token, to).headers["location"] == "/"
    assert "evil" not in caller().get("/sign-in", params={"to": to}).text


def test_a_wrong_token_does_not_sign_in(caller: Call, register: Register) -> None:
    answer = sign_in(caller(), "perflab_wrong")
    assert answer.status_code == 401
    assert "This token is unknown, revoked or expired." in answer.text
    assert "set-cookie" not in answer.headers
    assert [(entry.who, entry.action) for entry in register.entries()] == [("a stranger", "refused")]


def test_a_foreign_page_cannot_sign_somebody_in(caller: Call, token: str) -> None:
    assert sign_in(caller(), token, origin="http://evil.example").status_code == 403


def test_a_cookie_that_is_not_good_is_as_none(caller: Call, client: httpx.Client, register: Register) -> None:
    for cookie in ("perflab_wrong", '"', "a=b"):
        headers = {"cookie": f"{COOKIE}={cookie}"}
        assert caller().get("/runs", headers=headers).status_code == 303
        assert client.get("/runs", headers=headers).status_code == 200
    assert register.entries() == []


def test_who_asks_too_often_waits(caller: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "PER_TOKEN", Rate(0.001, 3))
    one, other = caller("read"), caller("read")
    assert [one.get("/api/v1/runs").status_code for _ in range(4)] == [200, 200, 200, 429]
    answer = one.get("/api/v1/runs")
    assert 900 < int(answer.headers["retry-after"]) <= 1000
    assert answer.json()["error"] == (
        f"requests come faster than this lab takes them; ask again in {answer.headers['retry-after']} s, "
        "and then less often"
    )
    assert other.get("/api/v1/runs").status_code == 200
    page = one.get("/runs")
    assert (page.status_code, page.headers["content-type"]) == (429, "text/html; charset=utf-8")


def test_strangers_wait_too(caller: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "PER_STRANGER", Rate(0.001, 2))
    assert [caller().get("/api/v1/runs").status_code for _ in range(3)] == [401, 401, 429]
    assert caller("read").get("/api/v1/runs").status_code == 200


def test_guessing_is_slow_and_does_not_fill_the_log(caller: Call, register: Register, token: str) -> None:
    wrong = {"authorization": "Bearer perflab_wrong"}
    tried = [caller().get("/api/v1/runs", headers=wrong).status_code for _ in range(12)]
    assert tried == [401] * 10 + [429] * 2
    assert sign_in(caller(), "perflab_wrong").status_code == 429
    assert len(register.entries()) == 10
    assert sign_in(caller(), token).status_code == 303  # whoever has a token is not kept out by those who guess


def test_what_a_caller_sees_is_kept_by_no_cache_on_the_way(caller: Call, client: httpx.Client) -> None:
    reader = caller("read")
    for path, told in (("/runs", "private, no-cache"), ("/api/v1/runs", "private, no-cache"), ("/runs/9", "no-store")):
        assert reader.get(path).headers["cache-control"] == told
    assert client.get("/runs").headers["cache-control"] == "no-cache"
    page = reader.get("/runs").text
    style = page.split('rel="stylesheet" href="')[1].split('"')[0]
    assert reader.get(style).headers["cache-control"] == "public, max-age=31536000, immutable"


def test_any_name_is_answered_where_tokens_are_asked_for(caller: Call) -> None:
    assert caller("read").get("/api/v1/runs", headers={"host": "other.example"}).status_code == 200


def test_a_proxy_is_believed_on_request_alone(settings: Settings, store: Store) -> None:
    app = create_app(replace(settings, proxy="127.0.0.1"), store, FolderBlobs(settings.blobs))
    with httpx.Client(transport=InProcess(app), base_url="http://localhost") as client:
        assert client.get("/api/v1/runs").status_code == 401


def test_the_client_says_what_was_refused(
    guarded: FastAPI, register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lab(token: str | None) -> Client:
        return Client(ADDRESS, token, transport=InProcess(guarded))

    with pytest.raises(SignInNeeded, match="this lab asks for a token"):
        lab(None).projects()
    with pytest.raises(SignInNeeded, match="the token is unknown, revoked or expired"):
        lab("perflab_wrong").projects()
    made = register.make_token(TokenOrder(name="ada", scope=Scope.READ))
    assert lab(made.secret).projects() == []
    with pytest.raises(Forbidden, match="this needs the scope write"):
        lab(made.secret).keep_judgement("demo", PASS)
    monkeypatch.setattr(gate, "PER_TOKEN", Rate(0.001, 0))
    with pytest.raises(TooMany, match="requests come faster than this lab takes them"):
        lab(made.secret).projects()
