"""What each block of memory was for: told by what the recorder saw of it between its allocation and its free.

The first of these that holds of a block is its category. parameter: a module's or an optimizer's. optimizer_state: it
stands in an optimizer's `state`. gradient: a backward pass left it in a leaf's `grad`. input: it came from NumPy or
Python, from a DataLoader, or a module was called with it. activation: a node kept it for its backward pass.
temporary: it was freed. The rest is still there at the end: an activation where its op made a node, `other` elsewhere.
What was there before is `before` where nothing else is known.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .analysis.blocks import CATEGORIES, EARLIER
from .analysis.intervals import Cover
from .analysis.parts import DATA
from .events import (
    ALLOC,
    ANNOTATION,
    DEVICE_MASK,
    FREE,
    LEAF,
    OUTPUT_ALLOCATED,
    USE,
    USE_GRADIENT,
    USE_INPUT,
    USE_PARAMETER,
    USE_SAVED,
    USE_STATE,
)  # fmt: skip
from .stretches import NOTHING, Stretch
from .trace import Int64s, Json

_RANKS = ("parameter", "optimizer_state", "gradient", "input", "activation", "temporary", "other")
_CODES = np.array([CATEGORIES.index(word) for word in _RANKS], dtype=np.uint8)  # by rank
_GRADIENT, _INPUT, _SAVED, _FREED, _KEPT = range(2, 7)
_NEW, _OUTPUTS, _USES, _SUMS, _FREES = range(5)  # kinds of events, in the order in which those of one tick come
_RANK_OF_USE = np.zeros(8, dtype=np.int64)
_RANK_OF_USE[[USE_PARAMETER, USE_STATE, USE_GRADIENT, USE_INPUT, USE_SAVED]] = range(5)


@dataclass(slots=True)
class _Open:
    """A block that is there: the number of the event that allocated it, -1 where it was there before; `bytes` are what
    totals count, on devices those of its block.
    """

    number: int
    rank: int
    on_graph: bool
    bytes: int
    module: int
    device: int


@dataclass(frozen=True, slots=True)
class Earlier:
    """A block that was there when the recording began; `module` is a string's id, `device` a number."""

    address: int
    bytes: int
    category: str
    module: int
    device: int


