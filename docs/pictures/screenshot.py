"""Takes the README's pictures of the dashboard: runs the demo in a lab of its own, serves it, and looks with Chromium.

python docs/pictures/screenshot.py
"""

import subprocess
import tempfile
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from browser import PERFLAB, chromium, draw_figures, served, show_sizes
from playwright.sync_api import Page, expect

COMPARISON, TIMELINE = (Path(__file__).with_name(name) for name in ("dashboard.png", "timeline.png"))


def take_comparison(page: Page, address: str) -> None:
    """Open the comparison of the demo's two commits, and wait until its figures are drawn."""
    page.goto(f"{address}/runs?project=demo")
    page.get_by_role("button", name="Compare base with head").click()
    page.wait_for_url("**/compare?*")
    draw_figures(page)
    # Down to the times of the steps and the memory; ops and the environment come below.
    page.screenshot(path=COMPARISON, full_page=True, clip={"x": 0, "y": 0, "width": 1440, "height": 1330})


def take_timeline(page: Page, trace: str) -> None:
    """Open a trace of the demo, and select a backward node with its arrows."""
    page.goto(trace)
    page.get_by_label("Find slices by name").fill("MatmulBackward")
    expect(page.locator(".slice h3")).to_have_text("MatmulBackward0")
    page.wait_for_url("**slice=*")
    found = dict(parse_qsl(urlsplit(page.url).query))
    # The same without the name: nothing is dimmed.
    page.goto(f"{trace}?{urlencode({key: found[key] for key in ('start', 'end', 'slice')})}")
    expect(page.locator(".slice h3")).to_have_text("MatmulBackward0")
    expect(page.locator("#timeline-panel")).to_have_attribute("data-settled", "true")
    page.locator("#timeline-panel").screenshot(path=TIMELINE)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="perflab-picture-") as folder:
        lab = Path(folder) / ".perflab"
        subprocess.run([PERFLAB, "demo", "--exit", "--lab", lab], check=True)
        with served(lab) as address, chromium() as browser:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            take_comparison(page, address)
            take_timeline(page, f"{address}/traces/1")
    show_sizes(COMPARISON, TIMELINE)


if __name__ == "__main__":
    main()
