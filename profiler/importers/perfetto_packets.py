"""The packets of a Perfetto trace: protobuf messages one behind the other, some of them packed together.

The format: https://perfetto.dev/docs/reference/trace-packet-proto
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from ..errors import TraceFormatError
from ..perfetto import protos
from .container import Plain
from .findings import Findings

Packet: TypeAlias = Any  # a TracePacket of the package perfetto
_TAG = 0x0A  # of the one field of a trace: its packets
_LARGEST = 1 << 28  # bytes of one packet; tracers write some kilobytes


class Packets:
    """The packets of a file in their order, up to where it is cut short or damaged."""

    def __init__(self, plain: Plain, name: str, findings: Findings) -> None:
        self._plain = plain
        self._name = name
        self._findings = findings
        self.is_whole = True
        self._read = 0  # bytes of the packets so far

    def __iter__(self) -> Iterator[Packet]:
        return self._unpacked(self._parsed(self._messages(self._plain)))

    def _unpacked(self, packets: Iterable[Packet]) -> Iterator[Packet]:
        """Packets of packed ones in their place."""
        for packet in packets:
            packed = packet.compressed_packets or packet.zstd_compressed_packets
            if packed:
                yield from self._parsed(self._messages(self._plain.inside(packed, self._read)))
            else:
                yield packet

    def _parsed(self, messages: Iterable[bytes]) -> Iterator[Packet]:
        from google.protobuf.message import DecodeError

        parse = protos().TracePacket.FromString
        for message in messages:
            try:
                packet = parse(message)
            except DecodeError:
                self._findings.add("packet-damaged", examples=[f"{len(message):,} bytes near byte {self._read:,}"])
            else:
                yield packet

    def _messages(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        is_file = pieces is self._plain
        held, size, wanted, place = list[bytes](), 0, 0, 0
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size < wanted:  # a long packet is put together once
                continue
            data, at = b"".join(held), 0
            while True:
                begin, end = _next(data, at)
                if end <= 0 or end > len(data):
                    break
                if is_file:
                    self._read = place + end
                yield data[begin:end]
                at = end
            if end < 0:
                self._damaged(data[at : at + 30], place + at)
                return
            place, wanted = place + at, max(end - at, 0)
            held, size = [data[at:]], len(data) - at
        if size:
            self.is_whole = False
            self._findings.add("cut", at=f"{place + size:,}")

    def _damaged(self, excerpt: bytes, at: int) -> None:
        told = ascii(excerpt.decode("utf-8", "replace"))
        if not at:
            raise TraceFormatError(f"{self._name}: this is no trace of a known format (it begins with {told})")
        self.is_whole = False
        self._findings.add("packets-end", at=f"{at:,}", excerpt=told)


def _next(data: bytes, at: int) -> tuple[int, int]:
    """Begin and end of the packet at a place; the end is 0 where that cannot be told yet, -1 where there is none."""
    if at >= len(data):
        return 0, 0
    if data[at] != _TAG:
        return 0, -1
    size = 0
    for place in range(at + 1, min(at + 6, len(data))):
        size |= (data[place] & 0x7F) << 7 * (place - at - 1)
        if data[place] < 0x80:
            return (place + 1, place + 1 + size) if size <= _LARGEST else (0, -1)
    return (0, -1) if len(data) >= at + 6 else (0, 0)
