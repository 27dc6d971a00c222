"""What a parser took in, without what is large: arguments of long traces wait in a temporary file.

Of ten million events the columns of arguments are most of what is held. They are written away while the file is read,
taken back key by key, and stand in the trace as maps of a file, which the system reads where they are looked at.
"""

import tempfile
from collections import defaultdict
from hashlib import blake2b
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..trace import ArgColumn, Int64s

if TYPE_CHECKING:
    from perflab.runtime._core import ChromeParser

HELD = 1 << 20  # events that a parser holds; shorter traces never leave the memory
Taken: TypeAlias = tuple[NDArray[Any], ...]
Words: TypeAlias = tuple[Int64s, Int64s, NDArray[np.uint8]]  # events, values as words, and their kinds


class Spill:
    """Takes from a parser what it holds, whenever that is much. Events of all takings are counted on."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self.slices = Kept()
        self.instants = Kept()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:  # maps of it stay
            self._file.close()

    @property
    def is_used(self) -> bool:
        """Whether arguments wait in the file."""
        return self._file is not None

    def relieve(self, parser: "ChromeParser") -> None:
        """Take slices and instants where the parser holds many."""
        if parser.waiting >= HELD:
            self._take(parser)

    def _take(self, parser: "ChromeParser") -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()
        for kind, taken in ((self.slices, parser.take_slices()), (self.instants, parser.take_instants())):
            kind.take(self._file, taken)

    def rest(self, parser: "ChromeParser") -> None:
        """Take what is left, once the file has ended; arguments of short traces stay in memory."""
        if self._file is None:
            self.slices.keep(parser.take_slices())
            self.instants.keep(parser.take_instants())
        else:
            self._take(parser)

    def words(self, kind: "Kept", key: bytes) -> Words:
        """All values of an argument; it can be asked for once."""
        pieces = kind.args.pop(key)
        if self._file is None:
            events, words, kinds = pieces[0]
            return events, words, kinds
        found: list[Words] = []
        for at, count, first in pieces:
            self._file.seek(at)
            events = np.fromfile(self._file, np.int64, count) + first
            found.append((events, np.fromfile(self._file, np.int64, count), np.fromfile(self._file, np.uint8, count)))
        events, words, kinds = (np.concatenate(column) for column in zip(*found, strict=True))
        return events, words, kinds

    def mapped(self, column: ArgColumn, others: dict[bytes, Int64s]) -> ArgColumn:
        """The column as a map of the file. Rows that are among `others`, by what they hold, are shared; new ones join
        them."""
        digest = blake2b(column.rows.data).digest()
        if digest not in others:
            others[digest] = self._map(column.rows)
        return ArgColumn(others[digest], self._map(column.values), column.table)

    def _map(self, values: NDArray[Any]) -> NDArray[Any]:
        if self._file is None or not len(values):  # a map cannot be empty
            return values
        at = self._file.seek(0, 2)
        at += self._file.write(bytes(-at % 64))
        values.tofile(self._file)
        self._file.flush()
        return np.memmap(self._file, values.dtype, "r", at, values.shape)


class Kept:
    """Slices, or instants: columns by taking, and where the words of each argument are."""

    def __init__(self) -> None:
        self._columns: list[Taken] = []
        self._count = 0
        self.args: dict[bytes, list[Any]] = defaultdict(list)

    def keep(self, taken: tuple[Any, ...]) -> None:
        """Hold all of it."""
        *columns, args = taken
        self._columns.append(tuple(columns))
        for key, words in args.items():
            self.args[key].append(words)

    def take(self, file: IO[bytes], taken: tuple[Any, ...]) -> None:
        """Hold the columns, and write the arguments to the file."""
        *columns, args = taken
        for key, (events, words, kinds) in args.items():
            if len(events):
                self.args[key].append((file.seek(0, 2), len(events), self._count))
                for column in (events, words, kinds):
                    column.tofile(file)
                file.flush()
        self._columns.append(tuple(columns))
        self._count += len(columns[0])

    def columns(self) -> Taken:
        """The columns of all takings, which leave here."""
        taken, self._columns = self._columns, []
        if len(taken) == 1:
            return taken[0]
        joined = []
        for place in range(len(taken[0])):
            joined.append(np.concatenate([each[place] for each in taken]))
        return tuple(joined)
