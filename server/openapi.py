"""The OpenAPI document of the API."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

TAGS = [
    {"name": name, "description": description}
    for name, description in (
        ("uploads", "Taking in files"),
        ("runs", "Projects and runs"),
        ("traces", "Traces: their summaries and files"),
        ("analyses", "What the pages of a trace show, as tables"),
        ("timeline", "What to draw of a trace, by range and resolution"),
        ("flame", "Flame graphs of a trace"),
        ("results", "Benchmarks that have results"),
        ("series", "A benchmark's results over commits"),
        ("compare", "Two commits side by side"),
        ("commits", "What git says of commits"),
        ("judgements", "What gates came to"),
        ("questions", "Questions in SQL"),
        ("access", "Tokens, and the log of what was done"),
    )
]
SCHEME = {"type": "http", "scheme": "bearer", "description": "Needed unless the lab listens on its machine alone"}


def describe(app: FastAPI) -> None:
    """Make `app.openapi` tell of tokens, too: the gate asks for them before FastAPI sees a request."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes, tags=TAGS
            )
            made["components"]["securitySchemes"] = {"token": SCHEME}
            made["security"] = [{}, {"token": []}]
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]
