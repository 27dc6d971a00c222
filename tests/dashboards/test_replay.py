"""Replays side by side, and the pages that stand alone."""

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, expect

from perflab.dashboards import memory, pages, replay, theme
from perflab.profiler.memory_snapshot import Block, Segment
from perflab.profiler.replay import RECORDED, Replay
from perflab.profiler.report.section import Section, Table

GIB = 1 << 30


def made(conf: str, reserved: list[float], refused: int = 0) -> Replay:
    allocated = [0.5, 2.0, 1.0, 1.5][: len(reserved)]
    time, used, held = (np.array(column) for column in (range(len(reserved)), allocated, reserved))
    return Replay(conf, time, (used * GIB).astype(np.int64), (held * GIB).astype(np.int64), 3, refused)


REPLAYS = [made(RECORDED, [2, 4, 4, 4]), made("defaults", [1, 2, 2, 2]), made("a:<b>", [1, 2], refused=GIB)]
SECTION = Section("Replay", ("One <sentence>.",), (Table(("configuration", "reserved"), (("a:<b>", "2 GiB"),)),))


def test_the_curves_of_each_configuration() -> None:
    figure = replay.figure(REPLAYS)
    above = {each.name: each for each in figure.data if each.yaxis is None}
    below = {each.name: each for each in figure.data if each.yaxis == "y2"}
    assert list(above) == ["allocated", "defaults", "a:<b>", RECORDED], "what was recorded lies above the others"
    assert above["allocated"].y.tolist() == [0.5, 2.0, 1.0, 1.5]
    assert above["defaults"].y.tolist() == [1, 2, 2, 2] and above["a:<b>"].y.tolist() == [1, 2]
    assert below["defaults"].y.tolist() == pytest.approx([0.5, 0, 0.5, 0.25])
    assert below[RECORDED].y.tolist() == pytest.approx([0.75, 0.5, 0.75, 0.625])
    assert (above[RECORDED].line.dash, above["defaults"].line.dash) == ("dot", "solid")
    assert above["defaults"].line.color == below["defaults"].line.color == theme.SEQUENCE[1]
    assert figure.layout.yaxis.title.text == "GiB"


def test_long_curves_are_thinned_and_keep_their_peak() -> None:
    held = np.full(100_000, GIB)
    held[77_777] = 3 * GIB
    long = Replay("defaults", np.arange(len(held)), held // 2, held, 1)
    (curve,) = [each for each in replay.figure([long]).data if each.name == "defaults" and each.yaxis is None]
    assert len(curve.x) <= 2 * memory.POINT_LIMIT
    assert curve.y[curve.x.tolist().index(77_777)] == 3


def test_a_replay_that_never_began_has_no_curve() -> None:
    figure = replay.figure([made("defaults", [1, 2]), made("small", [], refused=GIB)])
    assert {each.name for each in figure.data} == {"allocated", "defaults"}


def test_the_page_of_a_snapshot_has_its_map() -> None:
    segment = Segment(0, 0, 8, 0, "large", False, [Block(0, 8, 8, "allocated", "<matmul>")])
    page = pages.snapshot_page("<snap>", SECTION, [segment])
    assert "<title>&lt;snap&gt; \u00b7 perflab</title>" in page
    assert "One &lt;sentence&gt;." in page and "a:&lt;b&gt;" in page
    assert "<svg xmlns" in page and "&lt;matmul&gt;" in page
    assert "plotly" not in page, "what is not used is not in it"


@pytest.mark.browser
def test_the_page_of_replays_needs_nothing_else(window: BrowserContext) -> None:
    page = window.new_page()
    asked: list[str] = []
    faults: list[object] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: faults.append(error))
    page.set_content(pages.replay_page("snap", SECTION, REPLAYS))
    figure = page.locator("[data-figure]")
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_attribute("data-drawn", "true", timeout=60_000)
    expect(page.locator(".legendtext")).to_have_count(4)
    expect(page.get_by_role("cell", name="a:<b>")).to_be_visible()
    assert (asked, faults) == ([], [])
    page.close()
