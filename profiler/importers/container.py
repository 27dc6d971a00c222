"""What a file is packed in: gzip (of several members too), zstd, zip and tar, taken off layer by layer.

The plain bytes come as pieces, so that a trace is never held twice. Data that is cut short or damaged gives what comes
before that place, and a finding.
"""

import lzma
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, BinaryIO

from ..errors import TraceFormatError
from . import cut_zip
from .compressed import GZIP, PIECE, ZLIB, ZSTD, Gzip, IsalError, Zstd, begins_zstd
from .findings import Findings

_HEAD = 512  # bytes that tell the formats apart
_SPOOLED = 1 << 24  # bytes of an archive that are held in memory
_LAYERS = 4
# What the standard library raises of archives that were tampered with.
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError,
    RuntimeError, OverflowError, IndexError,
)  # fmt: skip
ZIP = (cut_zip.BEGIN, b"PK\x05\x06")


class Plain:
    """Bytes by pieces, of which the first can be looked at."""

    def __init__(self, pieces: Iterator[bytes], unpacker: "Unpacker") -> None:
        self._pieces = pieces
        self._unpacker = unpacker
        self._kept: list[bytes] = []

    def head(self, size: int = _HEAD) -> bytes:
        """The first bytes; fewer where there are no more."""
        while sum(map(len, self._kept)) < size and (piece := next(self._pieces, None)) is not None:
            self._kept.append(piece)
        return b"".join(self._kept)[:size]

    def __iter__(self) -> Iterator[bytes]:
        kept, self._kept = self._kept, []
        yield from kept
        yield from self._pieces

    def inside(self, packed: bytes, at: int) -> Iterator[bytes]:
        """What zlib or zstd data from near byte `at` unpacks to, up to where it is damaged."""
        return self._unpacker.inside(packed, at)

    @contextmanager
    def as_file(self) -> Iterator[IO[bytes]]:
        """The same as a file that can be sought, for formats that are read so."""
        with tempfile.SpooledTemporaryFile(_SPOOLED) as file:
            for piece in self:
                file.write(piece)
            file.seek(0)
            yield file