class MemoryUses:
    """Takes the events in the order of time; then it knows the categories of what they allocated and freed on
    the CPU, or on devices.

    `is_data`: by string id, whether an annotation of that name means that data is being loaded.
    """

    def __init__(
        self, numbers: range, is_data: NDArray[np.bool_], ns: Callable[[Int64s], Int64s], on_devices: bool
    ) -> None:
        self._on_devices = on_devices
        self._first = numbers.start
        self._category = np.full(len(numbers), CATEGORIES.index(EARLIER), dtype=np.uint8)
        self.earlier: list[Earlier] = []
        self._is_data, self._ns = is_data, ns
        self._open: dict[int, _Open] = {}
        self._sums = NOTHING  # into leaves, not over yet
        self._loading = NOTHING  # annotations that mean it

    def add(self, stretch: Stretch, middle: Stretch, until: float) -> None:
        """What begins in a stretch, and the ops that allocated their outputs in it."""
        kind = stretch["kind"]
        here = (stretch["flags"] & DEVICE_MASK > 0) == self._on_devices
        taken, given = (stretch.at((kind == number) & here) for number in (ALLOC, FREE))
        uses = stretch.at((kind == USE) & ((stretch["flags"] > DEVICE_MASK) == self._on_devices))
        outputs = NOTHING if self._on_devices else middle.at(middle["flags"] & OUTPUT_ALLOCATED > 0)
        self._sums = Stretch.joined((self._sums, stretch.at(kind == LEAF)))
        over = self._ns(self._sums["t2"]) < until
        sums, self._sums = self._sums.at(over), self._sums.at(~over)
        annotations = stretch.at(kind == ANNOTATION)
        self._loading = Stretch.joined((self._loading, annotations.at(self._is_data[annotations["name"]])))
        events = Stretch.joined(parts := (taken, outputs, uses, sums, given))
        what = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        time = np.concatenate((taken["t0"], outputs["t1"], uses["t0"], sums["t2"], given["t0"]))
        places = (taken["address"], outputs["address"], uses["address"], sums["bytes"], given["address"])
        address = np.concatenate(places).astype(np.int64)
        ranks = (
            self._rank_of_new(taken, taken["t0"]),
            self._rank_of_new(outputs, outputs["t1"]),
            _RANK_OF_USE[uses["flags"] & DEVICE_MASK],
            np.full(len(sums), _GRADIENT),
            np.full(len(given), _FREED),
        )
        rank = np.concatenate(ranks)
        order = np.lexsort((what, time, address))
        if len(stretch):
            self._loading = self._loading.at(self._ns(self._loading["t2"]) >= self._ns(stretch["t0"]).max())
        self._pair(events.at(order), address[order], rank[order], what[order])

    def finish(self) -> None:
        """Nothing more comes: say what is still there, and what was there before."""
        for address, block in self._open.items():
            self._close(address, block)
        self._open.clear()

    def category(self, numbers: Int64s) -> NDArray[np.uint8]:
        """The places in CATEGORIES of what events of these numbers allocated or freed."""
        return self._category[numbers - self._first]

    def known_before(self, strings: Sequence[str], devices: Sequence[str]) -> list[Json]:
        """Of the blocks that were there before and of which more is known: address, bytes, category, module, device."""
        known = [block for block in self.earlier if block.category != EARLIER]
        return [
            [block.address, block.bytes, block.category, strings[block.module], devices[block.device]]
            for block in known
        ]

    def _rank_of_new(self, events: Stretch, time: Int64s) -> Int64s:
        rank = np.full(len(events), _KEPT)
        for thread in np.unique(self._loading.thread).tolist():
            loading = self._loading.at(self._loading.thread == thread)
            loads = Cover.union(loading["t0"], loading["t2"] - loading["t0"])
            rank[(events.thread == thread) & loads.holds(time)] = _INPUT
        return rank

    def _pair(self, events: Stretch, address: Int64s, rank: Int64s, what: Int64s) -> None:
        """Events by address and time: from one allocation to its free or the next they are of one block."""
        known = address > 0
        if not known.all():
            events, address, rank, what = events.at(known), address[known], rank[known], what[known]
        if not len(address):
            return
        is_new = what <= _OUTPUTS
        starts = is_new.copy()
        starts[0] = True
        starts[1:] |= (address[1:] != address[:-1]) | (what[:-1] == _FREES)
        first = np.flatnonzero(starts)
        lowest = np.minimum.reduceat(rank, first)
        free = np.maximum.reduceat(np.where(what == _FREES, events.number, -1), first)
        whole = is_new[first] & (free >= 0) & ~self._follows_open(address[first], free)
        for numbers in (events.number[first[whole]], free[whole]):
            self._category[numbers - self._first] = _CODES[lowest[whole]]
        scope = np.maximum.reduceat(np.where(what == _USES, events["scope"], 0), first)
        on_graph = (what == _OUTPUTS) & (events["sequence"] > 0)
        left = np.flatnonzero(~whole)
        at = first[left]
        number = np.where(is_new[at], events.number[at], -1)
        counted = events["t1" if self._on_devices else "bytes"][at]
        size = np.where(what[at] == _SUMS, 0, counted)  # a sum has an address there
        flags = events["flags"][at].astype(np.int64)
        device = np.where(what[at] == _USES, flags >> 8, flags & DEVICE_MASK) if self._on_devices else 0 * flags
        columns = (address[at], free[left], number, lowest[left], on_graph[at], size, scope[left], device)
        for place, freed_by, *block in zip(*(column.tolist() for column in columns), strict=True):
            self._carry(place, _Open(*block), freed_by)

    def _follows_open(self, address: Int64s, free: Int64s) -> NDArray[np.bool_]:
        """Whether a block comes to where another is that was not freed: its free was not recorded."""
        found = np.isin(address, np.fromiter(self._open, dtype=np.int64, count=len(self._open)))
        found[1:] |= (address[1:] == address[:-1]) & (free[:-1] < 0)
        return found

    def _carry(self, address: int, block: _Open, free: int) -> None:
        """A block that this stretch does not see from its allocation to its free."""
        before = self._open.pop(address, None)
        if block.number >= 0:
            if before is not None:  # its free was not recorded
                self._close(address, before)
        elif before is not None:
            block = _Open(
                before.number, min(before.rank, block.rank), before.on_graph, before.bytes or block.bytes,
                before.module or block.module, before.device or block.device,
            )  # fmt: skip
        if free >= 0:
            self._category[free - self._first] = self._close(address, block)
        else:
            self._open[address] = block

    def _close(self, address: int, block: _Open) -> int:
        """Its category is known; a place in CATEGORIES."""
        rank = _SAVED if block.rank == _KEPT and block.on_graph else block.rank
        code = int(_CODES[rank]) if block.number >= 0 or rank < _FREED else CATEGORIES.index(EARLIER)
        if block.number >= 0:
            self._category[block.number - self._first] = code
        elif block.bytes:
            self.earlier.append(Earlier(address, block.bytes, CATEGORIES[code], block.module, block.device))
        return code


def uses_of(
    portions: Iterable[tuple[Stretch, Stretch, float]],
    numbers: range,
    strings: Sequence[str],
    ns: Callable[[Int64s], Int64s],
    on_devices: bool = False,
) -> MemoryUses:
    """What the memory was for, of the CPU or of devices, of which events of these numbers tell."""
    uses = MemoryUses(numbers, np.array([bool(DATA.match(text)) for text in strings], dtype=bool), ns, on_devices)
    for stretch, middle, until in portions:
        uses.add(stretch, middle, until)
    uses.finish()
    return uses
