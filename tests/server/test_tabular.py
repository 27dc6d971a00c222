"""What pages show, as JSON and CSV: the table of docs/api.md, and the rows that are had."""

import csv
import html
import io
import json
import re
import zipfile
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from perflab.server.lab import LocalLab
from perflab.server.routing import PAGES
from perflab.server.schema import Label, Origin

from .conftest import BASE, HEAD, Files

DOCS = (Path(__file__).parents[2] / "docs/api.md").read_text(encoding="utf-8")
TABLE = dict(re.findall(r"^\| `(/[^`]*)` \| (.*) \|$", DOCS, re.MULTILINE))


def test_every_page_has_its_data() -> None:
    routes = [route for module in PAGES for route in module.router.routes if "GET" in route.methods]
    pages = {route.path for route in routes}
    assert pages == set(TABLE)


def test_the_data_is_where_the_table_says(app: FastAPI) -> None:
    paths = app.openapi()["paths"]
    told: dict[tuple[str, str], bool] = {}
    for cell in TABLE.values():
        for method, path, as_csv in re.findall(r"`(GET|POST) (/[^`]*)`( \(CSV)?", cell):
            told[path, method.lower()] = bool(as_csv)
    has_csv = {
        (path, method): "text/csv" in operation["responses"]["200"]["content"]
        for path, operations in paths.items()
        for method, operation in operations.items()
    }
    assert {at: has_csv[at] for at in told} == told
    assert {at for at, has in has_csv.items() if has} <= set(told)


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("page", "routes"),
    [
        ("/?all=1", ["projects"]),
        ("/?project=demo", ["standings", "judgements", "runs"]),
        ("/grid?project=demo", ["standings", "benchmarks"]),
        ("/series?project=demo", ["standings"]),
        ("/series?project=demo&benchmark=step&params=n=1", ["series"]),
        ("/runs?project=demo", ["runs"]),
        ("/runs/1", ["runs"]),
        ("/traces/1/operators?by=op%2Bshape", ["traces"]),
        ("/traces/1/memory", ["traces"] * 2),
        ("/traces/1/gil", ["traces"] * 3),
        ("/traces/1/steps", ["traces"]),
    ],
)
def test_a_page_leads_to_its_data(client: httpx.Client, page: str, routes: list[str]) -> None:
    found = [html.unescape(each) for each in re.findall(r'href="(/api/v1/[^"]*)"', client.get(page).text)]
    assert [re.split("[/?]", each)[3] for each in found] == [route for route in routes for _ in ("json", "csv")]
    for as_json, as_csv in zip(found[::2], found[1::2], strict=True):
        assert as_csv == f"{as_json}{'&' if '?' in as_json else '?'}format=csv"
        for address, kind in ((as_json, "application/json"), (as_csv, "text/csv; charset=utf-8")):
            answer = client.get(address)
            assert (answer.status_code, answer.headers["content-type"]) == (200, kind)


@pytest.fixture
def filled(local: LocalLab, files: Files) -> dict[str, int]:
    """A lab with two commits; gives the numbers of their traces."""
    found = {}
    for number, commit in enumerate((BASE, HEAD)):
        said = Origin(project="demo", commit=commit, branch="main")
        run = files.run(f"{number}.json", 1.0 + number, 1.2 + number, minutes=number)
        local.upload(run, Label(name=run.name, said=said))
        trace = files.trace(f"{number}.trace.json", 100 + 50 * number)
        taken = local.upload(trace, Label(name=trace.name, said=said))
        assert taken.trace is not None
        found["head" if number else "base"] = taken.trace
    return found


def table(client: httpx.Client, address: str) -> list[dict[str, str]]:
    response = client.get(address + ("&" if "?" in address else "?") + "format=csv")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/csv; charset=utf-8"), response.text
    same = client.get(address, headers={"accept": "text/csv"})
    assert same.content == response.content
    assert client.get(address).headers["content-type"] == "application/json"
    return list(csv.DictReader(io.StringIO(response.text)))


