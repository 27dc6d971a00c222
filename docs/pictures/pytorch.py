"""Takes the picture of docs/torch.md: profiles a PyTorch loop beside a busy thread, and looks at a step of its trace.

python docs/pictures/pytorch.py
"""

import subprocess
import tempfile
import threading
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import torch
from browser import PERFLAB, chromium, served, show_sizes
from playwright.sync_api import expect

from perflab.profiler import profile

PICTURE = Path(__file__).with_name("pytorch.png")


def record(path: Path) -> None:
    """A trace of a few steps of an MLP beside a thread that computes in Python."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = torch.randn(512, 64), torch.randint(0, 10, (512,))
    stop = threading.Event()

    def augment() -> None:
        while not stop.is_set():
            pass

    thread = threading.Thread(target=augment, name="augment")
    with profile(torch=True, with_modules=True) as prof:
        thread.start()
        for _ in range(4):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            prof.step()
        stop.set()
        thread.join()
    prof.export_chrome_trace(path)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="perflab-picture-") as folder:
        lab, trace = Path(folder) / ".perflab", Path(folder) / "trace.json.gz"
        record(trace)
        label = ["--project", "training", "--commit", "0" * 40, "--branch", "main"]
        subprocess.run([PERFLAB, "upload", "--lab", lab, *label, trace], check=True)
        with served(lab) as address, chromium() as browser:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{address}/traces/1")
            page.get_by_label("Find slices by name").fill("ProfilerStep#2")
            expect(page.locator(".slice h3")).to_have_text("ProfilerStep#2")
            page.wait_for_url("**slice=*")
            found = dict(parse_qsl(urlsplit(page.url).query))
            # The same without the name: nothing is dimmed.
            page.goto(f"{address}/traces/1?{urlencode({key: found[key] for key in ('start', 'end', 'slice')})}")
            expect(page.locator(".slice h3")).to_have_text("ProfilerStep#2")
            expect(page.locator("#timeline-panel")).to_have_attribute("data-settled", "true")
            page.locator("#timeline-panel").screenshot(path=PICTURE)
    show_sizes(PICTURE)


if __name__ == "__main__":
    main()
