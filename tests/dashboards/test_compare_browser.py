"""The tree of ops on the page of a comparison, by mouse and by keyboard, and two torch traces without any commit."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from perflab.server.settings import Settings

from .conftest import BASE, HEAD, Watched, drop, served

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def own_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from served(Settings(lab=tmp_path_factory.mktemp("torch") / "lab"))


def torch_trace(addmm: int) -> str:
    """What torch.profiler would write of two steps of a layer whose product takes so many us."""
    events: list[dict[str, Any]] = []

    def add(name: str, category: str, start: int, duration: int) -> None:
        events.append({"ph": "X", "name": name, "cat": category, "pid": 9, "tid": 9, "ts": start, "dur": duration})

    for number in (1, 2):
        start = number * 10_000
        add(f"ProfilerStep#{number}", "user_annotation", start, addmm + 500)
        add("aten::linear", "cpu_op", start + 10, addmm + 60)
        add("aten::t", "cpu_op", start + 15, 20)
        add("aten::transpose", "cpu_op", start + 20, 10)
        add("aten::addmm", "cpu_op", start + 50, addmm)
        add("aten::relu", "cpu_op", start + 200 + addmm, 40)
        add("aten::sum", "cpu_op", start + 300 + addmm, 30)
    return json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events})


def rows(page: Page) -> list[str]:
    return page.locator(".tree tbody tr:visible td.name").all_inner_texts()


def test_two_torch_traces_are_compared_without_a_commit(own_lab: str, watched: Watched) -> None:
    page = watched.visit(f"{own_lab}/upload")
    drop(page, ("before.json", torch_trace(200)), ("after.json", torch_trace(700)))
    page.get_by_role("link", name="Compare the two traces").click()
    page.wait_for_url("**/compare?base=trace:1&head=trace:2")
    assert page.title() == "after.json against before.json, traces · perflab"
    expect(page.locator(".bill tbody tr").first).to_contain_text("aten::addmm")
    expect(page.locator(".headline")).to_contain_text("aten::addmm +")
    changed = page.locator(".tree tbody tr", has_text="aten::addmm").first
    expect(changed).to_be_visible()
    assert changed.get_attribute("aria-level") == "2"
    expect(page.get_by_role("heading", name="Benchmarks")).to_have_count(0)


def test_rows_of_the_op_tree_open_by_click_and_by_keyboard(own_lab: str, watched: Watched) -> None:
    page = watched.visit(f"{own_lab}/compare?base=trace:1&head=trace:1")
    top = rows(page)
    assert len(top) > 2 and not any("addmm" in name for name in top)
    linear = page.locator(".tree tr[aria-level='1']", has_text="aten::linear").first
    linear.click()
    assert "aten::addmm" in rows(page)
    expect(linear).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator(":focus")).to_have_attribute("aria-level", "2")
    page.keyboard.press("ArrowLeft")
    expect(linear).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(linear).to_have_attribute("aria-expanded", "false")
    assert rows(page) == top
    page.keyboard.press("Enter")
    expect(linear).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("End")
    expect(page.locator(":focus td.name")).to_have_text(top[-1])
    page.keyboard.press("Home")
    expect(page.locator(":focus td.name")).to_have_text(top[0])
    page.get_by_role("button", name="all", exact=True).first.click()
    assert len(rows(page)) == page.locator(".tree tbody tr").count() > len(top)
    page.get_by_role("button", name="top").click()
    assert rows(page) == top


def test_the_tables_of_a_comparison_are_had_as_data(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/compare?project=demo&base={BASE}&head={HEAD}")
    links = page.locator("main > p a")
    names = ("Benchmarks", "Bill", "Op tree", "Ops")
    assert links.all_inner_texts() == [text for name in names for text in (f"{name} as JSON", "CSV")]
    for link in links.all():
        answer = page.request.get(lab + (link.get_attribute("href") or ""))
        assert answer.ok and ("one_hot" in answer.text() or "test_export" in answer.text())


def test_the_tables_of_two_runs_are_had_as_data(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/compare?base=run:1&head=run:15")
    (verdicts,) = page.locator("main > p a", has_text="Benchmarks as JSON").all()
    answer = page.request.get(lab + (verdicts.get_attribute("href") or ""))
    assert len(answer.json()["report"]["findings"]) == 3
