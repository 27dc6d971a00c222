"""Zip archives whose end is missing, and with it the list of what is in them: files are found by their own headers.

The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3.7 to 4.3.9
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

from .compressed import DEFLATE, PIECE, Gzip, IsalError

BEGIN = b"PK\x03\x04"  # of a file's header
_HEADER = struct.Struct("<6xHH8xL4xHH")  # flags, method, packed size, lengths of name and extra field
_STORED, _DEFLATED = 0, 8  # methods
_ENCRYPTED, _SIZE_BEHIND = 1, 8  # flags
_LONGEST_BEHIND = 24  # bytes that may stand between a file's data and the next header


def members(file: IO[bytes]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Name and bytes of each file, up to where the archive ends; what is not read of one is passed over. The bytes
    end with IsalError where they are damaged."""
    at = 0
    while True:
        file.seek(at)
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size or not head.startswith(BEGIN):
            return
        flags, method, size, name, extra = _HEADER.unpack(head)
        is_sized = method == _STORED and not flags & _SIZE_BEHIND
        if flags & _ENCRYPTED or not (is_sized or method == _DEFLATED):
            return
        member = _Member(file, at + _HEADER.size + name + extra)
        pieces = member.stored(size) if is_sized else member.unpacked()
        yield file.read(name).decode("utf-8", "replace"), pieces
        with suppress(IsalError):
            for _ in pieces:
                pass
        file.seek(member.end)
        behind = file.read(_LONGEST_BEHIND + len(BEGIN)).find(BEGIN)
        if behind < 0:
            return
        at = member.end + behind


class _Member:
    """The bytes of one file; they end `end`, as far as they were read."""

    def __init__(self, file: IO[bytes], begin: int) -> None:
        self._file = file
        self.end = begin

    def _read(self, most: int) -> bytes:
        self._file.seek(self.end)
        piece = self._file.read(most)
        self.end += len(piece)
        return piece

    def stored(self, size: int) -> Iterator[bytes]:
        while size > 0 and (piece := self._read(min(PIECE, size))):
            size -= len(piece)
            yield piece

    def unpacked(self) -> Iterator[bytes]:
        data = Gzip(DEFLATE)
        while not data.ended and (piece := self._read(PIECE)):
            yield from data.unpack(piece)
        self.end -= len(data.unused)
