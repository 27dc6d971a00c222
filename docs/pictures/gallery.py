"""Takes pictures of every page at three sizes, light and dark, and those of docs/gallery.md among them.

python docs/pictures/gallery.py TORCH_TRACE ANOTHER RANKS [FOLDER]

The lab holds the demo, two traces of torch.profiler and one of several ranks, a trace of a million events, and a
project with a long history. All pictures go to FOLDER (build/gallery); those of SHOWN go to docs/pictures/gallery, too,
in 256 colours, which Pillow (`pip install pillow`) chooses.
"""

import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from browser import FOLDER, PERFLAB, chromium, draw_figures, served, show_sizes
from PIL import Image
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).parents[2]))
from perflab.dashboards.views import NO_COMMIT
from perflab.profiler import chrome
from perflab.server.demo import demo_commits
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from tests.dashboards import history
from tests.dashboards.training_run import training_run

SIZES = ((1440, 900), (1024, 768), (390, 844))
THEMES = ("light", "dark")
BASE, HEAD = demo_commits().values()
# The demo has traces 1 and 2; then come those that are named, and the million events.
TRACES = {"trace": 1, "torch": 3, "ranks": 5, "million": 6}
# What stands after a # is scrolled to.
PAGES = {
    "overview": "/?project=trainer",
    "demo": "/?project=demo",
    "grid": "/grid?project=trainer",
    "series": "/series?project=trainer",
    "one-series": "/series?project=trainer&benchmark=ops/linalg.py::test_matmul&params=size=64",
    "runs": "/runs?project=demo",
    "run": "/runs/1",
    "choose": "/compare?project=demo",
    "compare": f"/compare?project=demo&base={BASE}&head={HEAD}",
    "compare-torch": "/compare?base=trace:3&head=trace:4",
    "op-tree": "/compare?base=trace:3&head=trace:4#tree",
    "compare-rest": f"/compare?project=demo&base={BASE}&head={HEAD}#verdicts",
    "gates": "/gates?project=demo",
    "gate": "/gates/1",
    "projects": "/?all=1",
    "upload": "/upload?project=demo",
    "settings": "/settings",
    **{
        f"{trace}-{tab or 'timeline'}": f"/traces/{number}{f'/{tab}' if tab else ''}"
        for trace, number in TRACES.items()
        for tab in ("", "operators", "flame", "memory", "gil", "steps", "ranks", "graph")
    },
}
SHOWN = (
    ("overview", 1440, "light"),
    ("overview", 390, "dark"),
    ("grid", 1440, "dark"),
    ("series", 1440, "light"),
    ("one-series", 1440, "light"),
    ("compare", 1440, "light"),
    ("op-tree", 1440, "light"),
    ("compare-rest", 1440, "dark"),
    ("compare", 390, "light"),
    ("upload", 1024, "light"),
    ("trace-timeline", 1440, "dark"),
    ("torch-operators", 1440, "light"),
    ("torch-flame", 1440, "light"),
    ("ranks-ranks", 1440, "light"),
    ("million-timeline", 1440, "light"),
)


def fill(folder: Path, named: list[Path]) -> None:
    """Give a lab all that is looked at."""
    subprocess.run([PERFLAB, "demo", "--exit", "--lab", folder / "lab"], check=True)
    million = folder / "million.json.gz"
    chrome.write(training_run(), million)
    with closing(LocalLab.open(Settings(lab=folder / "lab"), create=False)) as lab:
        for path in (*named, million):
            lab.upload(path, Label(name=path.name, said=Origin(project="traces", commit=NO_COMMIT)))
        history.fill(lab, 195, 26)


def take(browser: Browser, address: str, folder: Path) -> None:
    """Each page at each size in each theme."""
    for width, height in SIZES:
        for theme in THEMES:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme="dark" if theme == "dark" else "light"
            )
            for name, path in PAGES.items():
                page = context.new_page()
                page.goto(address + path, timeout=120_000)
                settle(page)
                if "#" in path:
                    page.locator(f".panel:has({path[path.index('#') :]})").evaluate("panel => panel.scrollIntoView()")
                page.screenshot(path=folder / f"{name}-{width}-{theme}.png")
                page.close()
            context.close()


def settle(page: Page) -> None:
    """Wait until figures, timelines and flame graphs are drawn."""
    page.wait_for_load_state("networkidle")
    draw_figures(page)
    page.wait_for_function(
        "() => !document.querySelector('.timeline canvas') || document.querySelector('[data-settled]')",
        timeout=120_000,
    )


def main() -> None:
    if len(sys.argv) < 4:
        raise SystemExit("name two traces of torch.profiler and one of several ranks; see the beginning of this file")
    named = [Path(path) for path in sys.argv[1:4]]
    taken = Path(sys.argv[4] if len(sys.argv) > 4 else "build/gallery")
    taken.mkdir(parents=True, exist_ok=True)
    shown = FOLDER / "gallery"
    shown.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="perflab-gallery-") as temporary:
        fill(Path(temporary), named)
        with served(Path(temporary) / "lab") as address, chromium() as browser:
            take(browser, address, taken)
    chosen = [f"{name}-{width}-{theme}.png" for name, width, theme in SHOWN]
    for name in chosen:
        picture = Image.open(taken / name).convert("RGB")
        few = picture.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        few.save(shown / name, optimize=True)
    show_sizes(*(shown / name for name in chosen))


if __name__ == "__main__":
    main()
