"""Pickles of plain data: dicts, lists, strings, numbers, and tuples of numbers.

A pickle is a program. It can name what shall be called, ask for memory by a number in a few bytes, and build tuples in
tuples, of which one hash takes for ever. So its opcodes are walked before any of them is run, and what no pickler
writes of plain data is refused. `pickletools` describes the opcodes.
"""

import io
import pickle
import re
from typing import NoReturn

from ..trace import Json

MAGIC = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")  # by protocol; older ones are text

_NUMBER = b"(?:K.|M..|J.{4}|[N\x88\x89]|" + b"|".join(b"\x8a%c.{%d}" % (size, size) for size in range(10)) + b"|G.{8})"
# Opcodes that are as long as they look. A tuple stands behind its numbers.
_SKIPPED = re.compile(
    b"(?:h.|j.{4}|[]})(aesu\x94]|%(number)s\x85|%(number)s{2}\x86|%(number)s{3}\x87|%(number)s|q.|\x80.)*+"
    % {b"number": _NUMBER},
    re.DOTALL,
).match
# Opcodes with a length before the data: the bytes that it takes, and whether the data are skipped.
_LENGTH = {ord("X"): 4, 0x8C: 1, 0x8D: 8, 0x8A: 1, 0x8B: 4, 0x95: 8}  # texts, ints, frames
_FRAME, _LONG_BINPUT, _STOP = 0x95, ord("r"), ord(".")
_NAMES = b"ciPQ\x93"  # where the unpickler asks for an object by name, and is refused
_FREE_PLACES = 256  # of the memo: those that opcodes with one byte name

# What the unpickler raises of pickles that are damaged.
_DAMAGE = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError, KeyError, OverflowError,
    MemoryError,
)  # fmt: skip


class Forbidden(Exception):
    """The pickle asks for something that is no plain data; the message says what it does, in two or three words."""


class Damaged(Exception):
    """The pickle is cut short, or no pickler wrote it; the message says why, in one line."""


def load(data: bytes) -> Json:
    """What a pickle holds; raises Forbidden or Damaged. Takes memory in proportion to the data, whatever they say."""
    try:
        _check(data)
        return _PlainUnpickler(io.BytesIO(data)).load()
    except _DAMAGE as error:
        raise Damaged(f"{type(error).__name__}: {' '.join(str(error).split())}"[:120]) from None


def _check(data: bytes) -> None:
    """Walk the opcodes up to the end, or to one that the unpickler refuses by itself."""
    position, end, places = 0, len(data), _FREE_PLACES
    while True:
        found = _SKIPPED(data, position)
        position = found.end() if found else position
        if position == end:
            raise EOFError(f"it ends after {end:,} bytes, without its last opcode")
        opcode = data[position]
        if opcode == _STOP or opcode in _NAMES:
            return
        if opcode == _LONG_BINPUT:
            place = int.from_bytes(data[position + 1 : position + 5], "little")
            if place > places:  # a pickler counts them from 0 or 1 on
                raise ValueError(f"byte {position:,} fills place {place:,} of the memo, which has {places:,}")
            places += 1
            position += 5
        elif size := _LENGTH.get(opcode):
            begin = position + 1 + size
            length = int.from_bytes(data[position + 1 : begin], "little")
            if length > end - begin:
                raise EOFError(f"byte {position:,} tells of {length:,} bytes, and {max(end - begin, 0):,} follow")
            position = begin if opcode == _FRAME else begin + length
        elif opcode in b"\x85\x86\x87t":
            raise Forbidden("holds a tuple of other things than numbers")
        else:
            raise Forbidden(f"has the opcode {opcode:#04x} at byte {position:,}")


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        raise Forbidden(f"names {module}.{name}")

    def persistent_load(self, pid: Json) -> NoReturn:
        raise Forbidden("names objects outside of itself")
