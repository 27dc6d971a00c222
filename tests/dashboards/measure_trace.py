"""How quick the pages of a trace are in Chromium, on a trace of more than a million events.

python tests/dashboards/measure_trace.py [TRACE]
"""

import random
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))
from perflab.dashboards.trace_pages import TABS
from perflab.profiler import chrome
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Int64s, Trace, Track
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from tests.dashboards.conftest import CHROMIUM, QUIET, Watched, served

STEPS, STEP_NS = 1_000, 4_000_000
OPS = ("matmul", "add", "relu", "layer_norm", "softmax", "embedding", "dropout", "gelu", "mul", "transpose")
MOVES = 80


def main() -> None:
    """Print the figures."""
    if CHROMIUM is None:
        raise SystemExit("there is no chromium here; install it first (Debian: sudo apt install chromium)")
    with tempfile.TemporaryDirectory(prefix="perflab-timeline-") as folder, sync_playwright() as playwright:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "million.json.gz"
        if len(sys.argv) == 1:
            chrome.write(training_run(), path)
        settings = Settings(lab=Path(folder) / "lab")
        lab = LocalLab.open(settings, create=True)
        lab.upload(path, Label(name=path.name, said=Origin(project="large", commit="0" * 40)))
        lab.close()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        # The server of each page has just started, as the page itself: nothing is in a cache but the trace on the disk.
        for tab in TABS:
            for address in served(settings):
                watched = Watched(browser.new_page(viewport={"width": 1440, "height": 900}))
                page = watched.page
                for visit in ("cold", "warm"):
                    measure_visit(page, f"{address}/traces/1{tab.path}", f"{tab.word}, {visit}")
                if tab.name == "timeline":
                    measure_moves(page)
                    measure_drag(page)
                page.close()
                if watched.faults:
                    raise SystemExit(f"{tab.word}: {'; '.join(watched.faults)}")
        browser.close()


def measure_visit(page: Page, address: str, what: str) -> None:
    """First paint, when the page can be used (timeline or flame graph is drawn, tables are there), and its bytes."""
    page.goto(address, timeout=300_000)
    settled(page)
    paint, usable, weight, charts = page.evaluate(
        """() => {
            const entry = (name) => performance.getEntriesByName(name)[0]?.startTime;
            const [navigation] = performance.getEntriesByType("navigation");
            const loaded = performance.getEntriesByType("resource");
            const own = loaded.filter(({ name }) => name.includes("/static/") && !name.includes("plotly"));
            const weight = [navigation, ...own].reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
            const usable = entry("timeline-drawn") ?? entry("flame-drawn") ?? navigation.domContentLoadedEventEnd;
            return [entry("first-contentful-paint"), usable, weight, document.querySelectorAll("[data-figure]").length];
        }"""
    )
    print(f"{what}: first paint {paint:.0f} ms, usable {usable:.0f} ms, {weight / 1e3:.0f} kB, {charts} charts")


def measure_moves(page: Page) -> None:
    """How long the tiles of zooms, pans and jumps take, from the request to the last byte."""
    page.evaluate("() => { performance.setResourceTimingBufferSize(10000); performance.clearResourceTimings(); }")
    chance = random.Random(1)
    overview = page.locator("canvas.overview")
    box = overview.bounding_box()
    assert box is not None
    for _ in range(MOVES):
        if chance.random() < 0.2:
            overview.click(position={"x": chance.uniform(1, box["width"] - 1), "y": 10})
        else:
            page.locator(".rows").press(chance.choice("wwssadad0"))
        settled(page)
    asked = page.evaluate(
        "() => performance.getEntriesByType('resource').filter(({ name }) => name.includes('/timeline?'))"
        ".map((each) => [each.responseEnd - each.startTime, each.encodedBodySize])"
    )
    times, sizes = sorted(time for time, _ in asked), [size for _, size in asked]
    print(
        f"{len(times)} tiles: median {median(times):.0f} ms, p95 {times[int(0.95 * len(times))]:.0f} ms, "
        f"longest {times[-1]:.0f} ms; median {median(sizes) / 1e3:.1f} kB"
    )


def measure_drag(page: Page) -> None:
    """Frames drawn while the mouse drags what is loaded, and how long drawing one takes."""
    page.locator(".rows").press("0")
    page.locator(".rows").press("w")
    settled(page)
    canvas = page.locator("canvas.slices").bounding_box()
    assert canvas is not None
    page.evaluate(
        "() => { window.frames_ = []; const tick = (now) => { window.frames_.push(now); requestAnimationFrame(tick); };"
        " requestAnimationFrame(tick); }"
    )
    x, y = canvas["x"] + 700, canvas["y"] + 60
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 500, y, steps=120)
    page.mouse.up()
    frames = page.evaluate("() => window.frames_")
    gaps = sorted(later - earlier for earlier, later in pairwise(frames))
    print(f"drag: {len(frames)} frames, median {median(gaps):.1f} ms apart, p95 {gaps[int(0.95 * len(gaps))]:.1f} ms")


