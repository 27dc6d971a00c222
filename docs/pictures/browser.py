"""What the scripts of this folder share: a lab that is served, and Chromium that looks at it."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

PERFLAB = Path(sys.executable).with_name("perflab")
FOLDER = Path(__file__).parent


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of this machine, without a window."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise SystemExit("there is no chromium here; install it first (Debian: sudo apt install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


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
        expect(figure).to_have_attribute("data-drawn", "true", timeout=60_000)
    page.evaluate("() => window.scrollTo(0, 0)")


def show_sizes(*pictures: Path) -> None:
    """Print how large the pictures are."""
    for picture in pictures:
        print(f"{picture}: {picture.stat().st_size:,} bytes")
