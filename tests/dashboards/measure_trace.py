"""How quick the pages of a trace are in Chromium, on a trace of more than a million events.

python tests/dashboards/measure_trace.py [TRACE]

Beside the times stands the processor time of the server and of the whole browser, which hardly change on a busy
machine. It takes three minutes on a quiet one.
"""

import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from playwright.sync_api import CDPSession, Page, Playwright, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))
from perflab.dashboards.trace_pages import TABS
from perflab.profiler import chrome
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from tests.dashboards.conftest import CHROMIUM, QUIET, Watched
from tests.dashboards.training_run import training_run
from tests.dashboards.unwatched import LONGEST, SETTLED, WINDOW, Unwatched, cpu_ms, unwatched

PERFLAB = Path(sys.executable).with_name("perflab")
MOVES, WARM_VISITS = 80, 3


@dataclass(frozen=True)
class Server:
    """A lab that is served by a process of its own."""

    address: str
    pid: int

    def cpu_ms(self) -> float:
        """The processor time that it has taken."""
        return cpu_ms(self.pid)


@contextmanager
def serving(lab: Path) -> Iterator[Server]:
    """A server that has just started: nothing is in its cache but the trace on the disk."""
    command = [str(PERFLAB), "serve", "--lab", str(lab), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.search(r"http://\S+", said)
            assert found is not None, said
            yield Server(found[0], process.pid)
        finally:
            process.terminate()


def main() -> None:
    """Print the figures."""
    if CHROMIUM is None:
        raise SystemExit("there is no chromium here; install it first (Debian: sudo apt install chromium)")
    with tempfile.TemporaryDirectory(prefix="perflab-trace-") as folder, sync_playwright() as playwright:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "million.json.gz"
        if len(sys.argv) == 1:
            chrome.write(training_run(), path)
        settings = Settings(lab=Path(folder) / "lab")
        lab = LocalLab.open(settings, create=True)
        lab.upload(path, Label(name=path.name, said=Origin(project="large", commit="0" * 40)))
        lab.close()
        heads = ("first paint", "usable", "charts", "server CPU", "browser CPU", "weight", "moved")
        print(f"{'page':14}{'visit':8}{''.join(f'{head:>14}' for head in heads)}")
        for tab in TABS:
            with serving(settings.lab) as server:
                address = f"{server.address}/traces/1{tab.path}"
                with unwatched(playwright) as browser:
                    report(tab.word, "cold", [visit(browser, server, address)])
                    report(tab.word, "warm", [visit(browser, server, address) for _ in range(WARM_VISITS)])
                if tab.name == "timeline":
                    measure_moves(playwright, server, address)
                    measure_drag(playwright, address)


def visit(browser: Unwatched, server: Server, address: str) -> dict[str, float]:
    """A page that is opened, with the processor time that it takes the server."""
    before = server.cpu_ms()
    found = browser.visit(address)
    return found | {"server": server.cpu_ms() - before}


@contextmanager
def opened(playwright: Playwright, address: str) -> Iterator[tuple[Page, CDPSession]]:
    """A page at an address, once it is drawn, to act on."""
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
    watched = Watched(browser.new_page(viewport={"width": WINDOW[0], "height": WINDOW[1]}))
    page = watched.page
    thread = page.context.new_cdp_session(page)
    thread.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address, timeout=LONGEST)
    page.wait_for_function(SETTLED, timeout=LONGEST)
    yield page, thread
    browser.close()
    if watched.faults:
        raise SystemExit(f"{address}: {'; '.join(watched.faults)}")


def page_cpu_ms(thread: CDPSession) -> float:
    """The processor time of the page's main thread."""
    metrics = thread.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration")) * 1e3


def report(page: str, which: str, visits: list[dict[str, float]]) -> None:
    middle = {name: median(each[name] for each in visits) for name in visits[0]}
    times = "".join(f"{middle[name]:11.0f} ms" for name in ("paint", "usable", "charts", "server", "cpu"))
    print(f"{page:14}{which:8}{times}{middle['weight'] / 1e3:11.0f} kB{middle['moved']:14.4f}", flush=True)


def measure_moves(playwright: Playwright, server: Server, address: str) -> None:
    """How long the tiles of zooms, pans and jumps take, from the request to the last byte."""
    with opened(playwright, address) as (page, _):
        page.evaluate("() => { performance.setResourceTimingBufferSize(10000); performance.clearResourceTimings(); }")
        chance, before = random.Random(1), server.cpu_ms()
        overview = page.locator("canvas.overview")
        box = overview.bounding_box()
        assert box is not None
        for _ in range(MOVES):
            if chance.random() < 0.2:
                overview.click(position={"x": chance.uniform(1, box["width"] - 1), "y": 10})
            else:
                page.locator(".rows").press(chance.choice("wwssadad0"))
            page.wait_for_function(SETTLED, timeout=LONGEST)
        asked = page.evaluate(
            "() => performance.getEntriesByType('resource').filter(({ name }) => name.includes('/timeline?'))"
            ".map((each) => [each.responseEnd - each.startTime, each.encodedBodySize])"
        )
        spent = server.cpu_ms() - before
    times, sizes = sorted(time for time, _ in asked), [size for _, size in asked]
    print(
        f"{len(times)} tiles: median {median(times):.0f} ms, p95 {times[int(0.95 * len(times))]:.0f} ms, "
        f"longest {times[-1]:.0f} ms, {spent / len(times):.0f} ms of the server's CPU each; "
        f"median {median(sizes) / 1e3:.1f} kB"
    )


def measure_drag(playwright: Playwright, address: str) -> None:
    """Frames drawn while the mouse drags what is loaded, and the processor time that one takes."""
    with opened(playwright, address) as (page, thread):
        page.locator(".rows").press("0")
        page.locator(".rows").press("w")
        page.wait_for_function(SETTLED, timeout=LONGEST)
        canvas = page.locator("canvas.slices").bounding_box()
        assert canvas is not None
        page.evaluate(
            "() => { window.frames_ = []; requestAnimationFrame(function tick(now) {"
            " window.frames_.push(now); requestAnimationFrame(tick); }); }"
        )
        x, y = canvas["x"] + 700, canvas["y"] + 60
        before = page_cpu_ms(thread)
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 500, y, steps=120)
        page.mouse.up()
        frames = page.evaluate("() => window.frames_")
        spent = page_cpu_ms(thread) - before
    gaps = sorted(later - earlier for earlier, later in pairwise(frames))
    print(
        f"drag: {len(frames)} frames, median {median(gaps):.1f} ms apart, p95 {gaps[int(0.95 * len(gaps))]:.1f} ms, "
        f"{spent / len(frames):.1f} ms of the page's CPU each"
    )


if __name__ == "__main__":
    main()
