"""Every page under axe-core, at three sizes, light and dark: nothing serious stands in the way of anyone."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from .conftest import BASE, HEAD, SIZES, Watched

pytestmark = pytest.mark.browser
PAGES = (
    "/",
    "/?all=1",
    "/grid?project=demo",
    "/series?project=demo",
    "/series?project=demo&benchmark=train/step.py::test_step",
    "/runs?project=demo",
    "/runs/1",
    "/runs/7",
    "/compare?project=demo",
    f"/compare?project=demo&base={BASE}&head={HEAD}",
    "/gates?project=demo",
    "/gates/1",
    "/upload",
    "/sql?project=demo",
    "/settings",
    "/sign-in",
    "/traces/1",
    "/traces/1/operators",
    "/traces/1/flame",
    "/traces/1/memory",
    "/traces/1/gil",
    "/traces/1/steps",
    "/traces/1/graph",
    "/traces/1/doctor",
    "/traces/99",
)
OF_LONG_LAB = ("/?project=trainer", "/grid?project=trainer", "/series?project=trainer")
# What a theme can spoil; the rest is the same in both, and the same at all sizes.
COLOURS = ["color-contrast", "link-in-text-block"]
ASK = """async (only) => {
  const runOnly = only && { type: "rule", values: only };
  const { violations } = await axe.run({ resultTypes: ["violations"], elementRef: false, ...(runOnly && { runOnly }) });
  return violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}"""


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    yield context
    context.close()


def hold_against_axe(page: Page) -> None:
    page.evaluate(Axe().axe_script)
    found = []
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        found += [f"{width}: {fault}" for fault in page.evaluate(ASK, None)]
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {fault}" for fault in page.evaluate(ASK, COLOURS)]
    page.close()
    assert found == []


@pytest.mark.parametrize("path", PAGES)
def test_page_is_accessible(lab: str, tab: BrowserContext, path: str) -> None:
    hold_against_axe(Watched(tab.new_page()).visit(lab + path))


@pytest.mark.parametrize("path", OF_LONG_LAB)
def test_page_of_a_long_history_is_accessible(long_lab: str, tab: BrowserContext, path: str) -> None:
    hold_against_axe(Watched(tab.new_page()).visit(long_lab + path))


def test_a_new_token_is_accessible(empty_lab: str, tab: BrowserContext) -> None:
    page = Watched(tab.new_page()).visit(f"{empty_lab}/settings")
    page.get_by_label("Name", exact=True).fill("ci")
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_role("alert")).to_contain_text("Token ci is made.")
    hold_against_axe(page)
