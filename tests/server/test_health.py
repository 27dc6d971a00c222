"""What the doctor says of an uploaded trace: in the answer, on the pages, and as a repaired file."""

import io
from pathlib import Path

import httpx
import pytest

from perflab.profiler import chrome
from perflab.server.lab import Lab
from perflab.server.schema import Label, Origin

from .conftest import BASE, Files, Perflab

SAID = Origin(project="demo", commit=BASE)
CUT = '[{"ph":"X","name":"/home/ada/x.py: <f>","ts":1,"dur":2},{"ph":"X","name":"b","ts":2'


@pytest.fixture
def trace(lab: Lab, files: Files) -> int:
    taken = lab.upload(files.write("cut.json", CUT), Label(name="cut.json", said=SAID))
    file = "The file ends at byte"
    assert taken.health and taken.health.startswith(f"incomplete: {file}")
    assert taken.trace is not None
    return taken.trace


def test_a_healthy_trace_says_so(lab: Lab, files: Files) -> None:
    assert lab.upload(files.trace("whole.json", 100), Label(name="whole.json", said=SAID)).health == "healthy"
    assert lab.upload(files.run("run.json", 1.0), Label(name="run.json", said=SAID)).health is None


def test_the_summary_keeps_the_report(lab: Lab, trace: int) -> None:
    health = lab.trace(trace).summary["health"]
    assert (health["format"], health["verdict"], health["slices"]) == ("Chrome JSON", "incomplete", 1)
    assert [finding["kind"] for finding in health["findings"]] == ["cut", "masked"]
    assert "ada" not in str(health)


def test_pages_show_the_verdict(client: httpx.Client, files: Files) -> None:
    data = {"project": "demo", "commit": BASE}
    answer = client.post("/api/v1/uploads", files={"file": ("cut.json", CUT)}, data=data).json()
    page = client.get(f"/traces/{answer['trace']}").text
    assert '<span class="verdict incomplete">incomplete</span>' in page
    assert f'href="/traces/{answer["trace"]}/doctor"' in page
    assert "incomplete" in client.get(f"/runs/{answer['run']}").text
    doctor = client.get(f"/traces/{answer['trace']}/doctor").text
    assert "in the middle of the data." in doctor and f"/api/v1/traces/{answer['trace']}/repaired" in doctor
    repaired = client.get(f"/api/v1/traces/{answer['trace']}/repaired")
    assert repaired.headers["content-type"] == "application/json"
    again = chrome.read(io.BytesIO(repaired.content))
    assert again.name_of([0]) == ["~/x.py: <f>"]
    assert again.metadata["truncated"] is True


def test_examples_lead_to_the_timeline(client: httpx.Client, files: Files) -> None:
    events = '[{"ph":"X","name":"a","ts":0,"dur":100},{"ph":"X","name":"b","ts":50,"dur":100}]'
    data = {"project": "demo", "commit": BASE}
    answer = client.post("/api/v1/uploads", files={"file": ("odd.json", events)}, data=data).json()
    page = client.get(f"/traces/{answer['trace']}/doctor").text
    assert f'<a href="/traces/{answer["trace"]}?start=48500&amp;end=51500#timeline"' in page
    assert "&#39;b&#39; at 50,000 ns on 0" in page


def test_the_command_line_says_what_is_wrong(perflab: Perflab, files: Files) -> None:
    path = files.write("cut.json", CUT)
    code, out, _ = perflab("upload", str(path), "--project", "demo", "--commit", BASE)
    assert code == 0
    assert out.splitlines()[1].startswith("incomplete: The file ends at byte")
    assert Path(path).read_text() == CUT
