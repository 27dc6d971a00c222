"""Paths: from the outermost slice of a kind down to each slice, as numbers that equal paths share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s, Trace


@dataclass(frozen=True, slots=True)
class Paths:
    """The tree of all paths. `of_slice`: the one that ends at each slice or at its nearest kept ancestor, -1 none."""

    of_slice: Int64s
    parent: Int64s  # by path: the one above, -1 at the top
    key: Int64s  # by path: what its last part is

    def chain(self, path: int) -> list[int]:
        """The keys of a path, from the top."""
        keys = []
        while path >= 0:
            keys.append(int(self.key[path]))
            path = int(self.parent[path])
        return keys[::-1]


def paths(trace: Trace, kept: NDArray[np.bool_], key: NDArray[np.integer]) -> Paths:
    """The paths through the `kept` slices; two are one where their `key`s are equal from top to bottom.

    Level by level, so that the work in Python grows with the depth alone.
    """
    slices = trace.slices
    of_slice = np.full(len(slices) + 1, -1, dtype=np.int64)  # the last one stands for "no parent"
    parents, keys = [], []
    count = 0
    by_depth = np.argsort(slices.depth, kind="stable")
    bounds = np.flatnonzero(np.diff(slices.depth[by_depth], prepend=-1, append=-1))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = by_depth[begin:end]
        above = of_slice[slices.parent[rows]]
        own = kept[rows]
        of_slice[rows[~own]] = above[~own]
        if not own.any():
            continue
        pairs, which = unique_pairs(above[own], key[rows[own]].astype(np.int64))
        of_slice[rows[own]] = count + which
        parents.append(pairs[0])
        keys.append(pairs[1])
        count += len(pairs[0])
    nothing = np.empty(0, dtype=np.int64)
    return _merged(of_slice[:-1], np.concatenate([nothing, *parents]), np.concatenate([nothing, *keys]))


def _merged(of_slice: Int64s, parent: Int64s, key: Int64s) -> Paths:
    """One number for each path: those met at several depths of slices, since what lies between is not kept, are one."""
    level = np.zeros(len(parent), dtype=np.int64)
    above = parent
    while np.any(below := above >= 0):
        level[below] += 1
        above = np.where(below, parent[above], -1)
    number = np.full(len(parent) + 1, -1, dtype=np.int64)
    parents, keys = [], []
    count = 0
    for depth in range(int(level.max(initial=-1)) + 1):
        chosen = np.flatnonzero(level == depth)
        pairs, which = unique_pairs(number[parent[chosen]], key[chosen])
        number[chosen] = count + which
        parents.append(pairs[0])
        keys.append(pairs[1])
        count += len(pairs[0])
    nothing = np.empty(0, dtype=np.int64)
    return Paths(number[of_slice], np.concatenate([nothing, *parents]), np.concatenate([nothing, *keys]))


def unique_pairs(first: Int64s, second: Int64s) -> tuple[tuple[Int64s, Int64s], Int64s]:
    """The different pairs of two columns of numbers >= -1, and for each row which of them it is."""
    width = int(second.max(initial=0)) + 2
    codes, which = np.unique((first + 1) * width + second + 1, return_inverse=True)
    high, low = np.divmod(codes, width)
    return (high - 1, low - 1), which
