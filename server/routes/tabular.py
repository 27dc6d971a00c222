"""Answers that are tables, as CSV for who asks so."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request, Response
from pydantic_core import to_jsonable_python

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
    return Response(text.getvalue(), media_type="text/csv", headers={"vary": "accept"})


def table_of(items: Iterable[Any]) -> Response:
    """Dataclasses or mappings as CSV, a row each; what stands inside another has both names: `machine.cpu`."""
    rows = [dict(_flat(to_jsonable_python(item))) for item in items]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return as_csv(columns, ([row.get(name) for name in columns] for row in rows))


def _flat(item: Mapping[str, Any], outside: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in item.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{outside}{name}.")
        else:
            yield f"{outside}{name}", value


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict | bool) else value