def test_ops_and_steps(client: httpx.Client, filled: dict[str, int]) -> None:
    ops = table(client, f"/api/v1/traces/{filled['base']}/ops")
    assert [(op["name"], op["count"], op["self_ns"]) for op in ops] == [
        ("matmul", "3", "300000"),
        ("relu", "3", "30000"),
    ]
    steps = table(client, f"/api/v1/traces/{filled['base']}/steps")
    assert [(step["number"], step["duration"]) for step in steps] == [("0", "120000"), ("1", "120000"), ("2", "120000")]
    assert [int(step["forward_ns"]) + int(step["idle_ns"]) for step in steps] == [120_000] * 3


def test_what_was_alive_at_the_peak(client: httpx.Client, local: LocalLab, files: Files) -> None:
    def change(ts: int, size: int, total: int, address: int) -> dict[str, object]:
        args = {"Device Type": 0, "Device Id": -1, "Addr": address, "Bytes": size, "Total Allocated": total}
        return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": args}

    path = files.folder / "memory.json"
    path.write_text(json.dumps([change(10, 64, 64, 1), change(20, 100, 164, 2), change(30, -100, 64, 2)]))
    trace = local.upload(path, Label(name=path.name, said=Origin(project="demo", commit=BASE))).trace
    alive = table(client, f"/api/v1/traces/{trace}/memory")
    assert [(block["bytes"], block["allocated"], block["freed"]) for block in alive] == [
        ("100", "20000", "30000"),
        ("64", "10000", ""),
    ]
    assert table(client, f"/api/v1/traces/{trace}/memory?part=suspects") == []
    whole = client.get(f"/api/v1/traces/{trace}/memory").json()
    assert (whole["peak"]["bytes"], whole["growth"]["leak_bytes"]) == (164, 0)


def test_who_waited_for_the_gil(client: httpx.Client, local: LocalLab, files: Files) -> None:
    def slice_(name: str, thread: int, ts: int, dur: int) -> dict[str, object]:
        args = {"Thread": thread}
        track = {"pid": 1, "tid": f"{thread} GIL"}
        return {"ph": "X", "cat": "gil", "name": name, "ts": ts, "dur": dur, "args": args, **track}

    path = files.folder / "gil.json"
    events = [
        slice_("GIL held: Python", 1, 0, 80),
        slice_("GIL wait: Python", 2, 30, 50),
        slice_("GIL held: Python", 2, 80, 20),
    ]
    path.write_text(json.dumps(events))
    trace = local.upload(path, Label(name=path.name, said=Origin(project="demo", commit=BASE))).trace
    address = f"/api/v1/traces/{trace}/gil"
    threads = table(client, address)
    assert [(row["use.held_ns"], row["use.waited_ns"]) for row in threads] == [("80000", "0"), ("20000", "50000")]
    (pair,) = table(client, f"{address}?part=pairs")
    assert (pair["waiter"], pair["holder"], pair["pair.ns"]) == (threads[1]["name"], threads[0]["name"], "50000")
    (wait,) = table(client, f"{address}?part=waits")
    assert (wait["wait_ns"], wait["hold_ns"]) == ("50000", "20000")


def test_a_trace_of_one_rank_has_no_ranks(client: httpx.Client, filled: dict[str, int]) -> None:
    address = f"/api/v1/traces/{filled['base']}/ranks"
    assert client.get(address).json() == {"uses": [], "kinds": [], "skews": [], "clock": None}
    assert table(client, address) == []


def test_the_ranks_of_a_run(client: httpx.Client, local: LocalLab, files: Files) -> None:
    def arrived(rank: int, *starts: int) -> dict[str, object]:
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
        events = [
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": 100 * at + 90 - start}
            for at, start in enumerate(starts)
        ]
        return {"distributedInfo": {"rank": rank}, "baseTimeNanoseconds": 0, "traceEvents": events}

    archive = files.folder / "ranks.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("0.json", json.dumps(arrived(0, 10, 110, 210, 310)))
        written.writestr("1.json", json.dumps(arrived(1, 50, 150, 250, 310)))
    trace = local.upload(archive, Label(name=archive.name, said=Origin(project="demo", commit=BASE))).trace
    ranks = table(client, f"/api/v1/traces/{trace}/ranks")
    assert [(use["rank"], use["waited_ns"], use["delayed_ns"]) for use in ranks] == [
        ("0", "120000", "0"),
        ("1", "0", "120000"),
    ]
    whole = client.get(f"/api/v1/traces/{trace}/ranks").json()
    assert [skew["skew_ns"] for skew in whole["skews"]] == [40_000, 40_000, 40_000, 0]
    assert (whole["clock"]["method"], whole["clock"]["uncertainty_ns"]) == ("agreed", 0)


