"""Blocks of memory: who allocated them, when they went, and what they were for."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..trace import Int64s, Trace
from .enclosing import innermost, nearest
from .groups import modules
from .intervals import Cover
from .ops import MEMORY, op_slices
from .parts import bounds, part_covers, step_thread

CATEGORY = "Category"  # argument of a `[memory]` instant: one of CATEGORIES
CATEGORIES = ("parameter", "gradient", "optimizer_state", "activation", "input", "temporary", "other", "before")
EARLIER = "before"  # the category of what was allocated before the trace began, where no more is known
EARLIER_BLOCKS = "memoryBefore"  # in the metadata: address, bytes, category, module, device of what was there before
# PyTorch's numbers of device types, and that of backends which it does not know
DEVICE_TYPES = {"cpu": 0, "cuda": 1, "hip": 6, "xpu": 12, "sim": 20}
OTHER_DEVICE = 20
_DEVICES = 1024  # of one type at most
_CODE = {name: code for code, name in enumerate(CATEGORIES)}
NEVER = np.iinfo(np.int64).max
STACK = "Call stack"  # argument of an op, and of an instant of an allocation outside of ops
BEFORE = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Blocks:
    """One row for each block that was allocated or freed on the device that held most, in the order of allocation.

    `born` and `died` count the changes of memory on that device: the block is there from change `born` on and no longer
    from change `died` on (-1: before the trace; NEVER: not freed in it). `op` is the slice of the op that allocated it
    (-1: none), `module` its module's place in `modules` (-1: none), `category` its place in CATEGORIES.
    """

    bytes: Int64s
    born: Int64s
    died: Int64s
    op: Int64s
    module: Int64s
    category: Int64s
    time: Int64s  # by change, ns
    total: Int64s  # by change: bytes in use after it
    modules: list[str]
    instant: Int64s  # by change: its row

    def __len__(self) -> int:
        return len(self.bytes)

    def moment(self, change: Int64s) -> Int64s:
        """The time of changes; those before the trace and never are before and after all."""
        times = np.concatenate(([BEFORE], self.time, [NEVER]))
        found: Int64s = times[np.clip(change, -1, len(self.time)) + 1]
        return found

    def stacks(self, trace: Trace) -> Callable[[int, int], str]:
        """Gives Python's stack for an op's slice and a change, where one of them has it; else the empty string."""
        of_op, of_change = trace.slice_args.get(STACK), trace.instant_args.get(STACK)

        def stack(op: int, change: int) -> str:
            found = of_op.at(op) if of_op is not None and op >= 0 else None
            if found is None and of_change is not None and change >= 0:
                found = of_change.at(int(self.instant[change]))
            return str(found or "")

        return stack


def blocks(trace: Trace) -> Blocks:
    """The blocks of a trace; none where it knows no memory.

    A category that the trace does not tell is inferred. Born in the forward pass: an activation where it lives into the
    backward pass of its step, temporary where it goes before the step ends. Born in the backward pass: a gradient where
    it outlives the pass. Born in the optimizer's step: optimizer_state where it outlives the step of the loop. Born
    while waiting for data: an input.
    """
    device, rows = _changes(trace)
    args, count = trace.instant_args, len(trace.instants)
    size, address = (args[key].dense(count)[rows] if key in args else np.zeros_like(rows) for key in ("Bytes", "Addr"))
    total = args["Total Allocated"].dense(count)[rows] if "Total Allocated" in args else np.cumsum(size)
    # allocations and frees of one address take turns
    order = np.lexsort((np.arange(len(rows)), address))
    same = np.concatenate((address[order][1:] == address[order][:-1], [False]))[: len(rows)]
    taken = size[order] > 0
    ends = np.concatenate((~taken[1:], [False]))[: len(rows)] & same
    died = np.full(len(rows), NEVER, dtype=np.int64)
    died[order[taken & ends]] = order[np.flatnonzero(taken & ends) + 1]
    stray = np.ones(len(rows), dtype=bool)  # frees of what was there before
    stray[died[died < NEVER]] = False
    stray &= size < 0
    born = np.flatnonzero(size > 0)
    of_slice, names = modules(trace)
    known = _known_before(trace, device, np.flatnonzero(stray), address, names)
    rest = np.flatnonzero(stray)
    rest = rest[~np.isin(rest, known.died)]
    time = trace.instants.time[rows]
    around = innermost(trace, trace.instants.track[rows[born]], time[born])
    op = np.concatenate((nearest(trace, around, op_slices(trace)), np.full(len(known.bytes) + len(rest), -1)))
    module = np.where(op >= 0, of_slice[np.maximum(op, 0)], -1) if len(of_slice) else op.copy()
    module[len(born) : len(born) + len(known.bytes)] = known.module
    found = Blocks(
        bytes=np.concatenate((size[born], known.bytes, -size[rest])),
        born=np.concatenate((born, np.full(len(op) - len(born), -1))),
        died=np.concatenate((died[born], known.died, rest)),
        op=op,
        module=module,
        category=np.full(len(op), -1, dtype=np.int64),
        time=time,
        total=total,
        modules=names,
        instant=rows,
    )
    found.category[len(born) :] = _CODE[EARLIER]
    found.category[len(born) : len(born) + len(known.bytes)] = known.category
    _tell(trace, rows[born], found.category)
    unknown = found.category < 0
    if unknown.any():
        found.category[unknown] = _categories(trace, found)[unknown]
    return found


@dataclass(frozen=True, slots=True)
class _Before:
    """Blocks that were there before the trace, of which it tells more than that."""

    bytes: Int64s
    died: Int64s
    module: Int64s
    category: Int64s


def _known_before(trace: Trace, device: int, strays: Int64s, address: Int64s, modules: list[str]) -> _Before:
    """Those of a device. They go with the first free of their address that no allocation came before.

    Adds to `modules`.
    """
    told = trace.metadata.get(EARLIER_BLOCKS)
    table = told if isinstance(told, list) else []
    first = dict(zip(address[strays[::-1]].tolist(), strays[::-1].tolist(), strict=True))
    numbers = {name: number for number, name in enumerate(modules)}
    columns: list[tuple[int, int, int, int]] = []
    for place, size, category, module, name in table:
        if _device(name) != device:
            continue
        if module and module not in numbers:
            numbers[module] = len(modules)
            modules.append(module)
        of_module = numbers[module] if module else -1
        columns.append((size, first.get(place, NEVER), of_module, _CODE.get(category, _CODE["other"])))
    return _Before(*np.array(columns, dtype=np.int64).reshape(-1, 4).T)


def _tell(trace: Trace, born: Int64s, category: Int64s) -> None:
    """Put in what the instants of the allocations say themselves."""
    told = trace.instant_args.get(CATEGORY)
    if told is None or told.table is None:
        return
    codes = np.array([_CODE.get(str(value), -1) for value in told.table], dtype=np.int64)
    by_instant = np.full(len(trace.instants), -1, dtype=np.int64)
    by_instant[told.rows] = codes[told.values]
    category[: len(born)] = by_instant[born]


def changes(trace: Trace) -> Int64s:
    """The `[memory]` instants of the device whose total is the highest; all where no device is told."""
    return _changes(trace)[1]


def _device(name: str) -> int:
    """The number that stands for a device here, 0 for the CPU."""
    kind, _, index = name.partition(":")
    return _DEVICES * DEVICE_TYPES.get(kind, OTHER_DEVICE) + int(index or 0)


def _changes(trace: Trace) -> tuple[int, Int64s]:
    """The device that `changes` chooses, and these."""
    instants, args = trace.instants, trace.instant_args
    rows = np.flatnonzero(instants.name == trace.string_id(MEMORY))
    if not len(rows) or "Total Allocated" not in args:
        return 0, rows
    device = np.zeros(len(instants), dtype=np.int64)
    for key in ("Device Type", "Device Id"):
        if key in args:
            device = device * _DEVICES + args[key].dense(len(instants))
    highest = rows[np.argmax(args["Total Allocated"].dense(len(instants))[rows])]
    return int(device[highest]), rows[device[rows] == device[highest]]


def _categories(trace: Trace, found: Blocks) -> Int64s:
    covers = part_covers(trace, step_thread(trace))
    loop = bounds(trace)
    start = np.array([step.start for step in loop], dtype=np.int64)
    end = start + np.array([step.duration for step in loop], dtype=np.int64)
    birth, death = found.moment(found.born), found.moment(found.died)
    place = np.searchsorted(start, birth, side="right") - 1
    inside = (place >= 0) & (birth < end[np.maximum(place, 0)]) if len(loop) else np.zeros(len(birth), dtype=bool)
    step_end = np.where(inside, end[np.maximum(place, 0)], birth) if len(loop) else birth
    last_backward = _last_before(covers["backward"], step_end)
    was_used = covers["backward"].within(birth, np.maximum(np.minimum(death, step_end), birth)) > 0
    temporary = _CODE["temporary"]
    stays = np.where(death > step_end, _CODE["other"], temporary)
    choices = {
        "forward": np.where(was_used, _CODE["activation"], stays),
        "backward": np.where(death >= last_backward, _CODE["gradient"], temporary),
        "optimizer": np.where(death > step_end, _CODE["optimizer_state"], temporary),
        "data_wait": np.full(len(birth), _CODE["input"]),
    }
    category = np.full(len(birth), _CODE["other"], dtype=np.int64)
    for part, choice in choices.items():
        category = np.where(covers[part].holds(birth), choice, category)
    return np.where(found.born < 0, _CODE["before"], category)


def _last_before(cover: Cover, time: Int64s) -> Int64s:
    """The last end of the cover up to each time; the time itself where there is none."""
    if not len(cover):
        return time
    place = np.searchsorted(cover.end, time, side="right") - 1
    return np.where(place >= 0, cover.end[np.maximum(place, 0)], time)
