"""The files that pages load: our own style sheet and modules, and the plotly.js that plotly's Python package ships."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

STATIC = Path(__file__).parent / "static"


@cache
def assets() -> dict[str, Path]:
    """Every file that pages load, by the name in its address."""
    own = {path.name: path for path in sorted(STATIC.iterdir())}
    return own | {"plotly.min.js": Path(str(files("plotly") / "package_data" / "plotly.min.js"))}


@cache
def address(name: str) -> str:
    """The address of a file; it changes with the content, so a browser may keep the file for good."""
    digest = hashlib.sha256(assets()[name].read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"
