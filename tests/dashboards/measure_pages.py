"""How quick the pages of a project are in Chromium, over 2,000 commits of 300 series.

python tests/dashboards/measure_pages.py [LAB]

The first visit of a page is cold, in the server's caches and in the browser's. Making that lab takes some minutes; a
folder that is named keeps it for the next time.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))
from perflab.server.lab import LocalLab
from perflab.server.settings import Settings
from tests.dashboards import history
from tests.dashboards.conftest import CHROMIUM, served
from tests.dashboards.unwatched import unwatched

COMMITS, SERIES = 2_000, 300
PAGES = {
    "overview": "/?project=trainer",
    "list of series": "/series?project=trainer",
    "grid": "/grid?project=trainer",
    "one series": "/series?project=trainer&benchmark=train/step.py::test_forward&params=size=64",
    "runs": "/runs?project=trainer",
    "comparison": f"/compare?project=trainer&base={history.sha(COMMITS - 2)}&head={history.sha(COMMITS - 1)}",
}
WARM_VISITS = 3


def main() -> None:
    """Print the figures."""
    if CHROMIUM is None:
        raise SystemExit("there is no chromium here; install it first (Debian: sudo apt install chromium)")
    with filled() as folder, sync_playwright() as playwright:
        print(f"{'page':16}{'visit':8}{'first paint':>14}{'usable':>12}{'charts':>12}{'browser CPU':>14}{'weight':>12}")
        for name, path in PAGES.items():
            # A server and a browser for each: its first visit is the first of all.
            for address in served(Settings(lab=folder)):
                with unwatched(playwright) as browser:
                    report(name, "cold", [browser.visit(address + path)])
                    report(name, "warm", [browser.visit(address + path) for _ in range(WARM_VISITS)])


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


def report(name: str, which: str, visits: list[dict[str, float]]) -> None:
    paint, usable, charts, cpu, weight = (
        median(each[figure] for each in visits) for figure in ("paint", "usable", "charts", "cpu", "weight")
    )
    times = f"{paint:11.0f} ms{usable:9.0f} ms{charts:9.0f} ms{cpu:11.0f} ms"
    print(f"{name:16}{which:8}{times}{weight / 1e3:9.0f} kB", flush=True)


if __name__ == "__main__":
    main()
