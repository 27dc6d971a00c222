"""Traces: their summaries and their files."""

from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from perflab.profiler.chrome_write import encode

from ..access.needs import READS, caller_of
from ..access.scopes import Scope
from ..blobs import CHUNK
from ..errors import Forbidden
from ..schema import Trace
from .deps import NOT_FOUND, REFUSED, LabOf, Responses

router = APIRouter(prefix="/traces", tags=["traces"], dependencies=[READS])

FILE: Responses = {
    200: {
        "description": "The bytes as they were uploaded",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

REPAIRED: Responses = {
    200: {"description": "Chrome JSON", "content": {"application/json": {"schema": {"type": "object"}}}}
}


@router.get("/{id}", responses=NOT_FOUND | REFUSED)
def trace(lab: LabOf, id: int) -> Trace:
    """One trace: its file's name, size and hash, and the summary of its events."""
    return lab.trace(id)


@router.get("/{id}/file", response_class=StreamingResponse, responses=FILE | NOT_FOUND | REFUSED)
def trace_file(lab: LabOf, request: Request, id: int) -> StreamingResponse:
    """The bytes of a trace as they were uploaded. Where the trace is masked, admins alone may have them."""
    trace = lab.trace(id)
    if trace.masked and not caller_of(request).scope.includes(Scope.ADMIN):
        raise Forbidden(
            f"the file of trace {id} may name people and machines and takes the scope admin; /repaired names none"
        )
    headers = {
        "content-disposition": f"attachment; filename*=utf-8''{quote(trace.name, safe='')}",
        "content-length": str(trace.bytes),
    }
    return StreamingResponse(_chunks(lab.trace_file(id)), media_type="application/octet-stream", headers=headers)


@router.get("/{id}/repaired", response_class=StreamingResponse, responses=REPAIRED | NOT_FOUND | REFUSED)
def repaired(lab: LabOf, id: int) -> StreamingResponse:
    """What could be read of a trace, as valid Chrome JSON, sorted and masked."""
    trace = lab.trace(id)
    headers = {"content-disposition": f"attachment; filename*=utf-8''{quote(trace.name, safe='')}.repaired.json"}
    return StreamingResponse(encode(lab.read_trace(id)), media_type="application/json", headers=headers)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk
