"""One piece of compressed data at a time: what it unpacks to comes in pieces, and where it ends is known."""

import zlib
from collections.abc import Iterator
from typing import cast

from isal import isal_zlib

PIECE = 1 << 20  # bytes
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
ZLIB, DEFLATE = zlib.MAX_WBITS, -zlib.MAX_WBITS  # windows
IsalError = cast(type[Exception], isal_zlib.error)  # its stub calls it an instance
_SIP = 1 << 10  # bytes of zstd that are unpacked at once: 32 MiB of output at most, whatever they hold


class Gzip:
    """One gzip member; with another window, what zlib writes or bare deflate."""

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


class Zstd(Gzip):
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


def begins_zstd(head: bytes) -> bool:
    """Whether bytes, four or fewer, begin a frame of zstd: of data, or of something else that is passed over."""
    return ZSTD.startswith(head) or (head[0] >> 4 == 5 and b"\x2a\x4d\x18".startswith(head[1:]))
