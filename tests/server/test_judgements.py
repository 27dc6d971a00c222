"""What gates came to: kept, listed, shown, and told to others."""

import json
import logging
import re
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from perflab.benchmarks.gate import Exit, GateReport, judge
from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Result, Run
from perflab.server.client import NEW_JUDGEMENT
from perflab.server.errors import LabRefused, NotFound, Refused
from perflab.server.lab import Lab, LocalLab
from perflab.server.schema import Judgement, Label, NewJudgement, Origin
from perflab.server.settings import Settings
from perflab.server.webhooks import WAITS, Webhooks

from .conftest import BASE, HEAD, MACHINE, NOON, Files, Perflab


def runs(commit: str, seconds: float, machine: Machine = MACHINE) -> list[Run]:
    values = [seconds * (1 + at / 1000) for at in range(5)]
    return [
        Run("demo", commit, None, machine, NOON, "t", (Result(Benchmark("step", {"n": "1"}), (value,)),))
        for value in values
    ]


def report(seconds: float) -> GateReport:
    return judge(runs(BASE, 1.0), runs(HEAD, seconds))


PASS, FAIL = report(1.0), report(1.2)
NOTHING = judge([], runs(HEAD, 1.0))


@pytest.mark.parametrize("given", [PASS, FAIL, NOTHING])
def test_a_report_comes_back_as_it_was_kept(lab: Lab, given: GateReport) -> None:
    kept = lab.keep_judgement("demo", given)
    found = lab.judgement(kept.id)
    assert found.judgement == kept
    assert found.report == given
    assert (kept.project, kept.head, kept.exit_code) == ("demo", HEAD, given.exit_code)


def test_the_newest_is_first_and_projects_stand_apart(lab: Lab) -> None:
    first, second = lab.keep_judgement("demo", PASS), lab.keep_judgement("demo", FAIL)
    other = lab.keep_judgement("other", PASS)
    assert lab.judgements() == [other, second, first]
    assert lab.judgements("demo", limit=1) == [second]
    assert lab.judgements("unknown") == []
    assert second.headline == "failed, 1 of 1 benchmark regressed"


def test_what_is_not_there_is_said(lab: Lab) -> None:
    for id in (7, 2**70):
        with pytest.raises(NotFound, match=f"the lab has no judgement {id}"):
            lab.judgement(id)
    with pytest.raises(Refused, match="is no name"):
        lab.keep_judgement(" ", PASS)


def test_the_gate_keeps_its_report_where_it_is_told_to(perflab: Perflab, files: Files) -> None:
    for commit, seconds in ((BASE, 1.0), (HEAD, 1.3)):
        for process in range(5):
            path = files.run(f"{commit}{process}.json", seconds + process / 1000)
            assert perflab("upload", path, "--commit", commit, "--project", "demo")[0] == 0
    call = ("gate", "--baseline", BASE, "--head", HEAD, "--project", "demo")
    assert "Kept" not in perflab(*call)[1]
    code, out, _ = perflab(*call, "--keep")
    assert (code, out.endswith("Kept as gate 1 of demo.\n")) == (Exit.REGRESSION, True)


def test_pages_show_what_gates_came_to(client: httpx.Client, local: LocalLab) -> None:
    assert "perflab gate --keep" in client.get("/gates").text
    for given in (PASS, FAIL, NOTHING):
        local.keep_judgement("demo", given)
    page = client.get("/gates").text
    assert page.index("could not judge") < page.index("failed, 1 of 1 benchmark regressed") < page.index("passed, 1 be")
    page = client.get("/gates/2").text
    assert "+20.0" in page or "1.2" in page
    assert BASE[:8] in page and HEAD[:8] in page and str(MACHINE) in page
    assert "There is no baseline" in client.get("/gates/3").text
    assert client.get("/gates/9").status_code == 404


def test_a_series_shows_what_gates_said_of_it(client: httpx.Client, local: LocalLab, files: Files) -> None:
    for commit in (BASE, HEAD):
        path = files.run(f"{commit}.json", 1.0)
        local.upload(path, Label(name=path.name, said=Origin(project="demo", commit=commit)))
    ours = local.series("demo")[0]
    elsewhere = Machine.of(name="eve", cpu="Another CPU", cores=2, os="Linux", python="CPython 3.11")
    for benchmark, machine, seconds in (
        (ours.benchmark, ours.machine, 1.2),
        (ours.benchmark, elsewhere, 1.2),
        (Benchmark("other", {}), ours.machine, 1.2),
        (ours.benchmark, ours.machine, 1.0),
    ):
        base, head = (
            [
                Run("demo", commit, None, machine, NOON, "t", (Result(benchmark, (value * (1 + at / 1000),)),))
                for at in range(5)
            ]
            for commit, value in ((BASE, 1.0), (HEAD, seconds))
        )
        local.keep_judgement("demo", judge(base, head))
    page = client.get("/series", params={"project": "demo", "benchmark": ours.benchmark.name}).text
    assert re.findall(r'href="/gates/(\d)">gate \d: ([\w ]+)</a>', page) == [("4", "no change"), ("1", "regression")]


