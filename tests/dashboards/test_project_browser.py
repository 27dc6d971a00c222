"""The pages of a project in a real Chromium: the grid by keyboard, the list of series, files dropped on the lab."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from perflab.server.settings import Settings

from . import history
from .conftest import Watched, drop, every_size, served

pytestmark = pytest.mark.browser
TRACE = '{"traceEvents": [{"ph": "X", "name": "add", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 0, "dur": 5}]}'


@every_size
@pytest.mark.parametrize("path", ["/", "/grid", "/series", "/upload"])
def test_nothing_sticks_out(long_lab: str, watched: Watched, path: str) -> None:
    watched.visit(long_lab + path)
    assert watched.overflow() <= 0
    assert watched.shift() < 0.1


def test_overview_names_the_commit_that_moved_benchmarks(long_lab: str, watched: Watched) -> None:
    page = watched.visit(f"{long_lab}/?project=trainer")
    moved = page.locator(".feed > li", has_text=history.sha(80)[:8])
    expect(moved).to_contain_text("+14.")
    moved.get_by_role("link", name="test_optimizer").click()
    expect(page).to_have_title("train/step.py::test_optimizer over commits, trainer · perflab")


def test_series_are_filtered_by_name_and_state(long_lab: str, watched: Watched) -> None:
    page = watched.visit(f"{long_lab}/series?project=trainer")
    rows = page.locator("#series-table tbody tr:visible")
    expect(rows).to_have_count(12)
    page.get_by_label("Filter series").fill("POINTWISE")
    expect(rows).to_have_count(6)
    page.get_by_label("Show series of one state").select_option("worse")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("test_gelu")
    assert page.url.endswith("&filter=POINTWISE&state=worse")
    page.reload()
    expect(rows).to_have_count(1)
    expect(page.get_by_label("Filter series")).to_have_value("POINTWISE")
    page.get_by_label("Filter series").fill("nothing like it")
    expect(rows).to_have_count(0)
    expect(page.locator(".empty")).to_have_text("No row fits this filter.")
    page.get_by_label("Filter series").fill("")
    expect(page.locator(".empty")).to_have_count(0)
    assert page.url.endswith("?project=trainer&state=worse")
    names = page.locator("#series-table tbody tr[data-state=worse]").all_inner_texts()
    assert rows.all_inner_texts() == names and len(names) == 2


def test_the_order_of_a_table_stands_in_the_address(long_lab: str, watched: Watched) -> None:
    page = watched.visit(f"{long_lab}/series?project=trainer")
    newest = page.locator("#series-table tbody td:nth-child(3)")
    values = [float(cell.get_attribute("data-value") or "") for cell in newest.all()]
    page.get_by_role("button", name="newest").click()
    expect(page).to_have_url(re.compile(r"&sort=-newest$"))
    page.get_by_role("button", name="newest").click()
    expect(page).to_have_url(re.compile(r"&sort=newest$"))
    page.reload()
    expect(page.get_by_role("columnheader", name="newest")).to_have_attribute("aria-sort", "ascending")
    assert [float(cell.get_attribute("data-value") or "") for cell in newest.all()] == sorted(values) != values


def test_grid_is_walked_by_keyboard(long_lab: str, watched: Watched) -> None:
    page = watched.visit(f"{long_lab}/grid?project=trainer")
    page.locator("#grid td[tabindex='0']").focus()
    said = page.locator("#cell")
    expect(said).to_contain_text(f"{history.sha(99)[:8]}, 2026-01-17")
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text(history.sha(98)[:8])
    name = said.locator(".name").inner_text()
    page.keyboard.press("ArrowDown")
    expect(said.locator(".name")).not_to_have_text(name)
    page.keyboard.press("Home")
    expect(said).to_contain_text(history.sha(60)[:8])
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    expect(said.locator(".name")).to_have_text(name)
    page.keyboard.press("s")
    page.wait_for_url("**/series?*")


def test_a_cell_leads_to_its_comparison(long_lab: str, watched: Watched) -> None:
    page = watched.visit(f"{long_lab}/grid?project=trainer")
    page.locator("#grid tbody tr", has_text="test_optimizer").locator("td").last.click()
    page.wait_for_url(f"**/compare?project=trainer&base={history.sha(60)[:12]}&head={history.sha(99)}")


@pytest.fixture
def own_lab(tmp_path: Path) -> Iterator[str]:
    """The address of a lab to which the test may upload."""
    yield from served(Settings(lab=tmp_path / "lab"))


def test_dropped_files_are_taken_and_compared(own_lab: str, watched: Watched) -> None:
    page = watched.visit(f"{own_lab}/upload")
    slower = TRACE.replace('"dur": 5', '"dur": 9')
    drop(page, ("one.json", TRACE), ("two.json", slower))
    files = page.locator(".taken > li")
    expect(files).to_have_count(2)
    expect(page.get_by_role("status")).to_have_text("2 done")
    expect(files.nth(0)).to_contain_text("trace #1")
    expect(files.nth(0).locator(".verdict")).to_have_text("healthy")
    page.get_by_role("link", name="Compare the two traces").click()
    page.wait_for_url("**/compare?base=trace:1&head=trace:2")
    assert page.title() == "two.json against one.json, traces · perflab"


def test_a_broken_file_shows_the_doctor(own_lab: str, watched: Watched) -> None:
    watched.refusal = 422
    page = watched.visit(f"{own_lab}/upload")
    events = json.loads(TRACE)["traceEvents"]
    stray = {"ph": "E", "pid": 1, "tid": 1, "ts": 9}
    drop(page, ("page.html", "<!doctype html><html></html>"), ("stray.json", json.dumps([*events, stray])))
    html, damaged = page.locator(".taken > li").all()[:2]
    expect(html.locator(".verdict")).to_have_text("refused")
    expect(html.locator(".says")).to_contain_text("page.html: this is HTML, not a trace")
    expect(damaged.locator("li")).to_contain_text("1 end has no begin")
    expect(damaged.locator(".verdict")).not_to_have_text("healthy")


def test_files_are_chosen_by_keyboard(own_lab: str, watched: Watched, tmp_path: Path) -> None:
    path = tmp_path / "chosen.json"
    path.write_text(TRACE)
    watched.page.on("filechooser", lambda _: None)  # from now on: the browser may be late with it, after the key
    page = watched.visit(f"{own_lab}/upload")
    page.get_by_role("button", name="Choose files").focus()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(path)
    expect(page.locator(".taken > li")).to_contain_text("trace #1")


def test_results_without_a_commit_are_refused(own_lab: str, watched: Watched) -> None:
    watched.refusal = 422
    page = watched.visit(f"{own_lab}/upload")
    entry = {"fullname": "test_a", "name": "test_a", "params": None, "stats": {"data": [1.0], "median": 1.0}}
    results = {"machine_info": {}, "commit_info": {}, "benchmarks": [entry], "datetime": "2026-01-31T12:00:00"}
    drop(page, ("bench.json", json.dumps(results)))
    expect(page.locator(".says")).to_contain_text("bench.json does not say its commit")


def point(page: Page, commit: str) -> dict[str, float]:
    """Where the median of a commit is drawn on a series' page."""
    found: dict[str, float] = page.evaluate(
        """(commit) => {
          const figure = document.querySelector("[data-figure]");
          const [trace] = figure.data.filter(({ customdata }) => customdata);
          const at = trace.customdata.findIndex(([, sha]) => sha === commit);
          const { xaxis, yaxis } = figure._fullLayout;
          const box = figure.querySelector(".nsewdrag").getBoundingClientRect();
          return { x: box.x + xaxis.d2p(trace.x[at]), y: box.y + yaxis.d2p(trace.y[at]) };
        }""",
        commit,
    )
    return found


