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
from contextlib import contextmanager
from functools import partial
from typing import IO, BinaryIO, cast

from isal import isal_zlib

from ..errors import TraceFormatError
from .findings import Findings

PIECE = 1 << 20  # bytes
_HEAD = 512  # bytes that tell the formats apart
_SPOOLED = 1 << 24  # bytes of an archive that are held in memory
_LAYERS = 4
_IsalError = cast(type[Exception], isal_zlib.error)  # its stub calls it an instance
# What the standard library raises of archives that were tampered with.
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError,
    RuntimeError, OverflowError, IndexError,
)  # fmt: skip
GZIP, ZSTD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", (b"PK\x03\x04", b"PK\x05\x06")
_SIP = 1 << 10  # bytes of zstd that are unpacked at once: 32 MiB of output at most, whatever they hold


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
        elif len(head) >= 4 and _begins_zstd(head[:4]):
            yield from self._opened(name, Plain(self._limited(self._unzstd(plain)), self), layers - 1)
        elif head.startswith(ZIP):
            yield from self._zipped(plain, layers)
        elif head[257:262] == b"ustar":
            yield from self._tarred(plain, layers)
        else:
            yield name, plain

    def inside(self, packed: bytes, at: int) -> Iterator[bytes]:
        """What zlib or zstd data in the file unpacks to; it counts with all the rest."""
        member = _zstd() if packed.startswith(ZSTD) else _Gzip(zlib.MAX_WBITS)
        try:
            yield from self._limited(member.unpack(packed))
        except (_IsalError, OSError, ValueError) as error:
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
        return self._decompress(packed, "gzip", _Gzip, lambda head: GZIP.startswith(head[:2]))

    def _unzstd(self, packed: Plain) -> Iterator[bytes]:
        return self._decompress(packed, "zstd", _zstd, _begins_zstd)

    def _decompress(
        self, packed: Plain, what: str, make: Callable[[], "_Gzip"], begins: Callable[[bytes], bool]
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
                except (_IsalError, OSError, ValueError) as error:
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
                raise self._damaged("zip archive", error) from None
            for entry in archive.infolist():
                if not entry.filename.endswith("/"):
                    pieces = self._limited(self._member(partial(archive.open, entry), "zip archive"))
                    yield from self._opened(entry.filename, Plain(pieces, self), layers - 1)

    def _tarred(self, plain: Plain, layers: int) -> Iterator[tuple[str, Plain]]:
        with plain.as_file() as file:
            try:
                archive = tarfile.open(fileobj=file, mode="r:")
                entries = [entry for entry in archive.getmembers() if entry.isreg()]
            except _DAMAGE as error:
                raise self._damaged("tar archive", error) from None
            for entry in entries:
                pieces = self._member(partial(archive.extractfile, entry), "tar archive")
                if entry.issparse():  # its holes are in no file
                    pieces = self._limited(pieces)
                yield from self._opened(entry.name, Plain(pieces, self), layers - 1)

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


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


class _Gzip:
    """One gzip member, or what zlib writes."""

    def __init__(self, window: int = 16 + zlib.MAX_WBITS) -> None:
        self._made = isal_zlib.decompressobj(window)
        self.begun = False

    def unpack(self, data: bytes) -> Iterator[bytes]:
        self.begun = True
        while data and not self._made.eof:
            out = self._made.decompress(data, PIECE)
            data = self._made.unconsumed_tail
            if out:
                yield out

    @property
    def ended(self) -> bool:
        return self._made.eof

    @property
    def unused(self) -> bytes:
        return self._made.unused_data


class _Zstd(_Gzip):
    """One zstd frame."""

    def __init__(self) -> None:
        import zstandard

        self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        self._rest = b""
        self.begun = False

    def unpack(self, data: bytes) -> Iterator[bytes]:
        import zstandard

        self.begun = True
        for at in range(0, len(data), _SIP):
            try:
                out = self._frame.decompress(data[at : at + _SIP])
            except zstandard.ZstdError as error:
                raise ValueError(str(error)) from None
            if out:
                yield out
            if self._frame.eof:
                self._rest = self._frame.unused_data + data[at + _SIP :]
                return

    @property
    def ended(self) -> bool:
        return self._frame.eof

    @property
    def unused(self) -> bytes:
        return self._rest


def _begins_zstd(head: bytes) -> bool:
    """Whether bytes, four or fewer, begin a frame of zstd: of data, or of something else that is passed over."""
    return ZSTD.startswith(head) or (head[0] >> 4 == 5 and b"\x2a\x4d\x18".startswith(head[1:]))


def _zstd() -> _Gzip:
    return _Zstd()
