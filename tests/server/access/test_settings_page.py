"""The page of settings, as a form at a time."""

import re

import httpx

from perflab.server.access.entries import TokenOrder
from perflab.server.access.register import Register
from perflab.server.access.scopes import Scope
from perflab.server.keeping import Rule
from perflab.server.lab import LocalLab
from perflab.server.settings import DEFAULT_NEWEST, DEFAULT_THIN
from perflab.server.store import Store

from ..conftest import BASE, Files
from .conftest import Call

OURS = {"origin": "http://localhost"}


def test_a_token_is_made_shown_once_and_revoked(client: httpx.Client, register: Register) -> None:
    form = {"name": "<ci>", "scope": "write", "project": "demo", "days": "90"}
    page = client.post("/settings/tokens", data=form, headers=OURS)
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
    [secret] = re.findall(r'value="(perflab_[\w-]{43})"', page.text)
    token = register.token(secret)
    assert token is not None and (token.name, token.scope, token.project) == ("<ci>", Scope.WRITE, "demo")
    assert (token.expires is not None) and (token.expires - token.created).days == 90
    again = client.get("/settings").text
    assert secret not in again
    assert "&lt;ci&gt;" in again and "<ci>" not in again
    answer = client.post(f"/settings/tokens/{token.id}/revoke", headers=OURS)
    assert (answer.status_code, answer.headers["location"]) == (303, "/settings#tokens")
    assert register.token(secret) is None
    assert "revoked</td>" in client.get("/settings").text
    assert client.post("/settings/tokens", data={**form, "scope": "root"}, headers=OURS).status_code == 422
    assert client.post("/settings/tokens", data={**form, "days": "5"}, headers=OURS).status_code == 422


def test_rules_of_masks_are_set_and_taken_away(client: httpx.Client, register: Register) -> None:
    for form, masks in (
        ({"project": "demo", "masked": "no"}, (True, False)),
        ({"project": "", "masked": "no"}, (False, False)),
        ({"project": "demo", "masked": "yes"}, (False, True)),
        ({"project": "", "masked": "yes"}, (True, True)),
        ({"project": "demo", "masked": ""}, (True, True)),
    ):
        assert client.post("/settings/masking", data=form, headers=OURS).status_code == 303
        assert (register.masks("any"), register.masks("demo")) == masks
    assert [entry.action for entry in register.entries()] == ["set masking"] * 5


def test_what_is_shared_is_listed_and_ended(
    client: httpx.Client, local: LocalLab, files: Files, register: Register
) -> None:
    fields = {"project": "demo", "commit": BASE}
    client.post("/api/v1/uploads", files={"file": files.trace("t.json", 100).read_bytes()}, data=fields)
    client.post("/api/v1/shares", json={"address": "/traces/1"})
    page = client.get("/settings").text
    assert '<a href="/traces/1">/traces/1</a>' in page
    assert client.post("/settings/shares/1/end", headers=OURS).headers["location"] == "/settings#shares"
    assert register.shares()[0].revoked is not None
    assert "ended</td>" in client.get("/settings").text


def test_the_log_is_shown(client: httpx.Client, register: Register) -> None:
    client.get("/api/v1/runs", headers={"authorization": "Bearer perflab_wrong"})
    page = client.get("/settings").text
    assert '<span class="worse">refused</span>' in page
    assert "GET /api/v1/runs" in page


def test_settings_are_for_those_who_keep_the_lab(caller: Call, register: Register) -> None:
    assert caller("write").get("/settings").status_code == 403
    assert caller("admin", "demo").get("/settings").status_code == 403
    assert caller("admin").get("/settings").status_code == 200
    secret = register.make_token(TokenOrder(name="ada", scope=Scope.ADMIN)).secret
    browser = caller()
    browser.cookies.set("perflab_token", secret)
    assert "You are token ada." in browser.get("/settings").text
    assert browser.post("/settings/masking", data={"masked": "no"}).status_code == 403  # no page of ours sent it
    assert register.masks("demo")


def test_rules_of_what_stays_are_set_and_taken_away(client: httpx.Client, store: Store) -> None:
    page = client.get("/settings").text
    assert "without a rule traces stay until" in page and f'value="{DEFAULT_NEWEST}"' in page
    assert f'value="{DEFAULT_THIN}"' in page
    rule = {"project": "demo", "newest": "20", "thin": "4", "gib": "1.5"}
    assert client.post("/settings/retention", data=rule).headers["location"] == "/settings#retention"
    client.post("/settings/retention", data={"newest": "7", "thin": "1", "gib": ""})
    assert store.keeping.rules() == [
        Rule(newest=7, thin=1),
        Rule(project="demo", newest=20, thin=4, quota=3 << 29),
    ]
    page = client.get("/settings").text
    assert "Take away the rule of demo on what stays" in page and "1.50 GiB" in page
    client.post("/settings/retention/drop", data={"project": "demo"})
    client.post("/settings/retention/drop")
    assert store.keeping.rules() == []
    assert client.post("/settings/retention", data={"newest": "7", "thin": "0"}).status_code == 422


SETTINGS, SIGN_OUT = 'href="/settings"', ">Sign out</button>"


def test_the_header_offers_what_its_reader_may_do(client: httpx.Client, caller: Call) -> None:
    for reader, settings, sign_out in (
        (client, True, False),  # at the lab's own machine nobody signs in
        (caller("admin"), True, True),
        (caller("admin", "demo"), False, True),
        (caller("read"), False, True),
    ):
        page = reader.get("/upload").text
        assert (SETTINGS in page, SIGN_OUT in page) == (settings, sign_out)
    page = caller().get("/sign-in").text
    assert (SETTINGS in page, SIGN_OUT in page) == (False, False)


def test_the_header_signs_out(caller: Call, register: Register) -> None:
    browser = caller()
    browser.cookies.set("perflab_token", register.make_token(TokenOrder(name="<ada>", scope=Scope.READ)).secret)
    assert 'title="You are token &lt;ada&gt;">Sign out' in browser.get("/upload").text
    answer = browser.post("/sign-in", headers={"origin": "http://lab.example"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert 'perflab_token=""' in answer.headers["set-cookie"]
