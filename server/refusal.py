"""A request that is refused: JSON for the API, a page for everything else."""

from collections.abc import Mapping
from http import HTTPStatus

from fastapi.responses import HTMLResponse, JSONResponse, Response

from perflab.dashboards.pages import error_page


def refusal(path: str, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a request for `path`: an HTTP status, and one sentence that says what came and what to do."""
    if path.startswith("/api/"):
        return JSONResponse({"error": sentence}, status, headers)
    return HTMLResponse(error_page(status, HTTPStatus(status).phrase, sentence), status, headers)
