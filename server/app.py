"""The web application over one lab."""

from importlib.metadata import version
from threading import BoundedSemaphore

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware

from perflab.benchmarks.errors import BenchmarkError
from perflab.dashboards.errors import SliceNotFound, StepNotFound
from perflab.profiler.errors import QuestionStopped

from .access.gate import Gate
from .access.limits import Limits
from .access.masked import MaskedLab
from .access.shares import Shares
from .blobs import Blobs
from .errors import Ambiguous, Busy, Forbidden, LabError, NotFound, Refused, SignInNeeded
from .freshness import Freshness
from .glances import Glances
from .guard import Guard
from .lab import LocalLab
from .openapi import describe
from .refusal import refusal
from .routes.ask import AT_ONCE
from .routing import routes
from .settings import Settings
from .store import Store
from .timelines import Timelines
from .webhooks import Webhooks

STATUS: dict[type[Exception], int] = {
    Refused: 422,
    SignInNeeded: 401,
    Forbidden: 403,
    NotFound: 404,
    Ambiguous: 409,
    Busy: 503,
}
RETRY_AFTER_S = 1
PACKED = 4  # gzip's level: two thirds of the time of level 6 for a twentieth more bytes
# Uploaded traces are mostly packed already, and go out as they came.
ALREADY_PACKED = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/octet-stream")


def create_app(settings: Settings, store: Store, blobs: Blobs) -> FastAPI:
    """The routes under /api/v1, their description in /openapi.json, and the pages.

    Every refusal of the API is a 4xx with a JSON body {"error": "one sentence"}. The caller closes the store.
    """
    app = FastAPI(
        title="perflab",
        version=version("perflab"),
        description=f"Traces and benchmark results per commit: the lab in {settings.lab}.",
        # FastAPI's own pages load their scripts from another host.
        docs_url=None,
        redoc_url=None,
    )
    app.state.register = store.register
    app.state.keeping = store.keeping
    app.state.limits = Limits()
    # The last that is added is the first to be asked.
    app.add_middleware(Freshness)
    app.add_middleware(GZipMiddleware, compresslevel=PACKED, exclude_content_types=ALREADY_PACKED)
    app.add_middleware(Gate, register=app.state.register, is_open=settings.is_open, limits=app.state.limits)
    app.add_middleware(Shares, register=app.state.register, limits=app.state.limits)
    app.add_middleware(Guard, any_host=not settings.is_open)
    app.state.lab = LocalLab(store, blobs, queued=settings.queue)
    app.state.timelines = Timelines(app.state.lab)
    app.state.masked_lab = MaskedLab(app.state.lab)
    app.state.masked_timelines = Timelines(app.state.masked_lab)
    app.state.glances = Glances(app.state.lab)
    app.state.places = BoundedSemaphore(AT_ONCE)
    app.state.webhooks = Webhooks(settings.webhooks)
    app.router.routes.extend(routes())
    describe(app)
    app.add_exception_handler(LabError, _lab_error)
    app.add_exception_handler(QuestionStopped, _gone)
    app.add_exception_handler(SliceNotFound, _not_there)
    app.add_exception_handler(StepNotFound, _not_there)
    app.add_exception_handler(BenchmarkError, _bad_option)
    app.add_exception_handler(RequestValidationError, _bad_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _failure)
    return app


def _lab_error(request: Request, error: Exception) -> Response:
    response = refusal(request.url.path, STATUS.get(error.__class__, 500), str(error))
    if isinstance(error, Busy):
        response.headers["retry-after"] = str(RETRY_AFTER_S)
    return response


def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # which nobody reads


def _not_there(request: Request, error: Exception) -> Response:
    return refusal(request.url.path, 404, str(error))


def _bad_option(request: Request, error: Exception) -> Response:
    return refusal(request.url.path, 422, str(error))


def _bad_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place, *name = (str(part) for part in first["loc"])
    where = f"{place} {'.'.join(name)}".strip()
    path = request.url.path
    return refusal(path, 422, f"{where}: {first['msg']}; /openapi.json says what {request.method} {path} takes")


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path
    if error.status_code == 404 and not path.startswith("/api/"):
        sentence = f"there is no page {path}; begin at the list of projects"
    else:
        sentence = f"{request.method} {path}: {error.detail}; /openapi.json lists what can be asked"
    response = refusal(path, error.status_code, sentence)
    response.headers.update(error.headers or {})
    return response


def _failure(request: Request, error: Exception) -> Response:
    sentence = f"{request.method} {request.url.path} failed ({type(error).__name__}); the server's log says why"
    return refusal(request.url.path, 500, sentence)
