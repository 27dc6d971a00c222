"""The files that pages load: our own style sheet and modules, and the plotly.js that plotly's Python package ships."""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

STATIC = Path(__file__).parent / "static"


@cache
def assets() -> dict[str, Path]:
    """Every file that pages load, by the name in its address."""
    own = {path.relative_to(STATIC).as_posix(): path for path in sorted(STATIC.rglob("*")) if path.is_file()}
    return own | {"plotly.min.js": Path(str(files("plotly") / "package_data" / "plotly.min.js"))}


@cache
def address(name: str) -> str:
    """The address of a file; it changes with the content, so a browser may keep the file for good.

    All of our own share one version, so that a module's relative imports lead to modules of the same version.
    """
    return f"/static/{_version() if (STATIC / name).is_file() else _digest([assets()[name]])}/{name}"


@cache
def _version() -> str:
    return _digest([path for path in assets().values() if path.is_relative_to(STATIC)])


def _digest(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
