"""The autograd graph in a recording: which slice of a backward pass each edge of a node leads to."""

from dataclasses import dataclass, field

import numpy as np

from .events import EDGE, LEAF, NODE, TO_LEAF
from .stretches import Stretch
from .trace import Int64s


@dataclass(slots=True)
class EdgeEnds:
    """Gathers edges, and the runs of nodes and leaves that they lead to, by their numbers in the recording."""

    _edges: list[Int64s] = field(default_factory=list)  # rows: what it leads to, thread, number
    _runs: list[Int64s] = field(default_factory=list)

    def add(self, stretch: Stretch) -> None:
        """Take the edges, nodes and leaves among the events of one thread."""
        kind = stretch["kind"]
        edges, nodes, leaves = (stretch.at(kind == number) for number in (EDGE, NODE, LEAF))
        to_leaf = edges["flags"] & TO_LEAF > 0
        address = edges["address"].astype(np.int64)
        self._edges.append(np.array([np.where(to_leaf, -address, address), edges.thread, edges.number]))
        for runs, key in ((nodes, nodes["sequence"].astype(np.int64)), (leaves, -leaves["address"].astype(np.int64))):
            self._runs.append(np.array([key, runs.thread, runs.number]))

    def joined(self) -> tuple[Int64s, Int64s]:
        """The numbers of the runs that edges lead to, ascending, and those edges: a pass comes behind the edge to the
        node, on the same thread; what it did not run has none."""
        edges, runs = (np.concatenate(parts, axis=1) for parts in (self._edges or [_NONE], self._runs or [_NONE]))
        key, thread, number = np.concatenate((edges, runs), axis=1)
        is_run = np.arange(len(key)) >= edges.shape[1]
        order = np.lexsort((number, thread, key))
        places = np.where(is_run[order], np.arange(len(key)), len(key))
        behind = np.minimum.accumulate(places[::-1])[::-1]  # the place of the next run in that order
        at = np.flatnonzero(~is_run[order] & (behind < len(key)))
        source, target = order[at], order[behind[at]]
        same = (key[source] == key[target]) & (thread[source] == thread[target])
        source, target = number[source[same]], number[target[same]]
        by_target = np.argsort(target, kind="stable")
        return target[by_target], source[by_target]


_NONE = np.empty((3, 0), dtype=np.int64)
