"""Memory of the devices: what is allocated and reserved, how it lies, and what may be used.

Names and meanings are PyTorch's in `torch.cuda.memory`. *Allocated* is what tensors hold, *reserved* what the allocator
has of the device: the difference is cached for the tensors to come. Every function takes a `device`, "cpu" where none
is given. On the CPU allocated bytes are counted as tensors ask for them, and blocks up to 1 MiB come from slabs that
are never given back.
"""

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import _core
from .alloc_conf import OPTIONS, AllocatorOptions, parse_alloc_conf
from .device import as_device
from .errors import ArgumentError

__all__ = [
    "AllocatorOptions",
    "MemPool",
    "allocator_options",
    "empty_cache",
    "live_stats",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "parse_alloc_conf",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]

_STATES = ("inactive", "active_allocated", "active_pending_free")
_UNMAPPED = 3


def _number(device: Any) -> int:
    return as_device(device).number


def allocator_options() -> AllocatorOptions:
    """The options that the environment variable PERFLAB_ALLOC_CONF set when the runtime was imported."""
    return OPTIONS


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors hold now."""
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors held at once, since the beginning or the last `reset_peak_memory_stats`."""
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator has of the device now."""
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that it had at once, since the beginning or the last `reset_peak_memory_stats`."""
    return memory_stats(device)["reserved_bytes.all.peak"]


def live_stats() -> dict[str, int]:
    """What lives on the CPU: `allocated_bytes`, `reserved_bytes`, `live_tensors`, and `live_nodes` of autograd's graph.

    A loop after which these have grown keeps what it made.
    """
    return _core.live_stats()


def memory_stats(device: Any = None) -> dict[str, int]:
    """What the allocator counts, under PyTorch's keys: "allocated_bytes.all.peak", "num_device_alloc", and so on.

    A key is what is counted, of which pool (`all`, `small_pool`, `large_pool`), and `current`, `peak`, or the sums
    `allocated` and `freed`. Counted are numbers of blocks and segments, and bytes: `active` are blocks in use and those
    that other streams have not left yet, `inactive_split` free parts of segments that are in use besides, and
    `requested` what was asked for before it was rounded. Of a device, peaks other than that of `allocated_bytes.all`
    count the blocks that threads keep for their next tensors as well: small ones, at most 2 MiB each, and a large one.
    """
    return _core.allocator_stats(_number(device))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks begin anew, at what is so now."""
    _core.allocator_reset_peaks(_number(device))


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Let the sums `allocated` and `freed` and the numbers of calls begin anew, at 0."""
    _core.allocator_reset_accumulated(_number(device))


def empty_cache(device: Any = None) -> None:
    """Give cached segments that no tensor uses back to the device. Waits for streams that still use freed blocks."""
    _core.empty_cache(_number(device))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes that are free on the device, for any process, and all that it has."""
    return _core.allocator_info(_number(device))


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let the allocator reserve at most this share of the device's memory; more is refused with OutOfMemoryError.

    Raises ArgumentError for a fraction outside 0 to 1.
    """
    if not 0 <= fraction <= 1:
        raise ArgumentError(f"set_per_process_memory_fraction: the fraction must be from 0 to 1, not {fraction}")
    number = _number(device)
    _core.allocator_limit(number, int(fraction * _core.allocator_info(number)[1]) if fraction < 1 else 2**64 - 1)


def memory_snapshot(device: Any = None) -> list[dict[str, Any]]:
    """The segments as they lie, by address, each with its blocks: PyTorch's keys, and `op` and `module` of each block.

    `op` is the op that allocated the block, "" where none did, and `module` the path of the module that called it, ""
    where no profile recorded then. `frames` begin with the op, and go on with Python's, the innermost first, where a
    profile with `record_stacks=True` recorded. A segment that grows appears as its stretches that have memory behind
    them.
    """
    segments = _core.allocator_snapshot(_number(device))
    stacks = _core.stacks() if any(block[-1] for *_, blocks in segments for block in blocks) else []
    return [segment for raw in segments for segment in _stretches(device, raw, stacks)]


def _snapshot(device: Any = None) -> dict[str, Any]:
    """`memory_snapshot` as PyTorch's function of this name gives it, with no history of what came and went."""
    return {"segments": memory_snapshot(device), "device_traces": [[] for _ in range(_number(device) + 1)]}


