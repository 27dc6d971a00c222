"""Synthetic traces of a small training loop, made by arithmetic alone, and a lab filled with them that is served."""

import io
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Result, Run
from perflab.profiler import chrome
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Trace, Track
from perflab.server.app import create_app
from perflab.server.blobs import FolderBlobs
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from perflab.server.store import Store

from . import history

MAIN = Track(100, 100, "main", "python")
GIL = Track(100, "100 GIL", "main: GIL", "python")

FORWARD = (("embedding", 18_000), ("matmul", 260_000), ("add", 21_000), ("tanh", 64_000), ("matmul", 410_000))
LOSS = (("log_softmax", 150_000), ("gather", 9_000), ("mean", 6_000))
SHAPES = {"matmul": [[256, 128], [128, 512]], "embedding": [[65, 128], [256]], "tanh": [[256, 512]]}


class TrainingLoop:
    """Writes the slices of a training loop on one thread: steps, annotations, ops with their kernel, backward nodes."""

    def __init__(self, seed: int) -> None:
        self.builder = TraceBuilder({"commit": "0" * 40, "baseTimeNanoseconds": 0})
        self.now = 0
        self.allocated = 3 * 2**20
        self._random = Random(seed)

    def op(self, name: str, duration: int) -> int:
        duration = round(duration * self._random.uniform(0.92, 1.15))
        args = {"Input Dims": SHAPES[name], "Input type": ["float32"] * len(SHAPES[name])} if name in SHAPES else {}
        handle = self.builder.slice(name, self.now, duration, track=MAIN, category="cpu_op", args=args)
        kernel = round(duration * 0.8)
        self.builder.slice(f"{name}_f32", self.now + duration - kernel, kernel, track=MAIN, category="kernel")
        self.memory(duration * 3)
        self.now += duration + 2_000
        return handle

    def memory(self, change: int) -> None:
        self.allocated += change
        self.builder.instant(
            "[memory]",
            self.now,
            track=MAIN,
            category="cpu_instant_event",
            args={
                "Addr": 4096,
                "Bytes": change,
                "Total Allocated": self.allocated,
                "Total Reserved": 16 * 2**20,
            },
        )
        self.builder.counter("Allocated", self.now, self.allocated, track=MAIN)
        self.builder.counter("Reserved", self.now, 16 * 2**20, track=MAIN)

    def annotation(self, name: str, work: Callable[[], None]) -> None:
        start = self.now
        work()
        self.builder.slice(name, start, self.now - start, track=MAIN, category="user_annotation")
        self.now += 1_000

    def step(self, number: int, forward: tuple[tuple[str, int], ...], gil: bool) -> None:
        self.annotation(f"ProfilerStep#{number}", lambda: self._step(forward, gil))

    def _step(self, forward: tuple[tuple[str, int], ...], gil: bool) -> None:
        before = self.allocated
        handles: list[int] = []
        self.annotation("forward", lambda: handles.extend(self.op(*op) for op in (*forward, *LOSS)))
        self.annotation("backward", lambda: self._backward(forward, handles, gil))
        self.annotation("optimizer", lambda: handles.append(self.op("adamw", 120_000)))
        self.memory(before - self.allocated)

    def _backward(self, forward: tuple[tuple[str, int], ...], handles: list[int], gil: bool) -> None:
        nodes: list[int] = []
        for (name, duration), handle in zip(reversed(forward), reversed(handles[: len(forward)]), strict=True):
            start = self.now
            self.op(name, duration * 2)
            nodes.append(self._autograd(f"{name.title()}Backward", start, {"Sequence number": 1000 - len(nodes)}))
            self.builder.flow("fwdbwd", handle, nodes[-1])
            if gil:
                thread = {"Thread": MAIN.tid}
                self.builder.slice("GIL wait: hook", start, 7_000, track=GIL, category="gil", args=thread)
                self.builder.slice("GIL held: hook", start + 7_000, 9_000, track=GIL, category="gil", args=thread)
            self.now += 1_500
        start = self.now
        self.now += 4_000
        nodes.append(self._autograd("AccumulateGrad", start, {"Leaf": 4096, "Input Dims": [[65, 128]]}))
        for front, behind in pairwise(nodes):
            self.builder.flow("next_functions", front, behind)

    def _autograd(self, name: str, start: int, args: dict[str, Any]) -> int:
        return self.builder.slice(name, start, self.now - start, track=MAIN, category="autograd", args=args)


MakeTrace = Callable[..., Trace]


@pytest.fixture(scope="session")
def training_trace() -> MakeTrace:
    """Makes a trace of `steps` steps; `slow` looks characters up by a one-hot matmul, `gil` adds waits for the GIL."""

    def make(steps: int = 5, *, slow: bool = False, gil: bool = True, seed: int = 1) -> Trace:
        loop = TrainingLoop(seed)
        first = (("one_hot", 190_000), ("matmul", 350_000)) if slow else (FORWARD[0],)
        for number in range(steps):
            loop.step(number + 2, (*first, *FORWARD[1:]), gil)
        return loop.builder.build()

    return make


BASE, MIDDLE, HEAD = "ba5e" * 10, "5a1d" * 10, "4ead" * 10
MACHINE = Machine.of(name="ada", cpu="A CPU", cores=2, os="Linux x86_64", python="CPython 3.11")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
RUNS = 6
# name, parameters, seconds at the base, and how much longer the head takes
BENCHMARKS = (
    ("train/step.py::test_step", {"batch": "64"}, 4.1e-3, 1.31),
    ("train/step.py::test_export", {}, 1.7, 0.9),
    ("ops/overhead.py::test_add", {"size": "1"}, 1.3e-7, 1.0),
)