def test_ops_are_grouped(client: httpx.Client, filled: dict[str, int]) -> None:
    address = f"/api/v1/traces/{filled['base']}/ops"
    assert [row["count"] for row in client.get(address, params={"by": "module"}).json()] == [6]
    assert client.get(address, params={"by": "colour"}).status_code == 422


def test_the_bill_of_two_traces(client: httpx.Client, filled: dict[str, int]) -> None:
    response = client.get(f"/api/v1/traces/{filled['head']}/diff", params={"base": filled["base"], "format": "csv"})
    bill = list(csv.DictReader(io.StringIO(response.text)))
    assert (bill[0]["owner"], bill[0]["name"], float(bill[0]["ns"])) == ("op", "matmul", 50_000.0)
    whole = client.get(f"/api/v1/traces/{filled['head']}/diff", params={"base": filled["base"]}).json()
    assert sum(line["ns"] for line in whole["bill"]) == whole["head_step_ns"] - whole["base_step_ns"] == 50_000
    assert client.get(f"/api/v1/traces/{filled['head']}/diff", params={"base": 99}).status_code == 404


def test_the_ops_and_the_op_tree_of_two_traces(client: httpx.Client, filled: dict[str, int]) -> None:
    for part in ("ops", "tree"):
        params = {"base": filled["base"], "format": "csv", "part": part}
        response = client.get(f"/api/v1/traces/{filled['head']}/diff", params=params)
        (matmul,) = [row for row in csv.DictReader(io.StringIO(response.text)) if row["name"] == "matmul"]
        assert float(matmul["head_self_ns"]) - float(matmul["base_self_ns"]) == 50_000
        assert ("parent" in matmul) == (part == "tree")


def test_runs_and_results(client: httpx.Client, filled: dict[str, int]) -> None:
    runs = table(client, "/api/v1/runs")
    assert len(runs) == 4
    assert {run["commit"] for run in runs} == {BASE, HEAD} and {run["project"] for run in runs} == {"demo"}
    (run, *_) = [run for run in runs if run["commit"] == BASE and run["results"] == "1"]
    assert run["machine.cpu"] == "A CPU"
    (result,) = table(client, f"/api/v1/runs/{run['id']}")
    assert (result["benchmark.name"], result["benchmark.params.n"], result["samples"]) == ("step", "1", "[1.0, 1.2]")


def test_series_standings_and_verdicts(client: httpx.Client, filled: dict[str, int]) -> None:
    response = client.get("/api/v1/series", params={"project": "demo", "format": "csv"})
    points = list(csv.DictReader(io.StringIO(response.text)))
    assert [(point["commit"], point["minimum"]) for point in points] == [(BASE, "1.0"), (HEAD, "2.0")]
    response = client.get("/api/v1/standings", params={"project": "demo"})
    (standing,) = response.json()
    assert (standing["commits"], standing["values"], standing["behind"]) == ([BASE, HEAD], [1.0, 2.0], 0)
    response = client.get("/api/v1/compare", params={"base": BASE, "head": HEAD, "format": "csv"})
    (finding,) = csv.DictReader(io.StringIO(response.text))
    assert (finding["benchmark.name"], finding["base"], finding["head"]) == ("step", "1.0", "2.0")


@pytest.mark.usefixtures("filled")
def test_a_cause_is_told_by_traces(client: httpx.Client) -> None:
    told = client.get(f"/cause?project=demo&base={BASE}&head={HEAD}")
    assert "</span> matmul: +50 µs a step (+50.0 %); 100 % of the difference" in told.text
    same = client.get(f"/cause?project=demo&base={BASE}&head={BASE}")
    assert "name no op for it" in same.text
    assert client.get(f"/cause?project=demo&base={BASE}&head={'0' * 40}").status_code == 404
