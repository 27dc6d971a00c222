"""Answers that are tables, as CSV for who asks so."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request, Response

from .deps import Responses

CSV: Responses = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}


def _wanted(
    request: Request,
    format: Annotated[
        Literal["json", "csv"] | None, Query(description="csv gives a table, as does `Accept: text/csv`")
    ] = None,
) -> bool:
    if format is not None:
        return format == "csv"
    return request.headers.get("accept", "").startswith("text/csv")


WantsCsv = Annotated[bool, Depends(_wanted)]


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    """Rows as CSV (RFC 4180): null is nothing, lists and objects are JSON."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return Response(text.getvalue(), media_type="text/csv")


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(value)
    if isinstance(value, bool):
        return json.dumps(value)
    return value
