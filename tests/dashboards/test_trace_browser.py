"""The tabs of a trace in a real Chromium: operators, flame graph, and how they lead to each other."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from perflab.dashboards.trace_pages import TABS
from perflab.profiler import chrome, profile, record_function
from perflab.runtime import nn, optim, randn
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings

from .conftest import Watched, every_size, served
from .test_ranks import run_of_ranks
from .training_run import training_run

TORCH = Path(__file__).parents[1] / "data/traces/torch_step.json"

pytestmark = pytest.mark.browser


def asked(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_tabs_are_gone_through_by_keyboard(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    tabs = page.get_by_role("navigation", name="Parts of the trace")
    for name in ("Operators", "Flame graph", "Memory", "GIL", "Steps", "Graph", "Timeline"):
        tabs.get_by_role("link", name=name, exact=True).focus()
        page.keyboard.press("Enter")
        expect(tabs.locator("[aria-current=page]")).to_have_text(name)
        watched.settle()


def recorded(path: Path) -> None:
    """A trace of a few real steps."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    with profile() as prof:
        for _ in range(6):
            with record_function("forward"):
                loss = model(randn(32, 8)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            prof.step()
    prof.export_chrome_trace(str(path))


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A lab with a trace that perflab recorded, one of torch, one of many slices, and one of three ranks."""
    folder = tmp_path_factory.mktemp("kinds")
    own, large, ranks = (folder / f"{name}.json" for name in ("own", "large", "ranks"))
    recorded(own)
    chrome.write(training_run(40), large)
    settings = Settings(lab=folder / "lab")
    lab = LocalLab.open(settings, create=True)
    chrome.write(run_of_ranks(), ranks)
    for path in (own, TORCH, large, ranks):
        lab.upload(path, Label(name=path.name, said=Origin(project="kinds", commit="0" * 40)))
    lab.close()
    yield from served(settings)


@pytest.mark.parametrize(
    ("trace", "mode"),
    [(1, "light"), (2, "dark"), (3, "light"), (4, "dark")],
    ids=["recorded", "torch", "large", "ranks"],
)
def test_every_tab_of_every_kind_of_trace_is_whole(kinds: str, browser: Browser, trace: int, mode: str) -> None:
    context = browser.new_context(color_scheme=mode)  # type: ignore[arg-type]
    for tab in TABS:
        watched = Watched(context.new_page())
        page = watched.visit(f"{kinds}/traces/{trace}{tab.path}")
        expect(page.locator(".tabs [aria-current=page]")).to_have_text(tab.word)
        assert len(page.locator("main .panel").all()) >= 1
        assert (watched.faults, watched.overflow()) == ([], 0), tab
        assert watched.shift() < 0.02, tab
        page.close()
    context.close()


@every_size
def test_nothing_moves_while_a_large_trace_comes(kinds: str, watched: Watched) -> None:
    page = watched.page
    for tab in TABS:
        page.goto(f"{kinds}/traces/3{tab.path}")
        watched.settle()
        page.wait_for_function(
            """() => [...document.querySelectorAll("[data-figure]")]
              .every((each) => each.getBoundingClientRect().top > innerHeight || each.dataset.drawn)"""
        )
        assert watched.shift() < 0.02, tab.name


def test_findings_lead_to_their_evidence(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/memory")
    expect(page.locator(".finding").first).to_be_visible()
    link = page.locator(".evidence a[href*='find=']").first
    name = link.inner_text().split(" in step ")[0]
    link.click()
    expect(page.locator(".slice h3")).to_contain_text(name)
    assert asked(page)["find"] == name


def test_the_ranks_lead_to_a_collective_on_the_timeline(kinds: str, browser: Browser) -> None:
    watched = Watched(browser.new_page())
    page = watched.visit(f"{kinds}/traces/4")
    page.get_by_role("navigation", name="Parts of the trace").get_by_role("link", name="Ranks").click()
    expect(page.locator("#ranks + .note")).to_contain_text("The others waited longest for rank 1")
    page.get_by_role("link", name="on the timeline").first.click()
    watched.settle()
    assert (float(asked(page)["start"]), float(asked(page)["end"])) == (141_250, 228_750)
    page.close()
    assert watched.faults == []


# ---- operators


def numbers(page: Page, column: int) -> list[float]:
    cells = page.locator(f"#op-table tbody tr td:nth-child({column})")
    return [float(cell.get_attribute("data-value") or "nan") for cell in cells.all()]


def test_op_table_sorts_by_mouse_and_key(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/operators")
    by_self = numbers(page, 2)
    assert by_self == sorted(by_self, reverse=True)
    page.locator("#op-table").get_by_role("button", name="calls", exact=True).click()
    by_count = numbers(page, 5)
    assert by_count == sorted(by_count, reverse=True)
    page.keyboard.press("Enter")
    assert numbers(page, 5) == sorted(by_count)
    assert page.locator("#op-table th[aria-sort]").count() == 1
    page.locator("#op-table").get_by_role("button", name="op", exact=True).click()
    names = page.locator("#op-table tbody td:first-child").all_inner_texts()
    assert names == sorted(names)


def test_op_table_filters(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/operators")
    page.get_by_label("Filter by name").fill("MATM")
    assert page.locator("#op-table tbody tr:visible td:first-child").all_inner_texts() == ["matmul"]


def test_order_and_filter_of_a_table_are_in_its_address(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/operators")
    page.get_by_label("Filter by name").fill("a")
    page.locator("#op-table").get_by_role("button", name="calls", exact=True).press("Enter")
    page.keyboard.press("Enter")
    page.locator("#op-table").get_by_role("link", name="tanh").press("Enter")
    expect(page.locator("#chosen h2")).to_have_text("tanh")
    assert asked(page) == {"by": "op", "op": "tanh", "filter": "a", "sort": "calls"}
    rows = page.locator("#op-table tbody tr:visible td:first-child")
    seen = rows.all_inner_texts()
    assert numbers(page, 5) == sorted(numbers(page, 5))
    other = Watched(page.context.new_page())
    other.visit(page.url)
    assert other.page.locator("#op-table tbody tr:visible td:first-child").all_inner_texts() == seen
    expect(other.page.locator("#op-table tr.current td:first-child")).to_have_text("tanh")
    assert other.faults == []
    other.page.close()
    page.locator("#op-table th[aria-sort] button").press("Enter")
    assert asked(page)["sort"] == "-calls"


def test_a_table_is_had_as_csv(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/operators")
    page.get_by_label("Filter by name").fill("tanh")
    with page.expect_download() as download:
        page.locator("#op-table").locator("xpath=ancestor::section").get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename == "operators.csv"
    heading, row = Path(download.value.path()).read_text().splitlines()
    assert heading.startswith("op,self,share,total,calls,")
    assert row.split(",")[:2] == [
        "tanh",
        page.locator("#op-table tr:visible td:nth-child(2)").get_attribute("data-value"),
    ]


def test_an_op_is_chosen_without_leaving_the_page(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/operators")
    page.evaluate("() => (window.stays = true)")
    page.locator("#op-table").get_by_role("link", name="tanh").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#chosen h2")).to_have_text("tanh")
    expect(page.locator("#chosen [data-figure]")).to_have_attribute("data-drawn", "true", timeout=30_000)
    expect(page.locator("#op-table tr.current td:first-child")).to_have_text("tanh")
    assert asked(page) == {"by": "op", "op": "tanh"}
    assert page.evaluate("() => window.stays")
    page.go_back()
    expect(page.locator("#chosen h2")).to_have_text("matmul")
    expect(page.locator("#op-table tr.current td:first-child")).to_have_text("matmul")
    page.go_forward()
    expect(page.locator("#chosen h2")).to_have_text("tanh")
    other = Watched(page.context.new_page())
    other.visit(page.url)
    expect(other.page.locator("#chosen h2")).to_have_text("tanh")
    assert other.faults == []
    other.page.close()
    page.get_by_role("link", name="The longest call on the timeline").click()
    expect(page.locator(".slice h3")).to_have_text("tanh")


def test_ops_are_grouped_by_shape_and_stack(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/operators")
    groups = page.get_by_role("navigation", name="Grouped by")
    groups.get_by_role("link", name="op and shape").click()
    expect(page.locator("#op-table").get_by_role("link", name="tanh [256, 512]")).to_be_visible()
    groups.get_by_role("link", name="stack").click()
    expect(groups.locator("[aria-current=true]")).to_have_text("stack")
    expect(page.locator("#op-table").get_by_role("link", name="tanh \u2039 forward")).to_be_visible()


# ---- the flame graph


@every_size
def test_a_box_is_found_zoomed_into_and_shared(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/flame")
    page.locator(".flame-rows").focus()
    page.keyboard.press("/")
    page.keyboard.type("TANH")
    expect(page.locator(".flame output")).to_contain_text("5, ")  # forward and backward, with kernels
    page.keyboard.press("Enter")
    name = page.locator(".flame-detail h3")
    expect(name).to_have_text("TanhBackward")
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Enter")
    expect(name).to_have_text("TanhBackward")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")  # into the box
    page.keyboard.press("ArrowDown")
    expect(name).to_have_text("tanh")
    page.wait_for_function("() => (document.querySelector('.flame').dataset.kept ?? '').includes('flame-box')")
    watched.settle()
    drawn = "document.querySelector('.flame canvas').toDataURL()"
    said, picture = asked(page), page.evaluate(drawn)
    assert set(said) == {"flame", "flame-box", "flame-find"}
    other = Watched(page.context.new_page())
    other.visit(page.url)
    expect(other.page.locator(".flame-detail h3")).to_have_text("tanh")
    other.settle()
    assert other.page.evaluate(drawn) == picture
    assert other.faults == []
    other.page.close()
    page.keyboard.press("ArrowUp")
    expect(name).to_have_text("TanhBackward")
    page.keyboard.press("Backspace")
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    expect(name).to_have_count(0)
    page.wait_for_function("() => !document.querySelector('.flame').dataset.kept.includes('flame=')")
    assert watched.overflow() <= 0


def test_boxes_are_chosen_by_mouse_and_lead_to_the_timeline(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/flame")
    box = page.locator(".flame canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 30, box["y"] + 10)
    expect(page.locator(".flame .tip")).to_contain_text("backward")
    page.mouse.click(box["x"] + 30, box["y"] + 10)
    expect(page.locator(".flame-detail h3")).to_have_text("backward")
    expect(page.locator(".flame-facts")).to_contain_text("times a step1, ")
    page.get_by_role("link", name="on the timeline").click()
    expect(page.locator(".slice h3")).to_have_text("backward")


def test_a_flame_graph_of_one_step(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/flame?flame-find=TanhBackward")
    page.get_by_role("navigation", name="Step").get_by_role("link", name="slowest").click()
    watched.settle()
    asked_for = urlsplit(page.locator(".flame").get_attribute("data-address") or "").query
    assert asked_for == f"of=ops&step={asked(page)['step']}"
    page.locator(".flame-rows").press("ArrowDown")
    expect(page.locator(".flame-facts")).to_contain_text("times a step1, ")


def test_a_tree_that_is_not_there_is_said(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/flame")
    page.get_by_role("link", name="Python stacks").click()
    expect(page.locator(".flame .empty")).to_contain_text("no Python stacks")
