"""The ops of two traces as one tree: what is called by the same path on both sides is one node of it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeAlias

NODES = 1000

Path: TypeAlias = tuple[str, ...]
Sums: TypeAlias = tuple[float, float, float, float, float]  # calls, ns, bytes, ns of waiting for the GIL, kernels
ABSENT: Sums = (0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class OpNode:
    """An op in the ops around it, in one step of both traces.

    `parent` is the place of the node around it, -1 at the top, where `level` is 1. Self time is what the op owns of
    the step (accounts.py); total time and bytes are those of the op and of all in it.
    """

    name: str
    level: int
    parent: int
    base_count: float
    head_count: float
    base_self_ns: float
    head_self_ns: float
    base_total_ns: float
    head_total_ns: float
    base_bytes: float
    head_bytes: float

    @property
    def self_ns(self) -> float:
        return self.head_self_ns - self.base_self_ns

    @property
    def total_ns(self) -> float:
        return self.head_total_ns - self.base_total_ns

    @property
    def bytes(self) -> float:
        return self.head_bytes - self.base_bytes


@dataclass(frozen=True, slots=True)
class OpTree:
    """The nodes from the top down, each with all that is in it behind it; of those beside each other the larger first.

    The largest NODES are there; `left_out` counts the others, whose time is in that of the nodes around them.
    """

    nodes: tuple[OpNode, ...] = ()
    left_out: int = 0


def op_tree(base: Mapping[Path, Sums], head: Mapping[Path, Sums]) -> OpTree:
    """The tree of what the paths of ops took on both sides, in a step."""
    totals = _totals(base, head)
    inner: defaultdict[Path, list[Path]] = defaultdict(list)
    for path in sorted(totals, key=lambda path: (-_size(totals[path]), path)):
        inner[path[:-1]].append(path)
    shown = _largest(inner, totals)
    nodes: list[OpNode] = []
    waiting = [(path, -1) for path in reversed(inner[()])]
    while waiting:
        path, parent = waiting.pop()
        if path not in shown:
            continue
        waiting += [(each, len(nodes)) for each in reversed(inner[path])]
        one, other = base.get(path, ABSENT), head.get(path, ABSENT)
        nodes.append(OpNode(path[-1], len(path), parent, one[0], other[0], one[1], other[1], *totals[path]))
    return OpTree(tuple(nodes), len(totals) - len(nodes))


def _totals(base: Mapping[Path, Sums], head: Mapping[Path, Sums]) -> dict[Path, list[float]]:
    """Of each path with all in it, the ns of both sides, then the bytes of both."""
    found: dict[Path, list[float]] = {}
    for at, side in enumerate((base, head)):
        for path, (_, ns, size, _, _) in side.items():
            around = path
            while around and around not in found:
                found[around] = [0.0] * 4
                around = around[:-1]
            found[path][at] += ns
            found[path][2 + at] += size
    for path in sorted(found, key=len, reverse=True):
        if len(path) > 1:
            around_it = found[path[:-1]]
            for at, value in enumerate(found[path]):
                around_it[at] += value
    return found


def _size(total: Sequence[float]) -> float:
    return max(total[:2])


def _largest(inner: Mapping[Path, Sequence[Path]], totals: Mapping[Path, Sequence[float]]) -> set[Path]:
    """The NODES paths that took most on either side; none without those around it."""
    shown: set[Path] = set()
    waiting: list[tuple[float, Path]] = []
    added = inner[()]
    while len(shown) < NODES:
        for path in added:
            heappush(waiting, (-_size(totals[path]), path))
        if not waiting:
            break
        _, path = heappop(waiting)
        shown.add(path)
        added = inner.get(path, ())
    return shown
