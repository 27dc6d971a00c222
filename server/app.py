"""The web application over one lab."""

from http import HTTPStatus
from threading import BoundedSemaphore

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from perflab.benchmarks.errors import BenchmarkError
from perflab.dashboards.errors import SliceNotFound, StepNotFound
from perflab.dashboards.pages import error_page
from perflab.profiler.errors import QuestionStopped

from .blobs import Blobs
from .errors import Ambiguous, Busy, LabError, NotFound, Refused
from .glances import Glances
from .guard import Guard
from .lab import LocalLab
from .routes import (
    ask,
    compare,
    flames,
    judgements,
    pages,
    results,
    runs,
    series,
    timeline,
    trace_pages,
    traces,
    uploads,
)
from .settings import Settings
from .store import Store
from .timelines import Timelines
from .webhooks import Webhooks

STATUS: dict[type[Exception], int] = {Refused: 422, NotFound: 404, Ambiguous: 409, Busy: 503}
RETRY_AFTER_S = 1


def create_app(settings: Settings, store: Store, blobs: Blobs) -> FastAPI:
    """The routes under /api/v1, their description in /openapi.json, and the pages.

    Every refusal of the API is a 4xx with a JSON body {"error": "one sentence"}. The caller closes the store.
    """
    app = FastAPI(
        title="perflab",
        description=f"Traces and benchmark results per commit: the lab in {settings.lab}.",
        generate_unique_id_function=_operation,
        # FastAPI's own pages load their scripts from another host.
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(Guard)
    app.state.lab = LocalLab(store, blobs)
    app.state.timelines = Timelines(app.state.lab)
    app.state.glances = Glances(app.state.lab)
    app.state.places = BoundedSemaphore(ask.AT_ONCE)
    app.state.webhooks = Webhooks(settings.webhooks)
    api = APIRouter(prefix="/api/v1")
    for module in (uploads, runs, traces, timeline, flames, results, compare, judgements, series, ask):
        api.include_router(module.router)
    app.include_router(api)
    app.include_router(pages.router)
    app.include_router(trace_pages.router)
    app.add_exception_handler(LabError, _lab_error)
    app.add_exception_handler(QuestionStopped, _gone)
    app.add_exception_handler(SliceNotFound, _not_there)
    app.add_exception_handler(StepNotFound, _not_there)
    app.add_exception_handler(BenchmarkError, _bad_option)
    app.add_exception_handler(RequestValidationError, _bad_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _failure)
    return app


def _operation(route: APIRoute) -> str:
    return route.name


def _answer(request: Request, status: int, sentence: str) -> Response:
    """A refusal: JSON for the API, a page for everything else."""
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": sentence}, status)
    return HTMLResponse(error_page(status, HTTPStatus(status).phrase, sentence), status)


def _lab_error(request: Request, error: Exception) -> Response:
    response = _answer(request, STATUS.get(error.__class__, 500), str(error))
    if isinstance(error, Busy):
        response.headers["retry-after"] = str(RETRY_AFTER_S)
    return response


def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # which nobody reads


def _not_there(request: Request, error: Exception) -> Response:
    return _answer(request, 404, str(error))


def _bad_option(request: Request, error: Exception) -> Response:
    return _answer(request, 422, str(error))


def _bad_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place, *name = (str(part) for part in first["loc"])
    where = f"{place} {'.'.join(name)}".strip()
    return _answer(
        request, 422, f"{where}: {first['msg']}; /openapi.json says what {request.method} {request.url.path} takes"
    )


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    advice = "/openapi.json lists what can be asked" if request.url.path.startswith("/api/") else "begin at /"
    response = _answer(request, error.status_code, f"{request.method} {request.url.path}: {error.detail}; {advice}")
    response.headers.update(error.headers or {})
    return response


def _failure(request: Request, error: Exception) -> Response:
    sentence = f"{request.method} {request.url.path} failed ({type(error).__name__}); the server's log says why"
    return _answer(request, 500, sentence)
