"""The files that pages load. They tell nothing of the lab, and the page to sign in needs some."""

from fastapi import APIRouter
from fastapi.responses import FileResponse

from perflab.dashboards.assets import assets

from ..access.needs import PUBLIC
from ..errors import NotFound

# A file's address changes with its content, so a browser never has to ask for it again.
FOR_GOOD = {"cache-control": "public, max-age=31536000, immutable"}

router = APIRouter(include_in_schema=False, dependencies=[PUBLIC])


@router.get("/static/{version}/{name:path}")
def static(version: str, name: str) -> FileResponse:
    """A file that pages load."""
    if name not in assets():
        raise NotFound(f"pages load no file called {name}")
    return FileResponse(assets()[name], headers=FOR_GOOD)