def _dump_snapshot(filename: str = "dump_snapshot.pickle", device: Any = None) -> None:
    """Write `_snapshot` as a pickle, for https://pytorch.org/memory_viz, `perflab memory snapshot` and `replay`."""
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(device), file)


def _frames(op: str, stack: Sequence[tuple[str, int, str, int]]) -> list[dict[str, Any]]:
    frames = [{"name": op, "filename": "??", "line": 0}] if op else []
    return frames + [{"name": name, "filename": file, "line": line} for file, line, name, _ in stack]


def _stretches(device: Any, raw: tuple[Any, ...], stacks: list[Any]) -> Iterator[dict[str, Any]]:
    *_, stream, pool, small, expandable, blocks = raw
    stretch: list[dict[str, Any]] = []
    for address, size, asked, state, module, op, stack in [*blocks, (0, 0, 0, _UNMAPPED, "", "", 0)]:
        if state != _UNMAPPED:
            stretch.append(
                {
                    "address": address,
                    "size": size,
                    "requested_size": asked,
                    "state": _STATES[state],
                    "op": op,
                    "module": module,
                    "frames": _frames(op, stacks[stack - 1] if stack else ()),
                }
            )
        elif stretch:
            yield {
                "device": _number(device),
                "address": stretch[0]["address"],
                "total_size": sum(block["size"] for block in stretch),
                "allocated_size": sum(b["size"] for b in stretch if b["state"] == "active_allocated"),
                "active_size": sum(b["size"] for b in stretch if b["state"] != "inactive"),
                "requested_size": sum(b["requested_size"] for b in stretch),
                "stream": stream,
                "segment_type": "small" if small else "large",
                "segment_pool_id": (0, pool),
                "is_expandable": expandable,
                "frames": [],
                "blocks": stretch,
            }
            stretch = []


def memory_summary(device: Any = None) -> str:
    """A table of `memory_stats` for people."""
    stats = memory_stats(device)
    title = f"Memory of {as_device(device)}: out of memory {stats['num_ooms']}, retries {stats['num_alloc_retries']}"
    rows: list[tuple[str, ...]] = [("", "now", "peak", "allocated", "freed")]
    for key, name in _SUMMARY.items():
        for pool in ("all", "large_pool", "small_pool"):
            label = name if pool == "all" else "  " + pool.replace("_", " ")
            values = [stats[f"{key}.{pool}.{part}"] for part in ("current", "peak", "allocated", "freed")]
            rows.append((label, *(_bytes(v) if "bytes" in key else str(v) for v in values)))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = ["  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, 5))]) for row in rows]
    return "\n".join([title, *lines])


_SUMMARY = {
    "allocated_bytes": "Allocated memory",
    "requested_bytes": "Requested memory",
    "active_bytes": "Active memory",
    "reserved_bytes": "Reserved memory",
    "inactive_split_bytes": "Not releasable memory",
    "allocation": "Allocations",
    "segment": "Segments",
}


def _bytes(n: int) -> str:
    value, units = float(n), iter(("bytes", "KiB", "MiB", "GiB"))
    unit = next(units)
    while abs(value) >= 1024 and unit != "GiB":
        value, unit = value / 1024, next(units)
    return f"{n} bytes" if unit == "bytes" else f"{value:.2f} {unit}"


class MemPool:
    """Segments apart from all others, for the blocks that are allocated within `use_mem_pool(pool)`.

    What it has cached stays with it until it is deleted; segments with blocks in use go when the last of these is
    freed. On the CPU, blocks up to 1 MiB do not take part.
    """

    def __init__(self, device: Any = None) -> None:
        self.device = as_device(device)
        self._id = _core.make_pool(self.device.number)

    @property
    def id(self) -> tuple[int, int]:
        """As `segment_pool_id` in `memory_snapshot`."""
        return 0, self._id

    def snapshot(self) -> list[dict[str, Any]]:
        """`memory_snapshot` of this pool alone."""
        return [segment for segment in memory_snapshot(self.device) if segment["segment_pool_id"] == self.id]

    def __del__(self) -> None:
        if hasattr(self, "_id"):
            _core.end_pool(self.device.number, self._id)


@contextmanager
def use_mem_pool(pool: MemPool) -> Iterator[None]:
    """Within the block, what this thread allocates on the pool's device comes from the pool."""
    number = pool.device.number
    before = _core.use_pool(number, pool._id)
    try:
        yield
    finally:
        _core.use_pool(number, before)
