"""Reads benchmark results of many tools. What a file holds decides which reader takes it, not its name.

read(path)            the one run of a file
read_all(path)        every run of a file, a folder or an archive: a folder of asv holds one for each commit
parse(content, name)  the one run in bytes
holds_results(path)   whether a file is one of these at all
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

from ..errors import BenchmarkFormatError
from ..result import Run
from . import asv, criterion, go_bench, google_benchmark, hyperfine, own, pytest_benchmark
from .sniff import holds_results
from .text import SUPPORTED, decoded, parsed, refuse_others

__all__ = ["holds_results", "parse", "parse_all", "read", "read_all"]

LARGEST = 1 << 30  # bytes that an archive may unpack to


class _Format(Protocol):
    def knows(self, document: Any) -> bool:
        """Whether it is of this format."""
        ...

    def read(self, document: Any, created: datetime) -> Run:
        """The run in it; `created` stands where it does not say when it was measured."""
        ...


# By what they read: one JSON document, text, and several files together, as bytes by path.
DOCUMENTS: tuple[_Format, ...] = (own, pytest_benchmark, google_benchmark, hyperfine, asv)
TEXTS: tuple[_Format, ...] = (go_bench, criterion)
FOLDERS = (criterion.read_folder, asv.read_folder)
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")
_READ = (".json", ".csv", ".txt")  # in folders, where much else lies


def read(path: str | Path) -> Run:
    """The one run in this file, folder or archive.

    Raises:
        BenchmarkFormatError: the file cannot be read, holds several runs, or is not a benchmark file we know; one
        sentence that begins with its name.
    """
    return _only(read_all(path), str(path))


def read_all(path: str | Path) -> tuple[Run, ...]:
    """Every run in this file, folder or archive, in the order of when they were measured.

    Raises:
        BenchmarkFormatError: as `read`.
    """
    path = Path(path)
    try:
        if path.is_dir():
            found = sorted(each for each in path.rglob("*") if each.suffix in _READ and each.is_file())
            files = {each.relative_to(path).as_posix(): each.read_bytes() for each in found}
            return _folder(files, str(path), datetime.now(UTC))
        content = path.read_bytes()
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError as error:
        raise BenchmarkFormatError(f"{path}: {error.strerror or error}; {SUPPORTED}") from None
    return parse_all(content, str(path), changed)


def parse(content: bytes, name: str, created: datetime | None = None) -> Run:
    """The one run in `content`; `name` is what messages call it, `created` (now) when it was measured if nothing in it
    says so.

    Raises:
        BenchmarkFormatError: as `read`.
    """
    return _only(parse_all(content, name, created), name)


def parse_all(content: bytes, name: str, created: datetime | None = None) -> tuple[Run, ...]:
    """Every run in `content`, which may be an archive.

    Raises:
        BenchmarkFormatError: as `read`.
    """
    created = created or datetime.now(UTC)
    if content.startswith(_PACKED) or content[257:262] == b"ustar":
        files = _unpacked(content, name)
        if len(files) != 1:
            return _folder(files, name, created)
        (content,) = files.values()
    return (_one(content, name, created),)


def _one(content: bytes, name: str, created: datetime) -> Run:
    try:
        text = decoded(content)
        for format in TEXTS:
            if format.knows(text):
                return format.read(text, created)
        document = parsed(text)
        for format in DOCUMENTS:
            if format.knows(document):
                return format.read(document, created)
        refuse_others(document)
        raise BenchmarkFormatError(f"this JSON is of no benchmark tool we read; {SUPPORTED}")
    except BenchmarkFormatError as error:
        raise BenchmarkFormatError(f"{name}: {error}") from None


def _folder(files: Mapping[str, bytes], name: str, created: datetime) -> tuple[Run, ...]:
    try:
        runs = next((found for reader in FOLDERS if (found := reader(files, created))), None)
    except BenchmarkFormatError as error:
        raise BenchmarkFormatError(f"{name}: {error}") from None
    if runs is None:
        runs = [_one(content, f"{name}/{path}", created) for path, content in files.items()]
    if not runs:
        raise BenchmarkFormatError(f"{name}: no benchmark results are in it; {SUPPORTED}")
    return tuple(sorted(runs, key=lambda run: run.created))


def _only(runs: tuple[Run, ...], name: str) -> Run:
    if len(runs) != 1:
        raise BenchmarkFormatError(f"{name}: it holds {len(runs)} runs where one is asked for; give the file of one")
    return runs[0]


def _unpacked(content: bytes, name: str) -> dict[str, bytes]:
    from perflab.profiler.errors import TraceFormatError
    from perflab.profiler.importers.container import Unpacker
    from perflab.profiler.importers.findings import Findings

    findings = Findings()
    try:
        members = Unpacker(name, LARGEST, findings).members(BytesIO(content))
        files = {path: b"".join(plain) for path, plain in members}
    except TraceFormatError as error:
        raise BenchmarkFormatError(str(error)) from None
    for finding in findings.listed():
        if finding.severity == "error":
            raise BenchmarkFormatError(f"{name}: {finding.what.rstrip('.')}; copy the file again")
    return files if len(files) == 1 else {path: data for path, data in files.items() if path.endswith(_READ)}
