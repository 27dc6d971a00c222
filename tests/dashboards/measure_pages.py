"""How quick the pages of a project are in Chromium, over 2,000 commits of 300 series.

python tests/dashboards/measure_pages.py [LAB]

Making that lab takes some minutes; a folder that is named keeps it for the next time.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))
from perflab.server.lab import LocalLab
from perflab.server.settings import Settings
from tests.dashboards import history
from tests.dashboards.conftest import CHROMIUM, QUIET, served

COMMITS, SERIES = 2_000, 300
PAGES = {
    "overview": "/?project=trainer",
    "list of series": "/series?project=trainer",
    "grid": "/grid?project=trainer",
    "one series": "/series?project=trainer&benchmark=train/step.py::test_forward&params=size=64",
    "runs": "/runs?project=trainer",
    "comparison": f"/compare?project=trainer&base={history.sha(COMMITS - 2)}&head={history.sha(COMMITS - 1)}",
}
VISITS = 5


def main() -> None:
    """Print the figures."""
    if CHROMIUM is None:
        raise SystemExit("there is no chromium here; install it first (Debian: sudo apt install chromium)")
    with filled() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        print(f"{'page':16}{'visit':8}{'first paint':>14}{'usable':>12}{'weight':>12}")
        for name, path in PAGES.items():
            # A server and a browser's cache for each: its first visit is the first of all.
            for address in served(Settings(lab=folder)):
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                page = context.new_page()
                times = [visit(page, address + path) for _ in range(VISITS + 1)]
                report(name, "cold", times[0])
                report(name, "warm", sorted(times[1:])[VISITS // 2])
                context.close()
        browser.close()


@contextmanager
def filled() -> Iterator[Path]:
    """The folder of a lab with the history."""
    with tempfile.TemporaryDirectory(prefix="perflab-pages-") as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        lab = LocalLab.open(Settings(lab=folder), create=True)
        if not lab.projects():
            history.fill(lab, COMMITS, SERIES)
        lab.close()
        yield folder


def visit(page: Page, address: str) -> tuple[float, float, float]:
    """First contentful paint and when all that is in the window is drawn, in ms; bytes sent but for plotly.js."""
    page.goto(address, timeout=300_000)
    page.wait_for_function('() => performance.getEntriesByName("first-contentful-paint").length')
    page.wait_for_function(
        """() => [...document.querySelectorAll("[data-figure]")]
          .every((figure) => figure.getBoundingClientRect().top > innerHeight || figure.dataset.drawn)"""
    )
    paint, usable, weight = page.evaluate(
        """() => {
          const [page] = performance.getEntriesByType("navigation");
          const all = [page, ...performance.getEntriesByType("resource")];
          return [
            performance.getEntriesByName("first-contentful-paint")[0].startTime,
            document.querySelector("[data-figure]") ? performance.now() : page.domComplete,
            all.reduce((sum, { name, encodedBodySize }) => sum + (name.includes("plotly") ? 0 : encodedBodySize), 0),
          ];
        }"""
    )
    return float(paint), float(usable), float(weight)


def report(name: str, which: str, measured: tuple[float, float, float]) -> None:
    paint, usable, weight = measured
    print(f"{name:16}{which:8}{paint:11.0f} ms{usable:9.0f} ms{weight / 1e3:9.0f} kB", flush=True)


if __name__ == "__main__":
    main()