# ---- webhooks

KEPT = Judgement(
    id=3, project="a<b", base=BASE, head=HEAD, created=NOON, exit_code=1, headline="failed, 1 of 1 benchmark regressed"
)
GENERIC, SLACK = "https://example.org/hook", "https://example.org/services/secret"


class Service:
    """Answers with these status codes in turn; None is a connection that fails."""

    def __init__(self, *codes: int | None) -> None:
        self.codes = list(codes)
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        code = self.codes.pop(0)
        if code is None:
            raise httpx.ConnectError("nobody listens")
        return httpx.Response(code)

    def hooks(self, *addresses: str) -> Webhooks:
        return Webhooks(addresses, httpx.MockTransport(self), self.waits.append)

    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]


def test_each_address_gets_its_own_form() -> None:
    service = Service(200, 200)
    service.hooks(GENERIC, f"slack+{SLACK}").tell(KEPT, "http://lab/gates/3")
    assert [str(request.url) for request in service.requests] == [GENERIC, SLACK]
    assert service.bodies() == [
        {
            "project": "a<b",
            "base": BASE,
            "head": HEAD,
            "exit_code": 1,
            "headline": "failed, 1 of 1 benchmark regressed",
            "url": "http://lab/gates/3",
        },
        {"text": "a&lt;b: gate failed, 1 of 1 benchmark regressed (<http://lab/gates/3|4ead4ead4ead>)"},
    ]
    assert service.waits == []


def test_what_fails_for_now_is_tried_again_later_and_later() -> None:
    service = Service(None, 503, 429, 200)
    service.hooks(GENERIC).tell(KEPT, "u")
    assert len(service.requests) == 4
    assert service.waits == list(WAITS[:3])


@pytest.mark.parametrize(
    ("codes", "problem"),
    [((None,) * 5, "nobody listens"), ((500,) * 5, "it answered 500"), ((404,), "it answered 404")],
)
def test_what_cannot_be_told_is_logged_without_the_secret(
    codes: tuple[int | None, ...], problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service(*codes, 200)
    with caplog.at_level(logging.ERROR, logger="perflab.webhooks"):
        service.hooks(f"slack+{SLACK}", GENERIC).tell(KEPT, "u")
    assert caplog.messages == [f"webhook at example.org was not told of gate 3: {problem}"]
    assert str(service.requests[-1].url) == GENERIC  # the next address is told all the same


@pytest.mark.parametrize("address", ["ftp://x", "slack+", "example.org/hook", "https://"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(LabRefused, match="PERFLAB_WEBHOOKS names"):
        Webhooks([address])


def test_the_environment_names_them(tmp_path: Any) -> None:
    environ = {"PERFLAB_WEBHOOKS": f"{GENERIC}  slack+{SLACK}"}
    assert Settings.from_environment(tmp_path, environ=environ).webhooks == (GENERIC, f"slack+{SLACK}")


@pytest.mark.parametrize(
    ("kept", "told"),
    [((PASS,), []), ((FAIL,), [1]), ((FAIL, PASS, PASS), [1, 0]), ((PASS, NOTHING, FAIL, PASS), [2, 1, 0])],
)
def test_failures_and_the_first_pass_after_one_are_told(
    app: FastAPI, client: httpx.Client, kept: tuple[GateReport, ...], told: list[int]
) -> None:
    service = Service(*[200] * len(told))
    app.state.webhooks = service.hooks(GENERIC)
    for given in kept:
        body = NEW_JUDGEMENT.dump_python(NewJudgement(project="demo", report=given), mode="json")
        assert client.post("/api/v1/judgements", json=body).status_code == 200
    assert [body["exit_code"] for body in service.bodies()] == told
    assert all(body["url"].startswith("http://localhost/gates/") for body in service.bodies())


def test_a_report_that_is_none_is_refused(client: httpx.Client) -> None:
    answer = client.post("/api/v1/judgements", json={"project": "demo", "report": {"findings": []}})
    assert answer.status_code == 422
    assert "report" in answer.json()["error"]
