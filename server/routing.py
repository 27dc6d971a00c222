"""Every route of the service: those of the API, and the pages."""

from functools import cache

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from .routes import (
    access,
    analyses,
    ask,
    commits,
    compare,
    flames,
    judgements,
    pages,
    results,
    runs,
    series,
    settings_page,
    sharing,
    sign_in,
    sql_page,
    standings,
    static,
    timeline,
    trace_pages,
    traces,
    uploads,
)
from .routes.deps import STRANGERS

API = (
    uploads,
    runs,
    traces,
    analyses,
    timeline,
    flames,
    results,
    commits,
    compare,
    judgements,
    series,
    standings,
    ask,
    access,
    sharing,
)
PAGES = (pages, trace_pages, sql_page, settings_page)


@cache
def routes() -> tuple[BaseRoute, ...]:
    """Made once for every application of a process: FastAPI takes 0.1 s for it, and they know no lab."""
    app = FastAPI(generate_unique_id_function=_operation, openapi_url=None)
    api = APIRouter(prefix="/api/v1", responses=STRANGERS)
    for module in API:
        api.include_router(module.router)
    app.include_router(api)
    for module in (*PAGES, sign_in, static):
        app.include_router(module.router)
    app.include_router(sharing.page_router)
    return tuple(app.routes)


def _operation(route: APIRoute) -> str:
    return route.name
