"""Every page in a real Chromium: nothing fails, everything is drawn, nothing sticks out."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SIZES = ((1440, 900), (1024, 768))
BASE, HEAD = "ba5e" * 10, "4ead" * 10
PAGES = {
    "/": "Runs",
    "/?project=demo": "Runs of demo",
    "/runs/1": "Run 1",
    "/runs/7": "Run 7",
    "/traces/1": "Trace ba5e.json.gz",
    "/traces/2?step=3": "Trace 4ead.json.gz",
    f"/compare?base={BASE}&head={HEAD}": "4ead4ead against ba5eba5e",
    "/compare?base=trace:1&head=trace:2": "4ead4ead against ba5eba5e",
    "/compare": "Compare",
    "/series": "Series",
    "/series?project=demo&benchmark=train/step.py::test_step": "train/step.py::test_step over commits",
}
FIGURES = {"/traces/1": 3, f"/compare?base={BASE}&head={HEAD}": 1}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: make test installs it")


@dataclass
class Watched:
    """A page and what went wrong on it."""

    page: Page
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("requestfailed", lambda request: self.faults.append(f"failed: {request.url}"))
        self.page.on("response", self._on_response)
        self.page.on("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400 and response.request.resource_type != "document":
            self.faults.append(f"{response.status}: {response.url}")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self.faults.append(f"leaves the machine: {request.url}")

    def visit(self, address: str) -> Page:
        """Open an address and wait until every figure is drawn."""
        self.page.goto(address)
        figures = self.page.locator("[data-figure]").count()
        self.page.wait_for_function("count => document.querySelectorAll('[data-drawn]').length === count", arg=figures)
        return self.page

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def window(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """A browser with a window of each size; it keeps its cache, so plotly is compiled once."""
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    yield context
    context.close()


@pytest.fixture
def watched(window: BrowserContext) -> Iterator[Watched]:
    """A fresh page; the test fails when anything went wrong on it."""
    watched = Watched(window.new_page())
    yield watched
    watched.page.close()
    assert watched.faults == []


@pytest.mark.parametrize("path", PAGES)
def test_page_is_whole(lab: str, watched: Watched, path: str) -> None:
    page = watched.visit(lab + path)
    assert page.title().startswith(PAGES[path])
    assert page.title().endswith("perflab")
    assert watched.overflow() <= 0
    assert page.locator("main h1").count() == 1
    for figure in page.locator("[data-figure]").all():
        box = figure.locator("svg.main-svg").first.bounding_box()
        assert box is not None and box["width"] > 200 and box["height"] > 80
        assert figure.locator("path").count() > 2
    assert page.locator("[data-figure]").count() >= FIGURES.get(path, 0)


@pytest.mark.parametrize("path", ["/", "/compare", "/series"])
def test_empty_lab_says_what_to_do(empty_lab: str, watched: Watched, path: str) -> None:
    page = watched.visit(empty_lab + path)
    assert len(page.locator(".empty").inner_text()) > 40
    assert watched.overflow() <= 0


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/traces/99", 404, "the lab has no trace 99"),
        ("/runs/99", 404, "the lab has no run 99"),
        ("/traces/1?step=99", 404, "the trace has no step 99"),
        ("/traces/one", 422, "id"),
        ("/compare?base=abcdef0&head=trace:1", 422, "two commits or two traces"),
        (f"/compare?base=fffffff&head={HEAD}", 404, "fffffff"),
        ("/series?project=demo&benchmark=nothing", 404, "nothing"),
    ],
)
def test_refusal_is_a_page(lab: str, browser: Browser, path: str, status: int, sentence: str) -> None:
    page = browser.new_page()
    response = page.goto(lab + path)
    assert response is not None and response.status == status
    assert sentence in page.locator(".empty").inner_text()
    assert page.get_by_role("link", name="Back to the runs").is_visible()
    page.close()


def numbers(page: Page, column: int) -> list[float]:
    cells = page.locator(f"#op-table tbody tr td:nth-child({column})")
    return [float(cell.get_attribute("data-value") or "nan") for cell in cells.all()]


def test_op_table_sorts_by_mouse_and_key(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    by_self = numbers(page, 2)
    assert by_self == sorted(by_self, reverse=True)
    page.locator("#op-table").get_by_role("button", name="count", exact=True).click()
    by_count = numbers(page, 5)
    assert by_count == sorted(by_count, reverse=True)
    page.keyboard.press("Enter")
    assert numbers(page, 5) == sorted(by_count)
    assert page.locator("#op-table th[aria-sort]").count() == 1
    page.locator("#op-table").get_by_role("button", name="op", exact=True).click()
    names = page.locator("#op-table tbody td:first-child").all_inner_texts()
    assert names == sorted(names)


def test_op_table_filters(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    page.get_by_label("Filter ops by name").fill("MATM")
    assert page.locator("#op-table tbody tr:visible td:first-child").all_inner_texts() == ["matmul"]


def shown_range(page: Page) -> list[float]:
    return [float(end) for end in page.evaluate("document.getElementById('plot-timeline')._fullLayout.xaxis.range")]


def test_timeline_zooms_by_key_and_button(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    whole = shown_range(page)
    page.locator("#plot-timeline").focus()
    page.keyboard.press("w")
    low, high = shown_range(page)
    assert high - low == pytest.approx((whole[1] - whole[0]) / 2)
    page.keyboard.press("a")
    assert shown_range(page)[0] < low
    page.get_by_role("button", name="all", exact=True).click()
    assert shown_range(page) == pytest.approx(whole)


def test_step_is_chosen_by_link(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
    page.get_by_role("link", name="slowest").click()
    assert "?step=" in page.url
    assert page.locator(".steps [aria-current]", has_text="slowest").count() == 1


def test_runs_lead_to_their_comparison(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/?project=demo")
    page.get_by_label("Base: run 1", exact=True).check()
    page.get_by_role("button", name="Compare base with head").click()
    page.wait_for_load_state()
    assert f"base={BASE}" in page.url and f"head={HEAD}" in page.url
    assert page.locator(".verdict.regression").count() == 1
    assert page.locator(".verdict.improvement").count() == 1
    assert "one_hot" in page.locator(".headline").inner_text()


def test_the_autograd_graph_is_drawn_from_leaf_to_result(lab: str, watched: Watched) -> None:
    page = watched.visit(f"{lab}/traces/1")
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
    page = Watched(context.new_page()).visit(f"{lab}/traces/1")
    colour = "element => getComputedStyle(element).fill"
    assert page.locator(".graph .node rect").first.evaluate(colour) == "rgb(26, 32, 39)"
    assert page.locator(".graph text").first.evaluate(colour) == "rgb(226, 230, 234)"
    papers = page.evaluate(
        "[...document.querySelectorAll('[data-figure]')].map(figure => figure._fullLayout.paper_bgcolor)"
    )
    assert set(papers) == {"#151a20"}
    context.close()
