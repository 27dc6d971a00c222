"""A Chromium whose pages nobody inspects while they load: inspected, plotly.js takes twice as long to start."""

import json
import os
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Playwright

from .conftest import CHROMIUM, QUIET

WINDOW = (1440, 900)
LOADING_S = 4  # how long a page, and the browser before its first, is left alone
LONGEST = 300_000  # ms to wait for anything
# A page is usable when words and tables are there and its timeline or flame graph is drawn; charts in sight come later.
FIGURES = """async () => {
  const [navigation] = performance.getEntriesByType("navigation");
  const times = (name) => performance.getEntriesByName(name).map(({ startTime }) => startTime);
  const loaded = performance.getEntriesByType("resource");
  const own = loaded.filter(({ name }) => name.includes("/static/") && !name.includes("plotly"));
  const drawn = [times("timeline-drawn")[0] ?? 0, times("flame-drawn")[0] ?? 0];
  const shifts = await new Promise((resolve) => {
    new PerformanceObserver((list) => resolve(list.getEntries())).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => resolve([]), 200);
  });
  return {
    paint: times("first-contentful-paint")[0],
    usable: Math.max(navigation.domContentLoadedEventEnd, ...drawn),
    charts: Math.max(0, ...times("figure-drawn")),
    weight: [navigation, ...own].reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
    moved: shifts.reduce((sum, { value, hadRecentInput }) => sum + (hadRecentInput ? 0 : value), 0),
  };
}"""
SETTLED = """() => !document.querySelector("[aria-busy]")
  && performance.getEntriesByName("first-contentful-paint").length
  && [...document.querySelectorAll(".timeline:has(canvas), .flame")].every((each) => each.dataset.settled)
  && [...document.querySelectorAll("[data-figure]")]
    .every((each) => each.getBoundingClientRect().top > innerHeight || each.dataset.drawn)"""


@dataclass(frozen=True)
class Unwatched:
    """A browser that runs; `port` is where it takes commands."""

    playwright: Playwright
    process: int
    port: str

    def visit(self, address: str) -> dict[str, float]:
        """A page in a tab of its own, left alone while it loads: paint, usable, charts and cpu in ms, the weight in
        bytes, and by how much it moved."""
        before = {process: cpu_ms(process) for process in family(self.process)}
        tab = self._ask("PUT", f"new?{quote(address, safe='')}")["id"]
        time.sleep(LOADING_S)
        browser = self.playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{self.port}")
        page = next(page for page in browser.contexts[0].pages if page.url == address)
        page.wait_for_function(SETTLED, timeout=LONGEST)
        found: dict[str, float] = page.evaluate(FIGURES)
        browser.close()  # which only lets go of it
        # The processes of other tabs may have ended meanwhile.
        spent = sum(cpu_ms(process) - before.get(process, 0.0) for process in family(self.process))
        self._ask("GET", f"close/{tab}")
        return found | {"cpu": spent}

    def _ask(self, method: str, what: str) -> dict[str, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/{what}", method=method)
        with urllib.request.urlopen(request) as response:
            text = response.read()
        return json.loads(text) if method == "PUT" else {}


@contextmanager
def unwatched(playwright: Playwright) -> Iterator[Unwatched]:
    """Starts one with an empty cache."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(prefix="perflab-browser-", ignore_cleanup_errors=True) as folder:
        size = f"--window-size={WINDOW[0]},{WINDOW[1]}"
        command = [CHROMIUM, *QUIET, size, "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
        said = Path(folder) / "DevToolsActivePort"
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                while not (said.is_file() and said.read_text().strip()):
                    time.sleep(0.1)
                time.sleep(LOADING_S)  # what it does when it starts is none of the page's
                yield Unwatched(playwright, process.pid, said.read_text().split()[0])
            finally:
                process.terminate()


def family(process: int) -> list[int]:
    """A process and all that it started."""
    children = Path(f"/proc/{process}/task/{process}/children")
    started = children.read_text().split() if children.is_file() else []
    return [process, *(each for child in started for each in family(int(child)))]


def cpu_ms(process: int) -> float:
    """The processor time that a process has taken, 0 of one that has just ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1e3
