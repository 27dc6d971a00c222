"""What made the nodes of a backward pass: the op of the forward pass, its module, annotation and line."""

import numpy as np

from .analysis.blocks import STACK as CALL_STACK
from .builder import TraceBuilder
from .call_stacks import CallStacks
from .events import ANNOTATION, OP, STACK
from .nesting import nest
from .stretches import NOTHING, Stretch
from .trace import Int64s, Json

_COLUMNS = ("sequence", "t0", "name", "scope", "annotation", "stack")


class CauseArgs:
    """Takes the events in the order of time, and tells the slices of nodes what made them, those of ops their stacks.

    `ran`: the sequence numbers of the nodes that run. Names are by id.
    """

    def __init__(
        self,
        ran: Int64s,
        builder: TraceBuilder,
        ops: list[str],
        strings: list[Json],
        stacks: CallStacks,
    ) -> None:
        self._ran, self._left = np.unique(ran, return_counts=True)
        self._builder, self._stacks = builder, stacks
        self._ops: list[Json] = list(ops)
        self._strings = strings
        self._made = np.empty((len(_COLUMNS), 0), dtype=np.int64)  # by sequence
        self._open = NOTHING  # annotations

    def add(self, stretch: Stretch) -> None:
        """What begins in a stretch."""
        kind = stretch["kind"]
        annotations = Stretch.joined((self._open, stretch.at(kind == ANNOTATION)))
        ops, stacks = stretch.at((kind == OP) & (stretch["sequence"] > 0)), stretch.at(kind == STACK)
        ops = ops.at(self._place(ops["sequence"].astype(np.int64)) >= 0)
        made = np.stack(
            [
                *(ops[column].astype(np.int64) for column in ("sequence", "t0", "name", "scope")),
                _around(ops, annotations),
                stack_of(ops, stacks),
            ]
        )
        self._made = np.concatenate((self._made, made), axis=1)
        self._made = self._made[:, np.argsort(self._made[0], kind="stable")]
        if len(stretch):
            self._open = annotations.at(annotations["t2"] > stretch["t0"].max())

    def tell(self, nodes: Stretch, handles: Int64s) -> None:
        """Add to the slices of nodes which op made them, in which module, inside which annotation, on which line."""
        sequence = nodes["sequence"].astype(np.int64)
        place = np.searchsorted(self._made[0], sequence)
        known = np.append(self._made[0], -1)[place] == sequence
        known[known] &= self._made[1, place[known]] <= nodes["t0"][known]  # what comes later made none of them
        of_ran = self._place(sequence)
        np.subtract.at(self._left, of_ran[of_ran >= 0], 1)
        over = place[known & (np.append(self._left, -1)[of_ran] == 0)]
        handles, place = handles[known], place[known]
        _, _, op, scope, annotation, stack = self._made[:, place]
        self._made = np.delete(self._made, over, axis=1)
        if not len(handles):
            return
        self._builder.slice_args("Forward op", handles, op, table=self._ops)
        for key, column, table in (
            ("Module Hierarchy", scope, self._strings),
            ("Annotation", annotation, self._strings),
            ("Source", stack, self._stacks.sources),
        ):
            shown = column > 0
            if shown.any():
                self._builder.slice_args(key, handles[shown], column[shown], table=table)

    def tell_ops(self, ops: Stretch, handles: Int64s, stretch: Stretch) -> None:
        """Add to the slices of ops where in the program they were called, where that was recorded."""
        stacks = stretch.at(stretch["kind"] == STACK)
        if len(stacks):
            stack = stack_of(ops, stacks)
            self._builder.slice_args(CALL_STACK, handles[stack > 0], stack[stack > 0], table=self._stacks.texts)

    def _place(self, sequence: Int64s) -> Int64s:
        """Where numbers stand among those that run, -1 where they do not."""
        place = np.searchsorted(self._ran, sequence)
        return np.where(np.append(self._ran, -1)[place] == sequence, place, -1)


def stack_of(events: Stretch, stacks: Stretch) -> Int64s:
    """The numbers of the stacks that follow events; 0 where none does."""
    order = np.argsort(stacks.number)
    number = np.append(stacks.number[order], -1)
    place = np.searchsorted(number[:-1], events.number + 1)
    follows = number[place] == events.number + 1
    return np.where(follows, np.append(stacks["name"][order].astype(np.int64), 0)[place], 0)


def _around(ops: Stretch, annotations: Stretch) -> Int64s:
    """The string id of the innermost annotation of the same thread around each op, 0 where there is none."""
    found = np.zeros(len(ops), dtype=np.int64)
    for thread in np.unique(annotations.thread).tolist():
        rows = np.flatnonzero(ops.thread == thread)
        of_thread = annotations.at(annotations.thread == thread)
        begin, end = of_thread["t0"], of_thread["t2"]
        order = np.lexsort((-(end - begin), begin))
        begin, end, name = begin[order], end[order], of_thread["name"][order].astype(np.int64)
        _, parent = nest(begin, end - begin, np.zeros(len(order), dtype=np.int32))
        time = ops["t0"][rows]
        place = np.searchsorted(begin, time, side="right") - 1
        while np.any(outside := (place >= 0) & (end[place] < time)):
            place[outside] = parent[place[outside]]
        found[rows] = np.where(place >= 0, name[place], 0)
    return found