class Unpacker:
    """Takes layers off one file, and refuses to unpack more than `largest` bytes."""

    def __init__(self, name: str, largest: int | None, findings: Findings) -> None:
        self.name = name
        self._largest = largest
        self._size = 0
        self._findings = findings

    def members(self, file: BinaryIO) -> Iterator[tuple[str, Plain]]:
        """Name and bytes of the file, or of each file in the archive that it is."""
        yield from self._opened(self.name, Plain(iter(lambda: file.read(PIECE), b""), self), _LAYERS)

    def _opened(self, name: str, plain: Plain, layers: int) -> Iterator[tuple[str, Plain]]:
        head = plain.head()
        if not layers:
            raise TraceFormatError(f"{self.name}: it is packed {_LAYERS} times over; unpack it and give what is inside")
        if head.startswith(GZIP):
            yield from self._opened(name, Plain(self._limited(self._gunzip(plain)), self), layers - 1)
        elif len(head) >= 4 and begins_zstd(head[:4]):
            yield from self._opened(name, Plain(self._limited(self._unzstd(plain)), self), layers - 1)
        elif head.startswith(ZIP):
            yield from self._zipped(plain, layers)
        elif head[257:262] == b"ustar":
            yield from self._tarred(plain, layers)
        else:
            yield name, plain

    def inside(self, packed: bytes, at: int) -> Iterator[bytes]:
        """What zlib or zstd data in the file unpacks to; it counts with all the rest."""
        member = Zstd() if packed.startswith(ZSTD) else Gzip(ZLIB)
        try:
            yield from self._limited(member.unpack(packed))
        except (IsalError, OSError, ValueError) as error:
            self._findings.add("compressed-damaged", at=f"{at:,}", why=_one_line(error))

    def _limited(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._size += len(piece)  # of all members together
            if self._largest is not None and self._size > self._largest:
                raise TraceFormatError(
                    f"{self.name}: it unpacks to more than {self._largest >> 20} MiB; record fewer steps a file"
                )
            yield piece

    def _gunzip(self, packed: Plain) -> Iterator[bytes]:
        return self._decompress(packed, "gzip", Gzip, lambda head: GZIP.startswith(head[:2]))

    def _unzstd(self, packed: Plain) -> Iterator[bytes]:
        return self._decompress(packed, "zstd", Zstd, begins_zstd)

    def _decompress(
        self, packed: Plain, what: str, make: Callable[[], Gzip], begins: Callable[[bytes], bool]
    ) -> Iterator[bytes]:
        """Unpacks members one behind the other, of which `begins` knows the first four bytes, or fewer. Without a byte
        out of it, damaged data is refused."""
        member, at, produced = make(), 0, False
        for piece in packed:
            data: bytes = piece
            while data:
                try:
                    for out in member.unpack(data):
                        produced = True
                        yield out
                except (IsalError, OSError, ValueError) as error:
                    if not produced:
                        raise TraceFormatError(
                            f"{self.name}: the {what} data is damaged ({error}); copy the file again"
                        ) from None
                    self._findings.add("compressed-damaged", at=f"{at:,}", why=str(error))
                    return
                data = member.unused
                if not member.ended:
                    break
                rest = data.lstrip(b"\0")  # some tools fill the last block
                if rest and not begins(rest[:4]):
                    self._findings.add("trailing", len(rest))
                    return
                member, data = make(), rest
            at += len(piece)
        if member.begun and not member.ended:
            if not produced:
                raise TraceFormatError(f"{self.name}: the {what} data is cut short; copy or record the file again")
            self._findings.add("compressed-cut", at=f"{at:,}")

    def _zipped(self, plain: Plain, layers: int) -> Iterator[tuple[str, Plain]]:
        with plain.as_file() as file:
            try:
                archive = zipfile.ZipFile(file)
            except _DAMAGE as error:
                yield from self._cut_zip(file, layers, error)
                return
            for entry in archive.infolist():
                if not entry.filename.endswith("/"):
                    pieces = self._limited(self._member(partial(archive.open, entry), "zip archive"))
                    yield from self._opened(entry.filename, Plain(pieces, self), layers - 1)

    def _cut_zip(self, file: IO[bytes], layers: int, why: Exception) -> Iterator[tuple[str, Plain]]:
        """What can be found in an archive whose end is missing; raises TraceFormatError where that is nothing."""
        is_found = False
        for name, pieces in cut_zip.members(file):
            if not is_found:
                self._findings.add("archive-cut", archive="zip", at=f"{file.seek(0, 2):,}")
            is_found = True
            yield from self._opened(name, Plain(self._limited(self._sound(pieces, file)), self), layers - 1)
        if not is_found:
            raise self._damaged("zip archive", why)

    def _sound(self, pieces: Iterator[bytes], file: IO[bytes]) -> Iterator[bytes]:
        """Pieces of packed data up to where it is damaged."""
        try:
            yield from pieces
        except IsalError as error:
            self._findings.add("compressed-damaged", at=f"{file.tell():,}", why=_one_line(error))

    def _tarred(self, plain: Plain, layers: int) -> Iterator[tuple[str, Plain]]:
        with plain.as_file() as file:
            try:
                archive = tarfile.open(fileobj=file, mode="r:")
                entries = list(self._entries(archive))
            except _DAMAGE as error:
                raise self._damaged("tar archive", error) from None
            file.seek(archive.offset)
            if any(file.read(tarfile.BLOCKSIZE).ljust(1, b"?")):  # an archive ends with blocks of zeros
                self._findings.add("archive-cut", archive="tar", at=f"{file.seek(0, 2):,}")
            for entry in entries:
                if entry.issparse():  # its holes are in no file
                    pieces = self._limited(self._member(partial(archive.extractfile, entry), "tar archive"))
                else:
                    pieces = _part(file, entry.offset_data, entry.size)
                yield from self._opened(entry.name, Plain(pieces, self), layers - 1)

    @staticmethod
    def _entries(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
        """Its files; the last may be cut short."""
        with suppress(tarfile.ReadError):
            yield from (entry for entry in iter(archive.next, None) if entry.isreg())

    def _member(self, open_it: Callable[[], IO[bytes] | None], what: str) -> Iterator[bytes]:
        """The bytes of a file in an archive, up to where they are damaged."""
        at = 0
        try:
            member = open_it()
            assert member is not None  # which extractfile gives for what is no file
            with member:
                while piece := member.read(PIECE):
                    at += len(piece)
                    yield piece
        except _DAMAGE as error:
            if not at:
                raise self._damaged(what, error) from None
            self._findings.add("compressed-damaged", at=f"{at:,}", why=_one_line(error))

    def _damaged(self, what: str, error: Exception) -> TraceFormatError:
        return TraceFormatError(f"{self.name}: the {what} is damaged ({_one_line(error)}); copy it again")


def _part(file: IO[bytes], begin: int, size: int) -> Iterator[bytes]:
    """So many bytes of a file, or as many as there are."""
    while size > 0:
        file.seek(begin)  # others read it too
        piece = file.read(min(PIECE, size))
        if not piece:
            return
        yield piece
        begin, size = begin + len(piece), size - len(piece)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