def settled(page: Page) -> None:
    """Wait until timeline and flame graph stand still and are drawn, where there are such."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('.timeline:has(canvas), .flame')].every((each) => each.dataset.settled)",
        timeout=300_000,
    )


def training_run(steps: int = STEPS) -> Trace:
    """Steps of 1,172 slices: ops with kernels, backward nodes, Python frames, a device's stream, the GIL, memory."""
    builder = TraceBuilder({"commit": "0" * 40, "baseTimeNanoseconds": 0})
    noise = np.random.default_rng(1)
    kinds = {
        name: builder.string(name)
        for name in ("cpu_op", "kernel", "autograd", "user_annotation", "gil", "python_function")
    }
    main, worker, python = (
        builder.track(Track(100, tid, name, "python"))
        for tid, name in ((100, "main"), (101, "worker"), ("100 Python", "main: Python"))
    )
    stream = builder.track(Track(0, "stream 7", "stream 7", "cuda:0"))
    per_step = 150

    def spread(low: float, high: float, count: int) -> tuple[Int64s, int]:
        """Starts of `count` slices a step between two shares of it, and the room for each."""
        room = (high - low) * STEP_NS / count
        at = np.arange(steps)[:, None] * STEP_NS + low * STEP_NS + np.arange(count) * room
        return at.astype(np.int64).ravel(), int(room)

    def named(make: Callable[[str], str]) -> Int64s:
        return np.array([builder.string(make(op)) for op in OPS], dtype=np.int64)

    for number in range(steps):
        builder.slices(
            number * STEP_NS, STEP_NS - 20_000, main, builder.string(f"ProfilerStep#{number}"), kinds["user_annotation"]
        )
    for name, low, high in (("forward", 0.02, 0.4), ("backward", 0.41, 0.85), ("optimizer", 0.86, 0.98)):
        start, room = spread(low, high, 1)
        builder.slices(start, room, main, builder.string(name), kinds["user_annotation"])
    which = np.tile(noise.integers(0, len(OPS), per_step), steps)
    ops, kernels = named(str)[which], named(lambda op: f"{op}_native_float32")[which]
    nodes = named(lambda op: f"{op.title()}Backward0")[which]
    start, room = spread(0.02, 0.4, per_step)
    length = (room * noise.uniform(0.3, 0.95, len(start))).astype(np.int64)
    forward = builder.slices(start, length, main, ops, kinds["cpu_op"])
    launch = builder.slices(start + length // 5, length * 3 // 5, main, kernels, kinds["kernel"])
    device = builder.slices(start + length // 2 + 3_000, length * 4 // 5, stream, kernels, kinds["kernel"])
    builder.counters(start, main, builder.string("Allocated"), 2e8 + 1e8 * np.sin(np.arange(len(start)) / 5e3))
    start, room = spread(0.41, 0.85, per_step)
    length = (room * noise.uniform(0.3, 0.95, len(start))).astype(np.int64)
    backward = builder.slices(start, length, main, nodes, kinds["autograd"])
    builder.slices(start + 100, length - 200, main, ops, kinds["cpu_op"])
    builder.slices(start + 200, length - 400, main, kernels, kinds["kernel"])
    each = np.arange(len(start))
    builder.flows(builder.string("fwdbwd"), forward + each, backward + each)
    builder.flows(builder.string("ac2g"), launch + each, device + each)
    frames = np.array([builder.string(f"model.py({line}): forward") for line in range(40)])
    start, room = spread(0.0, 0.99, 12)
    for depth in range(8):
        builder.slices(
            start + 200 * depth,
            room - 2_000 - 1_000 * depth,
            python,
            frames[(np.arange(len(start)) * 7 + depth) % 40],
            kinds["python_function"],
        )
    builder.slices(start + 100, room // 2, worker, named(str)[np.arange(len(start)) % 10], kinds["cpu_op"])
    for tid, late in ((100, 0), (101, 700)):
        track = builder.track(Track(100, f"{tid} GIL", f"{'main' if tid == 100 else 'worker'} GIL", "python"))
        start, _ = spread(0.03, 0.95, 40)
        for name, begin, lasts in (("GIL wait: hook", late, 2_000), ("GIL held: hook", late + 2_000, 4_000)):
            handle = builder.slices(start + begin, lasts, track, builder.string(name), kinds["gil"])
            builder.slice_args("Thread", handle + np.arange(len(start)), np.full(len(start), tid))
    return builder.build()


if __name__ == "__main__":
    main()
