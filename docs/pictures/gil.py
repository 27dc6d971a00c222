"""Takes the picture of docs/gil.md: profiles a training loop beside two busy threads, and looks at its trace's page.

python docs/pictures/gil.py
"""

import hashlib
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from browser import PERFLAB, chromium, served, show_sizes
from playwright.sync_api import expect

from perflab import runtime as rt
from perflab.profiler import profile
from perflab.runtime import nn, optim

PICTURE = Path(__file__).with_name("gil.png")


def record(path: Path) -> None:
    """A trace of a few steps beside a thread that computes in Python and one that reads, hashes and sleeps."""
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = rt.randn(512, 64), rt.randint(0, 10, (512,))
    stop = threading.Event()

    def augment() -> None:
        while not stop.is_set():
            pass

    def load() -> None:
        while not stop.is_set():
            hashlib.sha256(b"x" * (1 << 18)).digest()
            time.sleep(0.002)

    threads = [threading.Thread(target=augment, name="augment"), threading.Thread(target=load, name="loader")]
    with profile() as prof:
        for thread in threads:
            thread.start()
        for _ in range(20):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            time.sleep(0.001)
            prof.step()
        stop.set()
        for thread in threads:
            thread.join()
    prof.export_chrome_trace(path)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="perflab-picture-") as folder:
        lab, trace = Path(folder) / ".perflab", Path(folder) / "trace.json.gz"
        record(trace)
        label = ["--project", "training", "--commit", "0" * 40, "--branch", "main"]
        subprocess.run([PERFLAB, "upload", "--lab", lab, *label, trace], check=True)
        with served(lab) as address, chromium() as browser:
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.goto(f"{address}/traces/1")
            panel = page.locator("#timeline-panel")
            expect(panel).to_have_attribute("data-settled", "true")
            panel.screenshot(path=PICTURE)
    show_sizes(PICTURE)


if __name__ == "__main__":
    main()
