"""Takes the README's picture of the dashboard: runs the demo into a lab of its own, serves it, and looks with Chromium.

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

from playwright.sync_api import Page, expect, sync_playwright

PERFLAB = Path(sys.executable).with_name("perflab")
PICTURE = Path(__file__).with_name("dashboard.png")


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


def take(page: Page, address: str) -> None:
    """Open the comparison of the demo's two commits, and wait until its figures are drawn."""
    page.goto(address)
    page.get_by_role("button", name="Compare base with head").click()
    page.wait_for_url("**/compare?*")
    for figure in page.locator("[data-figure]").all():
        figure.scroll_into_view_if_needed()  # which is when it is drawn
        expect(figure).to_have_attribute("data-drawn", "true")
    page.evaluate("() => window.scrollTo(0, 0)")
    page.screenshot(path=PICTURE, full_page=True)


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("there is no chromium here; install it first (Debian: sudo apt install chromium)")
    with tempfile.TemporaryDirectory(prefix="perflab-picture-") as folder:
        lab = Path(folder) / ".perflab"
        subprocess.run([PERFLAB, "demo", "--exit", "--lab", lab], check=True)
        with served(lab) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            take(browser.new_page(viewport={"width": 1440, "height": 900}), address)
            browser.close()
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
