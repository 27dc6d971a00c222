"""Addresses: which stretches of them an allocator used, and what lay in them when most was in use."""

import numpy as np

from ..memory_snapshot import Block, Segment, State
from ..trace import Int64s, Trace
from .blocks import Blocks

_GAP = 64 << 10  # bytes: what is nearer to each other is of one stretch
_SMALL = 1 << 20  # bytes: the largest block of an allocator's pool of small ones


def segments_at_peak(trace: Trace, known: Blocks) -> list[Segment]:
    """The stretches of addresses in which blocks were at any time, each with what was in it at the peak, by address.

    A trace tells where blocks are and not where an allocator's segments begin, so segments side by side are one, and
    what no block was in is in none. Empty where the trace has no addresses.
    """
    address = _addresses(trace, known)
    if address is None or not len(known.time):
        return []
    told = np.flatnonzero(address > 0)
    told = told[np.argsort(address[told], kind="stable")]
    if not len(told):
        return []
    begin, size = address[told], known.bytes[told]
    reach = np.maximum.accumulate(begin + size)
    first = np.flatnonzero(np.concatenate(([True], begin[1:] > reach[:-1] + _GAP)))
    last = np.append(first[1:], len(told)) - 1
    peak = int(np.argmax(known.total))
    there = (known.born[told] <= peak) & (known.died[told] > peak)
    return [
        _segment(trace, known, told[low : high + 1][there[low : high + 1]], address, int(begin[low]), int(reach[high]))
        for low, high in zip(first.tolist(), last.tolist(), strict=True)
    ]


def _addresses(trace: Trace, known: Blocks) -> Int64s | None:
    """Where each block is, as the change says by which it came or, where that was earlier, went; 0 where none does."""
    if "Addr" not in trace.instant_args:
        return None
    of_change = trace.instant_args["Addr"].dense(len(trace.instants))[known.instant]
    change = np.where(known.born >= 0, known.born, known.died)
    is_told = change < len(of_change)
    found: Int64s = np.where(is_told, of_change[np.where(is_told, change, 0)], 0)
    return found


def _segment(trace: Trace, known: Blocks, rows: Int64s, address: Int64s, begin: int, end: int) -> Segment:
    blocks: list[Block] = []
    at = begin
    for row in rows.tolist():
        start, size, op = int(address[row]), int(known.bytes[row]), int(known.op[row])
        if start < at:  # the free of what was there before was not recorded
            continue
        if start > at:
            blocks.append(_block(at, start - at, "free", ""))
        blocks.append(_block(start, size, "allocated", trace.strings[trace.slices.name[op]] if op >= 0 else ""))
        at = start + size
    if at < end:
        blocks.append(_block(at, end - at, "free", ""))
    is_small = all(block.bytes <= _SMALL for block in blocks if block.state != "free")
    return Segment(0, begin, end - begin, 0, "small" if is_small else "large", False, blocks)


def _block(address: int, size: int, state: State, op: str) -> Block:
    return Block(address, size, size if state != "free" else 0, state, op)
