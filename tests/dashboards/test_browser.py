"""Every page in a real Chromium: nothing fails, everything is drawn, nothing sticks out."""

import pytest
from playwright.sync_api import Browser, Page

from .conftest import Watched, every_size

BASE, HEAD = "ba5e" * 10, "4ead" * 10
PAGES = {
    "/": "demo",
    "/?all=1": "Projects",
    "/runs": "Runs",
    "/runs?project=demo": "Runs of demo",
    "/runs/1": "Run 1",
    "/runs/7": "Run 7",
    "/traces/1": "Timeline of ba5e.json.gz",
    "/traces/2?step=3": "Timeline of 4ead.json.gz",
    "/traces/1/operators": "Operators of ba5e.json.gz",
    "/traces/1/operators?by=stack": "Operators of ba5e.json.gz",
    "/traces/1/flame": "Flame graph of ba5e.json.gz",
    "/traces/1/memory": "Memory of ba5e.json.gz",
    "/traces/1/gil": "GIL of ba5e.json.gz",
    "/traces/1/steps": "Steps of ba5e.json.gz",
    "/traces/1/graph": "Graph of ba5e.json.gz",
    f"/compare?base={BASE}&head={HEAD}": "4ead4ead against ba5eba5e",
    "/compare?base=trace:1&head=trace:2": "4ead4ead against ba5eba5e",
    "/compare?base=run:1&head=run:15": "run #15 against run #1, demo",
    "/compare?project=demo": "Compare",
    "/compare": "Compare",
    "/settings": "Settings",
    "/sign-in": "Sign in",
    "/gates": "Gates",
    "/gates/1": "Gate 1 of demo",
    "/series": "Series of demo",
    "/sql?project=demo": "SQL over demo",
    "/sql?trace=1": "SQL over trace ba5e.json.gz",
    "/series?project=demo&benchmark=train/step.py::test_step": "train/step.py::test_step over commits",
    "/series?project=demo&benchmark=train/step.py::test_step&params=batch=64": "train/step.py::test_step over commits",
}
FIGURES = {
    "/traces/1/operators": 1,
    "/traces/1/memory": 2,
    "/traces/1/gil": 1,
    "/traces/1/steps": 2,
    f"/compare?base={BASE}&head={HEAD}": 2,
}

pytestmark = pytest.mark.browser


@every_size
@pytest.mark.parametrize("path", PAGES)
def test_page_is_whole(lab: str, watched: Watched, path: str) -> None:
    page = watched.visit(lab + path)
    assert page.title().startswith(PAGES[path])
    assert page.title().endswith("perflab")
    assert watched.overflow() <= 0
    assert watched.shift() < 0.1
    assert page.locator("main h1").count() == 1
    for figure in page.locator("[data-figure]").all():
        box = figure.locator("svg.main-svg").first.bounding_box()
        assert box is not None and box["width"] > 200 and box["height"] > 80
        assert figure.locator("path").count() > 2
    assert page.locator("[data-figure]").count() >= FIGURES.get(path, 0)


@every_size
@pytest.mark.parametrize("path", ["/", "/runs", "/compare", "/series", "/gates"])
def test_empty_lab_says_what_to_do(empty_lab: str, watched: Watched, path: str) -> None:
    page = watched.visit(empty_lab + path)
    assert len(page.locator(".empty").inner_text()) > 40
    assert watched.overflow() <= 0


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/traces/99", 404, "The lab has no trace 99"),
        ("/runs/99", 404, "The lab has no run 99"),
        ("/?project=nothing", 404, "The lab has no project nothing"),
        ("/gates/99", 404, "The lab has no judgement 99"),
        ("/traces/1?step=99", 404, "The trace has no step 99"),
        ("/traces/one", 422, "id"),
        ("/nothing", 404, "There is no page /nothing; begin at the list of projects."),
        ("/compare?base=abcdef0&head=trace:1", 422, "two commits, runs, machines or traces"),
        (f"/compare?base=fffffff&head={HEAD}", 404, "fffffff"),
        ("/series?project=demo&benchmark=nothing", 404, "nothing"),
        (
            "/series?project=demo&benchmark=train/step.py::test_step&params=batch=1",
            404,
            "no results of",
        ),
    ],
)
def test_refusal_is_a_page(lab: str, browser: Browser, path: str, status: int, sentence: str) -> None:
    page = browser.new_page()
    response = page.goto(lab + path)
    assert response is not None and response.status == status
    assert sentence in page.locator(".empty").inner_text()
    assert page.get_by_role("link", name="Back to the projects").is_visible()
    page.close()


def test_step_is_chosen_by_link(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    page.get_by_role("link", name="slowest").click()
    assert "?step=" in page.url
    assert page.locator(".steps [aria-current]", has_text="slowest").count() == 1


def test_runs_lead_to_their_comparison(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/runs?project=demo")
    page.get_by_label("Base: run 1", exact=True).check()
    page.get_by_role("button", name="Compare base with head").click()
    page.wait_for_load_state()
    assert f"base={BASE}" in page.url and f"head={HEAD}" in page.url
    assert page.locator(".verdict.regression").count() == 1
    assert page.locator(".verdict.improvement").count() == 1
    assert "one_hot" in page.locator(".headline").inner_text()


def test_the_autograd_graph_is_drawn_from_leaf_to_result(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1/graph")
    picture = page.locator(".graph svg")
    assert picture.locator("path.edge").count() == 5
    drawn = picture.locator("g")
    assert drawn.locator("text:first-of-type").all_text_contents() == [
        "MatmulBackward",
        "TanhBackward",
        "AddBackward",
        "MatmulBackward",
        "EmbeddingBackward",
        "leaf (65, 128)",
    ]
    boxes = [box.locator("rect").first.bounding_box() for box in drawn.all()]
    tops = [box["y"] for box in boxes if box is not None]
    assert tops == sorted(tops, reverse=True) and len(set(tops)) == 6
    assert drawn.first.locator("title").text_content() == "\n".join(
        ["MatmulBackward", "made from float32 (256, 128), float32 (128, 512)", f"{_time_in(page)} in backward"]
    )


def _time_in(page: Page) -> str:
    return page.locator(".graph g").first.locator(".time").text_content() or ""


def test_dark_mode_draws_dark_figures(lab: str, browser: Browser) -> None:
    context = browser.new_context(color_scheme="dark")
    watched = Watched(context.new_page())
    page = watched.visit(f"{lab}/traces/1/graph")
    colour = "element => getComputedStyle(element).fill"
    assert page.locator(".graph .node rect").first.evaluate(colour) == "rgb(26, 32, 39)"
    assert page.locator(".graph text").first.evaluate(colour) == "rgb(226, 230, 234)"
    watched.visit(f"{lab}/traces/1/steps")
    papers = page.evaluate(
        "[...document.querySelectorAll('[data-figure]')].map(figure => figure._fullLayout.paper_bgcolor)"
    )
    assert set(papers) == {"#151a20"}
    context.close()
