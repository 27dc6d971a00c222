"""Reads Chrome JSON: finds out what a file is, refuses in one sentence what is no trace, and hands its events on."""

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import BinaryIO

import orjson

from .chrome_events import EventReader
from .errors import TraceFormatError
from .trace import Json, Trace

_PIECE = 1 << 20  # bytes that are parsed at once
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it first",
    b"PAR1": "a Parquet file; it was not written by a tracer",
    b"SQLite format 3\x00": "an SQLite database; export it as Chrome JSON first",
}


def read(source: str | os.PathLike[str] | BinaryIO, largest: int | None = None) -> Trace:
    """Read a `.json` or `.json.gz` trace from a path or a seekable binary file.

    What the file is decides, not its name. Events need not be sorted. Slices that cross others of their thread get a
    lane of their own; slices without an end reach to the last event and have the argument `unfinished`.
    `largest` is how many bytes compressed data may unpack to: a file from a stranger may be made to fill the memory.
    Raises TraceFormatError where the file is no trace or is cut short, OSError where it cannot be opened.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            return _read(file, Path(source).name, largest)
    return _read(source, Path(str(getattr(source, "name", "") or "the trace")).name, largest)


def _read(file: BinaryIO, name: str, largest: int | None) -> Trace:
    compressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if not compressed:
        return _read_plain(file, name)
    with _Unpacked(file, name, largest) as unpacked:
        try:
            return _read_plain(unpacked, name)
        except EOFError:
            raise TraceFormatError(f"{name}: the gzip data is cut short; copy or record the trace again") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise TraceFormatError(f"{name}: the gzip data is damaged ({error}); copy the trace again") from None


class _Unpacked(gzip.GzipFile):
    """Compressed data that refuses to become larger than `largest` bytes."""

    def __init__(self, file: BinaryIO, name: str, largest: int | None) -> None:
        super().__init__(fileobj=file)
        self._trace = name
        self._largest = largest

    def read(self, size: int | None = -1) -> bytes:
        if self._largest is None:
            return super().read(size)
        left = self._largest - self.tell()
        data = super().read(left + 1 if size is None or size < 0 else min(size, left + 1))
        if len(data) > left:
            raise TraceFormatError(
                f"{self._trace}: it unpacks to more than {self._largest >> 20} MiB; record fewer steps a file"
            )
        return data


def _read_plain(file: BinaryIO | gzip.GzipFile, name: str) -> Trace:
    trace = _read_parsed(file)
    if trace is not None:
        return trace
    file.seek(0)
    return _read_whole(file.read(), name)


def _read_parsed(file: BinaryIO | gzip.GzipFile) -> Trace | None:
    """A trace that is whole and in valid JSON, as nearly all are, piece by piece; None for the reader that is patient
    and says what is wrong."""
    from perflab.runtime._core import ChromeParser  # who only analyses traces does without

    parser, reader = ChromeParser(), EventReader()
    unknown = 0
    try:
        while piece := file.read(_PIECE):
            parser.feed(piece)
            others, places = parser.take_others()
            if places:
                unknown += len(places) - reader.add(orjson.loads(b"[" + others + b"]"), places)
        if not parser.done:
            return None
        metadata = orjson.loads(b"{" + parser.metadata + b"}")
        reader.add_parsed(parser)
    except ValueError:  # of the core and of orjson
        return None
    if unknown == parser.events and (unknown or not metadata):
        return None
    return reader.build(_metadata(metadata))


def _read_whole(data: bytes, name: str) -> Trace:
    _refuse_others(data, name)
    document = _parse(data, name)
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        keys = ", ".join(map(repr, list(document)[:4])) if isinstance(document, dict) else ""
        raise TraceFormatError(
            f"{name}: JSON, but not a Chrome trace: it has no list 'traceEvents' (its keys: {keys or 'none'});"
            " export it as Chrome JSON from the tool that wrote it"
        )
    reader = EventReader()
    known = reader.add(events)
    if not known and (events or isinstance(document, list)):
        raise TraceFormatError(
            f"{name}: JSON, but not a Chrome trace: none of its {len(events)} items is an event with a known 'ph';"
            " export it as Chrome JSON from the tool that wrote it"
        )
    return reader.build(_metadata(document) if isinstance(document, dict) else {})


def _metadata(document: dict[str, Json]) -> dict[str, Json]:
    layout = ("traceEvents", "schemaVersion", "displayTimeUnit")
    return {key: value for key, value in document.items() if key not in layout}


def _refuse_others(data: bytes, name: str) -> None:
    start = data[:512].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise TraceFormatError(f"{name}: the file is empty; record or export the trace again")
    if start.startswith(b"<"):
        what = "HTML" if b"<!doctype html" in start.lower() or b"<html" in start.lower() else "XML or HTML"
        raise TraceFormatError(f"{name}: this is {what}, not a trace; download the trace itself, not a page about it")
    for magic, what in _ARCHIVES.items():
        if data.startswith(magic):
            raise TraceFormatError(f"{name}: this is {what}")
    if data[257:262] == b"ustar":
        raise TraceFormatError(f"{name}: this is a tar archive; unpack it and give its traces one by one")
    if start[:1] not in (b"{", b"["):
        raise TraceFormatError(f"{name}: this is not JSON (it begins with {_excerpt(start)}); give a Chrome JSON trace")


def _excerpt(start: bytes) -> str:
    return ascii(start[:20].decode("utf-8", "replace"))


def _parse(data: bytes, name: str) -> Json:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        strict_error = error
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if text.startswith("[") and not text.endswith("]"):
        # The format allows an array to end without its bracket: a program that is killed leaves such a file.
        text = text.removesuffix(",") + "]"
    try:
        return json.loads(text, strict=False)  # takes NaN, Infinity and raw control bytes, which some tracers write
    except (json.JSONDecodeError, RecursionError) as error:
        if isinstance(error, RecursionError):
            raise TraceFormatError(f"{name}: the JSON is nested too deeply to be a trace") from None
        if "end of data" in strict_error.msg or _is_cut(error):
            raise TraceFormatError(
                f"{name}: the JSON is cut short at byte {len(data)}; copy or record the trace again"
            ) from None
    raise TraceFormatError(f"{name}: this is not valid JSON: {strict_error}; export the trace again") from None


def _is_cut(error: json.JSONDecodeError) -> bool:
    """Whether the text ended where more had to come, rather than held something wrong."""
    rest = error.doc[error.pos :].removesuffix("]").strip()
    begun = any(word.startswith(rest) for word in ("true", "false", "null", "NaN", "Infinity", "-Infinity"))
    return begun or error.msg.startswith("Unterminated string")