def fill(lab: LocalLab, folder: Path, make: MakeTrace) -> None:
    """Three commits with RUNS runs of each benchmark, the first and the last with a trace."""
    noise = Random(7)
    for number, (commit, slower) in enumerate(((BASE, 0.0), (MIDDLE, 0.0), (HEAD, 1.0))):
        for index in range(RUNS):
            run = Run(
                project="demo",
                commit=commit,
                branch="main",
                machine=MACHINE,
                created=NOON + timedelta(hours=number, minutes=index),
                tool="a test",
                results=tuple(
                    Result(
                        Benchmark(name, params),
                        tuple(seconds * (1 + slower * (more - 1)) * noise.uniform(0.98, 1.02) for _ in range(5)),
                    )
                    for name, params, seconds, more in BENCHMARKS
                ),
            )
            lab.upload_stream(io.BytesIO(run.to_json().encode()), Label(name=f"run-{index}.json"))
        if commit != MIDDLE:
            path = folder / f"{commit[:4]}.json.gz"
            chrome.write(make(6, slow=commit == HEAD, seed=number), path)
            label = Label(
                name=path.name,
                said=Origin(project="demo", commit=commit, branch="main"),
                machine=MACHINE,
                created=NOON + timedelta(hours=number, minutes=30),
            )
            with path.open("rb") as file:
                lab.upload_stream(file, label)
    for head in (HEAD, MIDDLE):
        lab.keep_judgement("demo", lab.compare(BASE, head, "demo").report)


def served(settings: Settings) -> Iterator[str]:
    """The address at which the lab of `settings` is served by a thread."""
    store = Store.open(settings, create=True)
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_app(settings, store, FolderBlobs(settings.blobs))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield "http://{}:{}".format(*listener.getsockname())
    finally:
        server.should_exit = True
        thread.join()
        store.close()
        listener.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, training_trace: MakeTrace) -> Iterator[str]:
    """The address of a lab with three commits of the project demo."""
    folder = tmp_path_factory.mktemp("pages")
    settings = Settings(lab=folder / "lab")
    filled = LocalLab.open(settings, create=True)
    fill(filled, folder, training_trace)
    filled.close()
    yield from served(settings)


@pytest.fixture(scope="session")
def long_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a lab with a hundred commits of the project `trainer`."""
    settings = Settings(lab=tmp_path_factory.mktemp("history") / "lab")
    filled = LocalLab.open(settings, create=True)
    history.fill(filled, 100, 12)
    filled.close()
    yield from served(settings)


@pytest.fixture(scope="session")
def empty_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a lab to which nothing was uploaded."""
    yield from served(Settings(lab=tmp_path_factory.mktemp("empty") / "lab"))


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
expect.set_options(timeout=30_000)  # of ms, for what comes in a few on a machine that is not busy
SIZES = ((1440, 900), (1024, 768), (390, 844))
every_size = pytest.mark.parametrize("window", SIZES, indirect=True, ids=[f"{wide}x{high}" for wide, high in SIZES])


# How far the page moved under its reader's eyes, as browsers count it (web.dev/cls): 0.1 is called good.
SHIFT = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@dataclass
class Watched:
    """A page and what went wrong on it; `refusal` is the status of an answer that the test provokes."""

    page: Page
    faults: list[str] = field(default_factory=list)
    refusal: int | None = None

    def __post_init__(self) -> None:
        self.page.add_init_script(SHIFT)
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("requestfailed", self._on_failure)
        self.page.on("response", self._on_response)
        self.page.on("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        refused = self.refusal is not None and f"status of {self.refusal}" in message.text
        if message.type in ("error", "warning") and not refused:
            self.faults.append(f"console: {message.text}")

    def _on_failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # by the page itself: it moved on
            self.faults.append(f"failed: {request.url}")

    def _on_response(self, response: Response) -> None:
        refused = response.status == self.refusal
        if response.status >= 400 and response.request.resource_type != "document" and not refused:
            self.faults.append(f"{response.status}: {response.url}")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self.faults.append(f"leaves the machine: {request.url}")

    def visit(self, address: str) -> Page:
        """Open an address and wait until every figure is drawn."""
        self.page.goto(address)
        for figure in self.page.locator("[data-figure]").all():
            figure.scroll_into_view_if_needed()  # which is when it is drawn
            expect(figure).to_have_attribute("data-drawn", "true", timeout=30_000)
        self.page.evaluate("() => window.scrollTo(0, 0)")
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until nothing is fetched, and timeline and flame graph stand still and are drawn, where they are."""
        self.page.wait_for_function(
            "() => !document.querySelector('[aria-busy]') &&"
            " [...document.querySelectorAll('.timeline:has(canvas), .flame')].every((each) => each.dataset.settled)"
        )

    def shift(self) -> float:
        """How far what was seen already moved while the page was made."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        return float(self.page.evaluate("window.shift"))

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


# While playwright runs, its event loop runs in this thread: other modules' tests could not have one of their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: make test installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def window(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """A browser with a window of the first size, or of those asked for with `every_size`; it keeps its cache."""
    width, height = getattr(request, "param", SIZES[0])
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


def drop(page: Page, *files: tuple[str, str]) -> None:
    """Drop files on the page."""
    page.evaluate(
        """(files) => {
          const dataTransfer = new DataTransfer();
          for (const [name, text] of files) dataTransfer.items.add(new File([text], name));
          document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
        }""",
        files,
    )
