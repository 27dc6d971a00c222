"""Takes the pictures of docs/trace.md: profiles a training loop and looks at the timelines of its trace's page.

python docs/pictures/tracks.py
"""

import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from browser import PERFLAB, chromium, draw_figures, served, show_sizes
from playwright.sync_api import Page, expect

from perflab import runtime as rt
from perflab.profiler import Trace, profile, record_function
from perflab.profiler.analysis.steps import steps
from perflab.runtime import nn, optim

FOLDER = Path(__file__).parent


def record(path: Path) -> Trace:
    """A trace of a few steps of a small network, with samples of the stack."""
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = optim.Adam(model.parameters())
    images, labels = np.random.default_rng(0).normal(size=(512, 784)).astype(np.float32), np.arange(512) % 10
    with profile(with_stack=True) as prof:
        for _ in range(6):
            with record_function("load"):
                x, y = rt.tensor(images), rt.tensor(labels)
            with record_function("forward"):
                loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            with record_function("backward"):
                loss.backward()
            optimizer.step()
            prof.step()
    prof.export_chrome_trace(path)
    return prof.trace


def take_timeline(page: Page, trace: str, span: tuple[int, int], name: str, found: str = "") -> None:
    """The timeline from one moment to another, with the first slice of a name selected."""
    query = {"start": span[0], "end": span[1]} | ({"slice": found} if found else {})
    page.goto(f"{trace}?{urlencode(query)}")
    expect(page.locator("#timeline-panel")).to_have_attribute("data-settled", "true")
    page.locator("#timeline-panel").screenshot(path=FOLDER / name)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="perflab-picture-") as folder:
        lab, path = Path(folder) / ".perflab", Path(folder) / "trace.json.gz"
        trace = record(path)
        step = steps(trace)[3]
        label = ["--project", "training", "--commit", "0" * 40, "--branch", "main"]
        subprocess.run([PERFLAB, "upload", "--lab", lab, *label, path], check=True)
        with served(lab) as address, chromium() as browser:
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            of_trace = f"{address}/traces/1"
            take_timeline(page, of_trace, (step.start, step.start + step.duration), "trace-ops.png")
            page.goto(f"{of_trace}/memory")
            draw_figures(page)
            page.locator("section[aria-labelledby=memory]").screenshot(path=FOLDER / "trace-memory.png")
    show_sizes(*sorted(FOLDER.glob("trace-*.png")))


if __name__ == "__main__":
    main()