@pytest.mark.parametrize("later_first", [False, True])
def test_two_points_of_a_series_lead_to_their_comparison(long_lab: str, watched: Watched, later_first: bool) -> None:
    page = watched.visit(f"{long_lab}/series?project=trainer&benchmark=train/step.py::test_optimizer")
    base, head = history.sha(70), history.sha(90)
    said = page.locator("[data-project] [role=status]")
    for commit in (head, base) if later_first else (base, head):
        at = point(page, commit)
        page.mouse.move(**at)
        expect(page.locator(".hoverlayer .hovertext")).to_contain_text(commit[:8])
        page.mouse.click(**at)
        if commit == (head if later_first else base):
            expect(said).to_contain_text(commit[:8])
    page.wait_for_url(f"**/compare?project=trainer&base={base}&head={head}")
    assert page.title().startswith(f"{head[:8]} against {base[:8]}")


def test_a_chosen_point_is_forgotten(long_lab: str, watched: Watched) -> None:
    page = watched.visit(f"{long_lab}/series?project=trainer&benchmark=train/step.py::test_optimizer")
    said = page.locator("[data-project] [role=status]")
    page.mouse.click(**point(page, history.sha(70)))
    expect(said).to_contain_text(history.sha(70)[:8])
    page.keyboard.press("Escape")
    expect(said).to_have_text("Click two commits to compare them.")


def test_the_overview_tells_the_cause_by_the_traces(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/?project=demo")
    moved = page.locator(".feed > li", has_text="moved")
    expect(moved).to_have_count(1)
    expect(moved).to_contain_text(re.compile(r"because of (one_hot|matmul): \+\d.* a step"))
    assert watched.shift() < 0.1
