"""Pages shared by a link: what it shows, what it does not, and that it is masked."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from fastapi import FastAPI

from perflab.server.access import register as module
from perflab.server.access.entries import Masking, Share
from perflab.server.access.register import Register
from perflab.server.access.shares import is_on, kind_of
from perflab.server.errors import NotFound, Refused
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin

from ..conftest import BASE, HEAD, Files
from .conftest import Call
from .test_routes import filled, routes

SECRETS = ("lovelace", "gpu-17", "ada")  # of a home folder, of a host, of a machine
SERIES = "/series?project=demo&benchmark=step"
TRACES = "/compare?base=trace:1&head=trace:2"
COMMITS = f"/compare?base={BASE}&head={HEAD}&project=demo"
Make = Callable[..., str]


@pytest.fixture
def filled_lab(local: LocalLab, files: Files, register: Register) -> LocalLab:
    """Two commits of a project that masks nothing, with a trace and a result each, and a third trace."""
    register.set_masking(Masking(project=None, masked=False))
    for commit, time, project in ((BASE, 100, "demo"), (HEAD, 300, "demo"), (HEAD, 300, "other")):
        told = json.loads(files.trace("t.json", time).read_text())
        told["traceEvents"][1]["name"] = "/home/lovelace/op"
        told |= {"hostname": "gpu-17", "machine": {"name": "ada", "cpu": "A", "cores": 1, "os": "L", "python": "P"}}
        label = Label(name="gpu-17_42.17.pt.trace.json", said=Origin(project=project, commit=commit, branch="main"))
        for text in (json.dumps(told), files.run("r.json", time / 100).read_text()):
            with files.write("upload", text).open("rb") as file:
                local.upload_stream(file, label)
    return local


@pytest.fixture
def make(filled_lab: LocalLab, caller: Call) -> Make:
    """Shares a page; its link."""
    writer = caller("write")

    def make(address: str, days: int = 30) -> str:
        answer = writer.post("/api/v1/shares", json={"address": address, "days": days})
        assert answer.status_code == 200, answer.text
        link: str = answer.json()["link"]
        return link

    return make


@pytest.mark.parametrize("address", ["/traces/1", "/traces/1/operators?by=op", SERIES, TRACES, COMMITS])
def test_a_link_shows_its_page_to_anybody(make: Make, caller: Call, address: str) -> None:
    link = make(address)
    stranger = caller()
    answer = stranger.get(link)
    assert (answer.status_code, answer.headers["location"]) == (302, link + address)
    page = stranger.get(link + address)
    assert page.status_code == 200
    assert 'class="shared"' in page.text
    assert "Names of people and machines are masked." in page.text
    assert page.headers["cache-control"] == "no-store"
    assert "content-security-policy" in page.headers
    assert int(page.headers["content-length"]) == len(page.content)
    assert stranger.get(address).status_code == 303  # without the link


@pytest.mark.parametrize("address", ["/traces/1", "/traces/1/findings", "/traces/1/memory", SERIES, TRACES, COMMITS])
def test_what_is_shared_is_masked_whatever_the_rule(make: Make, caller: Call, address: str) -> None:
    plain = caller("read").get(address).text
    page = caller().get(make(address) + address).text
    assert not [name for name in SECRETS if name in page]
    if address != SERIES and "findings" not in address and "memory" not in address:
        assert "gpu-17" in plain


def test_the_data_of_a_shared_trace_is_masked_too(make: Make, caller: Call) -> None:
    link, stranger = make("/traces/1"), caller()
    data = f"{link}/api/v1/traces/1"
    for path in (
        "/timeline?start=0&end=400000&width=100",
        "/timeline/slices/1",
        "/timeline/search?name=op",
        "/timeline/totals?start=0&end=400000",
        "/flame?of=ops",
        "/repaired",
    ):
        answer = stranger.get(data + path)
        assert answer.status_code == 200, path
        assert not [name for name in SECRETS if name in answer.text], path
    assert "~/op" in stranger.get(f"{data}/timeline/slices/1").text
    assert "/home/lovelace/op" in caller("read").get("/api/v1/traces/1/timeline/slices/1").text


def test_the_addresses_on_the_page_lead_to_what_is_shared(make: Make, caller: Call) -> None:
    link = make("/traces/1")
    page = caller().get(f"{link}/traces/1").text
    assert f'"{link}/api/v1/traces/1/timeline"' in page
    assert f'href="{link}/traces/1/operators"' in page
    assert 'href="/runs/1"' in page  # which asks who comes
    assert 'href="/static/' in page
    assert f"{link}/static" not in page
    compared = caller().get(make(TRACES) + TRACES).text
    assert "/api/v1/traces/2/flame?of=ops&amp;base=1" in compared
    assert '"/api/v1/' not in compared


def test_a_link_shows_nothing_else(make: Make, caller: Call, app: FastAPI) -> None:
    stranger = caller()
    link = make("/traces/2")
    for route in routes(app):
        for method in route.methods if route.path != "/" else ():  # which leads to the page
            answer = stranger.request(method, link + filled(route))  # of trace 1, run 1 ...
            assert answer.status_code == 404, (method, route.path)
    for path in (
        "/traces/22",
        "/traces/2/../1",
        "/traces/3",
        "/api/v1/traces/2",
        "/api/v1/traces/2/file",
        "/api/v1/runs",
    ):
        assert stranger.get(link + path).status_code == 404, path
    assert stranger.get(f"{link}/api/v1/traces/2/flame?base=3").status_code == 404
    assert stranger.get(f"{link}/traces/2/flame?base=1").status_code == 404
    assert stranger.post(f"{link}/traces/2").status_code == 404
    assert stranger.get(f"{link}/traces/2").status_code == 200


@pytest.mark.parametrize(
    ("address", "other"),
    [
        (TRACES, "/compare?base=trace:1&head=trace:3"),
        (TRACES, "/compare?base=trace:1&head=trace:2&head=trace:3"),
        (TRACES, "/compare?head=trace:2"),
        (TRACES, "/compare"),
        (SERIES, "/series?project=demo"),
        (SERIES, "/series?project=other&benchmark=step"),
        (SERIES, "/series?project=demo&benchmark=other"),
        (SERIES, "/series?project=demo&benchmark=step&project=other"),
    ],
)
def test_which_page_it_is_cannot_be_changed(make: Make, caller: Call, address: str, other: str) -> None:
    assert caller().get(make(address) + other).status_code == 404


def test_how_a_page_is_looked_at_can_be_changed(make: Make, caller: Call) -> None:
    assert caller().get(f"{make(SERIES)}{SERIES}&baseline={HEAD}").status_code == 200
    assert caller().get(f"{make('/traces/1')}/traces/1/graph?step=1").status_code == 200


def test_a_shared_trace_names_no_others(make: Make, caller: Call) -> None:
    assert "trace:2" in caller("read").get("/traces/1").text
    assert "trace:2" not in caller().get(f"{make('/traces/1')}/traces/1").text


def test_a_link_ends(make: Make, caller: Call, register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make("/traces/1", 1), make("/traces/1", 2)
    register.revoke_share(2)
    ended = caller().get(f"{second}/traces/1")
    assert ended.status_code == 404
    assert "this link has ended, or there never was one" in ended.text
    assert caller().get(f"{first}/traces/1").status_code == 200
    later = datetime.now(UTC) + timedelta(days=1)
    monkeypatch.setattr(module, "_now", lambda: later)
    assert caller().get(f"{first}/traces/1").status_code == 404
    assert caller().get("/s/guess/traces/1").status_code == 404
    assert caller().get("/s/").status_code == 404


def test_a_link_is_kept_nowhere(make: Make, register: Register, caller: Call) -> None:
    link = make("/traces/1")
    secret = link.removeprefix("/s/")
    assert len(secret) == 43
    [share] = register.shares()
    assert secret not in str(share)
    assert secret not in caller("write").get("/api/v1/shares").text
    assert [entry.detail for entry in register.entries()] == [str(share)]


def test_shares_are_of_the_project_of_who_makes_them(filled_lab: LocalLab, caller: Call, register: Register) -> None:
    writer = caller("write", "demo")
    assert writer.post("/api/v1/shares", json={"address": "/traces/3"}).status_code == 404
    assert writer.post("/api/v1/shares", json={"address": "/traces/1"}).json()["share"]["project"] == "demo"
    other = caller("write", "other")
    assert other.get("/api/v1/shares").json() == []
    assert other.delete("/api/v1/shares/1").status_code == 404
    assert writer.delete("/api/v1/shares/1").status_code == 200
    assert register.shares()[0].revoked is not None
    assert caller("read").post("/api/v1/shares", json={"address": "/traces/1"}).status_code == 403
    with pytest.raises(NotFound, match="the lab has no share 9"):
        register.revoke_share(9)


def test_two_projects_are_not_shared_at_once(filled_lab: LocalLab, caller: Call) -> None:
    answer = caller("write").post("/api/v1/shares", json={"address": "/compare?base=trace:1&head=trace:3"})
    assert (answer.status_code, answer.json()) == (
        422,
        {"error": "demo and other are two projects; share a page of one"},
    )


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/runs",
        "/runs/1",
        "/compare",
        "/series?project=demo",
        "/traces/x",
        "//evil/traces/1",
        "https://x/traces/1",
        "",
    ],
)
def test_only_pages_of_one_thing_are_shared(address: str) -> None:
    with pytest.raises(Refused, match="is no page to be shared; give that of a trace, a comparison or a series"):
        kind_of(address)


@pytest.mark.parametrize("days", [0, -1, 366])
def test_nothing_is_shared_for_ever(register: Register, days: int) -> None:
    with pytest.raises(Refused, match=f"a page cannot be shared for {days} days; give 1 to 365"):
        register.make_share("demo", "/traces/1", [1], days, "ada")


def test_the_button_shares_the_page_that_it_is_on(
    filled_lab: LocalLab, client: httpx.Client, register: Register
) -> None:
    headers = {"origin": "http://localhost", "referer": "http://localhost/traces/1/gil?step=1"}
    page = client.post("/shares", data={"days": "7"}, headers=headers)
    assert page.status_code == 200
    [share] = register.shares()
    assert (share.address, share.made_by, share.traces) == ("/traces/1/gil?step=1", "this machine", [1])
    assert share.expires - share.created == timedelta(days=7)
    link = page.text.split('value="http://localhost')[1].split('"')[0]
    assert client.get(link + share.address).status_code == 200
    for referer in ("http://evil.example/traces/1", ""):
        assert client.post("/shares", headers={"referer": referer}).status_code == 422


def test_a_path_that_only_begins_alike_is_another() -> None:
    now = datetime.now(UTC)
    share = Share(
        id=1, project="p", address="/traces/1", traces=[1], made_by="", created=now, expires=now, revoked=None
    )
    assert is_on(share, "/traces/1", "") and is_on(share, "/traces/1/memory", "")
    assert not is_on(share, "/traces/11", "") and not is_on(share, "/traces/1x", "")
    assert not is_on(share, "/api/v1/traces/1", "") and not is_on(share, "/api/v1/traces/11/timeline", "")
