"""Traces: their summaries and their files."""

from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from perflab.profiler.chrome_write import encode

from ..access.needs import READS
from ..blobs import CHUNK
from ..schema import Trace
from .deps import NOT_FOUND, REFUSED, LabOf, Responses

router = APIRouter(prefix="/traces", tags=["traces"], dependencies=[READS])

FILE: Responses = {
    200: {
        "description": "The bytes as they were uploaded",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

REPAIRED: Responses = {200: {"description": "Chrome JSON", "content": {"application/json": {"schema": {}}}}}


@router.get("/{id}", responses=NOT_FOUND | REFUSED)
def trace(lab: LabOf, id: int) -> Trace:
    """One trace: its file's name, size and hash, and the summary of its events."""
    return lab.trace(id)


@router.get("/{id}/file", response_class=StreamingResponse, responses=FILE | NOT_FOUND | REFUSED)
def trace_file(lab: LabOf, id: int) -> StreamingResponse:
    """The bytes of a trace as they were uploaded."""
    trace = lab.trace(id)
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
