"""Makes the pictures of docs/memory.md. blocks.svg: what the allocator of a simulated accelerator does step by step.
snapshot.svg: its memory in a step of training. replay.png: a replay of training on batches of different lengths.

python docs/pictures/memory.py
"""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from browser import PERFLAB, chromium
from playwright.sync_api import expect

from perflab import runtime as rt
from perflab.dashboards import blockmap
from perflab.profiler import profile
from perflab.profiler.memory_snapshot import Segment, segments
from perflab.runtime import nn, optim

FOLDER = Path(__file__).parent
DEVICE = "sim:0"


def mebibytes(count: int) -> rt.Tensor:
    """A tensor of so many MiB, on a device that nothing else uses."""
    made: rt.Tensor = rt.empty((count << 20,), dtype=rt.uint8, device=DEVICE)
    return made


def blocks() -> list[tuple[str, list[Segment]]]:
    """The steps, each with what is there after it."""
    moments: list[tuple[str, list[Segment]]] = []

    def now(sentence: str) -> None:
        moments.append((sentence, segments(rt.memory.memory_snapshot(DEVICE))))

    a, b, c = mebibytes(6), mebibytes(5), mebibytes(4)
    now("1. 6, 5 and 4 MiB: one segment comes from the device, and is split")
    del b
    now("2. the second is freed: a hole")
    d = mebibytes(3)
    now("3. 3 MiB: into the smallest free block that is large enough; what is left of it is split off")
    del a, d
    now("4. the first and the last are freed: they join what is free beside them")
    e = mebibytes(12)
    now("5. 12 MiB: 16 MiB are free, but not in one piece, so another segment comes")
    del c, e
    return moments


class Model(nn.Module):
    """Sequences of characters to the next one of each, by two layers and a residue."""

    def __init__(self, characters: int = 96, width: int = 256) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, width)
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.out = nn.Linear(width, characters)

    def forward(self, x: rt.Tensor) -> rt.Tensor:
        seen = self.embedding(x)
        logits: rt.Tensor = self.out(seen + self.second(nn.functional.gelu(self.first(seen))))
        return logits


def batches(count: int, device: str) -> Iterator[tuple[rt.Tensor, rt.Tensor]]:
    """Sequences of one length a batch, and another in the next."""
    random = Random(0)
    rt.manual_seed(0)
    for _ in range(count):
        shape = (8, random.randrange(64, 512))
        x, y = (rt.randint(0, 96, shape).to(device) for _ in range(2))
        yield x, y.reshape(-1)


def train(steps: int, device: str, looked_at: Callable[[], None] | None = None) -> None:
    """Train on batches of different lengths; `looked_at` is called in the last step, before its backward pass."""
    model = Model().to(device)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    for step, (x, y) in enumerate(batches(steps, device)):
        loss = nn.functional.cross_entropy(model(x).reshape(-1, 96), y)
        if looked_at is not None and step == steps - 1:
            looked_at()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def snapshot() -> list[Segment]:
    """The device's memory in a step, when the activations are there."""
    found: list[Segment] = []
    train(3, DEVICE, lambda: found.extend(segments(rt.memory.memory_snapshot(DEVICE))))
    return found


def record(path: Path) -> None:
    """A trace of a dozen steps on the host."""
    with profile() as prof:
        train(12, "cpu")
    prof.export_chrome_trace(path)


def take_replay(trace: Path, folder: Path) -> None:
    """Replay it by what docs/memory.md names, and look at the page."""
    page = folder / "replay.html"
    confs = ("expandable_segments:True", "roundup_power2_divisions:4")
    given = [word for conf in confs for word in ("--conf", conf)]
    subprocess.run([PERFLAB, "memory", "replay", trace, *given, "--html", page], check=True)
    with chromium() as browser:
        window = browser.new_page(viewport={"width": 1000, "height": 600})
        window.goto(page.as_uri())
        figure = window.locator("[data-figure]")
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_attribute("data-drawn", "true", timeout=60_000)
        figure.screenshot(path=FOLDER / "replay.png")


def main() -> None:
    (FOLDER / "blocks.svg").write_text(blockmap.story(blocks()), encoding="utf-8")
    rt.memory.empty_cache(DEVICE)
    (FOLDER / "snapshot.svg").write_text(blockmap.svg(snapshot()), encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="perflab-picture-") as folder:
        record(Path(folder) / "trace.json.gz")
        take_replay(Path(folder) / "trace.json.gz", Path(folder))


if __name__ == "__main__":
    main()
