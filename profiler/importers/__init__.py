"""Reads traces of many tools. What a file holds decides which reader takes it, not its name.

read(path) -> Import: a Trace, the format that it was read from, and what was found on the way
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..errors import TraceFormatError
from ..trace import Json, Trace
from . import nsight, perfetto, plain_pickle, pyinstrument, speedscope
from .chrome import read_json
from .container import Plain, Unpacker
from .findings import Finding, Findings
from .origin import told_by
from .privacy import masked, masked_finding
from .ranks import joined

__all__ = ["Finding", "Import", "read"]

# Documents of JSON that are no Chrome traces, by keys of which they have all.
_DOCUMENTS = (
    (speedscope.KEYS, speedscope.FORMAT, speedscope.read),
    (pyinstrument.SESSION_KEYS, pyinstrument.FORMAT, pyinstrument.read_session),
    (pyinstrument.TREE_KEYS, pyinstrument.FORMAT, pyinstrument.read_tree),
)


@dataclass(frozen=True, slots=True)
class Import:
    """A trace, the format that it was read from, and what its reader found."""

    trace: Trace
    format: str
    findings: tuple[Finding, ...]

    def masked(self) -> "Import":
        """The same without what names people, machines and secrets, which a finding counts."""
        found = Findings()
        trace = masked(self.trace, found)
        return Import(trace, self.format, tuple(map(masked_finding, (*self.findings, *found.listed()))))


def read(source: str | os.PathLike[str] | BinaryIO, largest: int | None = None, *, mask: bool = True) -> Import:
    """Read a trace from a path or a binary file, plain or packed with gzip, zstd, zip or tar.

    The traces of an archive or a folder, one for each rank, become one.

    A file that is cut short or damaged is read up to that place; what was repaired, left out or odd is in `findings`.
    Events need not be sorted. Slices that cross others of their thread get a lane of their own; slices without an end
    reach to the last event and have the argument `unfinished`. `largest` is how many bytes compressed data may unpack
    to: a file from a stranger may be made to fill the memory. `mask` replaces home folders, names of users, hosts and
    jobs, and secrets.
    Raises TraceFormatError where the file is no trace, OSError where it cannot be opened.
    """
    findings = Findings()
    if not isinstance(source, str | os.PathLike):
        name = Path(str(getattr(source, "name", "") or "the trace")).name
        return _read(Unpacker(name, largest, findings).members(source), name, findings, mask)
    path = Path(source)
    if path.is_dir():
        return _read(_in_folder(path, largest, findings), path.name, findings, mask)
    with open(path, "rb") as file:
        return _read(Unpacker(path.name, largest, findings).members(file), path.name, findings, mask)


def _in_folder(folder: Path, largest: int | None, findings: Findings) -> Iterator[tuple[str, Plain]]:
    """Every file in it and its folders, by path."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        with open(path, "rb") as file:
            try:
                yield from Unpacker(name, largest, findings).members(file)
            except TraceFormatError:
                findings.add("skipped", examples=[name])


def _read(members: Iterator[tuple[str, Plain]], name: str, findings: Findings, mask: bool) -> Import:
    traces: list[tuple[str, Trace]] = []
    formats: list[str] = []
    refusals: list[TraceFormatError] = []
    for member, plain in members:
        try:
            trace, format = _read_plain(plain, name, findings)
        except TraceFormatError as error:
            refusals.append(error)
            findings.add("skipped", examples=[member])
            continue
        traces.append((member, trace))
        formats.append(format)
    if not traces:
        raise (refusals[0] if refusals else TraceFormatError(f"{name}: nothing is in it; give one that holds a trace"))
    if len(traces) > 1:
        findings.forget_moments()
    trace = traces[0][1] if len(traces) == 1 else joined(traces, findings)
    format = formats[0]
    found = Import(trace, format, findings.listed())
    return found.masked() if mask else found


def _read_plain(plain: Plain, name: str, findings: Findings) -> tuple[Trace, str]:
    head = plain.head()
    if head.startswith(nsight.MAGIC):
        with plain.as_file() as file:
            return nsight.read(file, name, findings), nsight.FORMAT
    if _is_perfetto(head):
        return perfetto.read(plain, name, findings), perfetto.FORMAT
    _refuse_others(head, name)
    read = read_json(plain, name, findings, [keys for keys, _, _ in _DOCUMENTS])
    if isinstance(read, Trace):
        return read, told_by(read, findings)
    for keys, format, reader in _DOCUMENTS:
        if keys <= read.keys():
            return reader(read, name, findings), format
    raise TraceFormatError(f"{name}: {_stranger(read)}")


def _stranger(document: dict[str, Json]) -> str:
    if "benchmarks" in document:
        return "benchmark results, no trace; `perflab upload` and `perflab gate` take these"
    if {"ph", "ts"} <= document.keys():
        return "an event, and not the list of them; put all events in one list, with `[` before the first"
    keys = ", ".join(map(repr, list(document)[:4]))
    return (
        f"JSON, but not a Chrome trace: it has no list 'traceEvents' (its keys: {keys or 'none'}); export it as Chrome"
        " JSON from the tool that wrote it"
    )


def _refuse_others(head: bytes, name: str) -> None:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise TraceFormatError(f"{name}: the file is empty; record or export the trace again")
    if start.startswith(b"<"):
        what = "HTML" if b"<!doctype html" in start.lower() or b"<html" in start.lower() else "XML or HTML"
        raise TraceFormatError(f"{name}: this is {what}, not a trace; download the trace itself, not a page about it")
    for is_it, what in (
        (head.startswith(b"PAR1"), "a Parquet file; it was not written by a tracer"),
        (_is_wide(head), "text in UTF-16 or UTF-32; save it as UTF-8"),
        (
            head.startswith((b"\xfd7zXZ\x00", b"BZh", b"7z\xbc\xaf")),
            "packed with xz, bzip2 or 7z; unpack it, or use gzip",
        ),
        (head.startswith(b"version https://git-lfs"), "a pointer to a file that Git LFS keeps; run `git lfs pull`"),
        (head.startswith(plain_pickle.MAGIC), "a Python pickle; a memory snapshot of torch is for `perflab memory`"),
    ):
        if is_it:
            raise TraceFormatError(f"{name}: this is {what}")
    if start[:1] not in (b"{", b"["):
        excerpt = ascii(start[:20].decode("utf-8", "replace"))
        raise TraceFormatError(f"{name}: this is not JSON (it begins with {excerpt}); give a Chrome JSON trace")


def _is_wide(head: bytes) -> bool:
    """Whether its characters have two or four bytes each."""
    begin = head[:4]
    return begin.startswith((b"\xff\xfe", b"\xfe\xff")) or (
        b"\0" in begin and begin.replace(b"\0", b"").startswith((b"{", b"["))
    )


def _is_perfetto(head: bytes) -> bool:
    """Whether the file begins with the tag of a protobuf packet, 0x0a, and not with a new line before a text."""
    return head[:1] == b"\n" and len(head) > 2 and not head.isspace() and head.lstrip()[:1] not in (b"{", b"[", b"<")
