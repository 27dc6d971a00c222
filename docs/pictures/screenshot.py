"""Takes the README's pictures of the dashboard: runs the demo in a lab of its own, serves it, and looks with Chromium.

python docs/pictures/screenshot.py
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from playwright.sync_api import Page, expect, sync_playwright

PERFLAB = Path(sys.executable).with_name("perflab")
COMPARISON, TIMELINE = (Path(__file__).with_name(name) for name in ("dashboard.png", "timeline.png"))


@contextmanager
def served(lab: Path) -> Iterator[str]:
    """The address at which a lab is served."""
    command = [str(PERFLAB), "serve", "--lab", str(lab), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            said = server.stdout.readline()
            found = re.search(r"http://\S+", said)
            if found is None:
                raise SystemExit(f"perflab serve said {said!r} and no address")
            yield found[0]
        finally:
            server.terminate()


def draw_figures(page: Page) -> None:
    """Look at each figure, which is when it is drawn."""
    for figure in page.locator("[data-figure]").all():
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_attribute("data-drawn", "true", timeout=30_000)
    page.evaluate("() => window.scrollTo(0, 0)")


def take_comparison(page: Page, address: str) -> None:
    """Open the comparison of the demo's two commits, and wait until its figures are drawn."""
    page.goto(address)
    page.get_by_role("button", name="Compare base with head").click()
    page.wait_for_url("**/compare?*")
    draw_figures(page)
    page.screenshot(path=COMPARISON, full_page=True)


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
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("there is no chromium here; install it first (Debian: sudo apt install chromium)")
    with tempfile.TemporaryDirectory(prefix="perflab-picture-") as folder:
        lab = Path(folder) / ".perflab"
        subprocess.run([PERFLAB, "demo", "--exit", "--lab", lab], check=True)
        with served(lab) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            take_comparison(page, address)
            take_timeline(page, f"{address}/traces/1")
            browser.close()
    for picture in (COMPARISON, TIMELINE):
        print(f"{picture}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
