"""Trees of time, as flame graphs draw them: of ops, of Python's stacks, of modules."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from ..nesting import crossing, nest
from ..trace import Int64s, Slices, Trace
from .enclosing import nearest
from .functions import SAMPLED
from .groups import modules
from .intervals import Cover
from .ops import KERNELS, OPS, of_category, op_slices, ops
from .paths import paths
from .steps import Step, step_names, steps, usual
from .threads import threads

TreeOf: TypeAlias = Literal["ops", "stacks", "modules"]
TREES: tuple[TreeOf, ...] = get_args(TreeOf)
MODULE = "module"  # category of a node that is a module


@dataclass(frozen=True, slots=True)
class TimeTree:
    """Paths and their time, a node behind the one that it lies in. Times are ns, of `steps` steps together, or of the
    whole trace where it has none (`steps` is 1 then).

    `self_ns` is a node's own time, `total_ns` that with all below it; `count` is how many slices begin on the path.
    Threads are added up, so the time can be more than passed.
    """

    names: Sequence[str]
    categories: Sequence[str]
    parent: Sequence[int]  # -1 at the top
    self_ns: Sequence[int]
    total_ns: Sequence[int]
    count: Sequence[int]
    steps: int

    def __len__(self) -> int:
        return len(self.names)


def time_tree(trace: Trace, of: TreeOf, step: int | None = None) -> TimeTree:
    """The tree of a trace's usual steps (steps.usual), as the bill of a difference counts them, or of the one with that
    number alone; of the whole trace where it has no steps.

    ops: annotations, nodes, ops and the kernels in them, of the host. stacks: functions of Python. modules: the modules
    that called ops, and the ops in them. Raises ValueError where the tree is unknown.
    """
    if of not in TREES:
        raise ValueError(f"there is no tree of {of!r}; it is one of {', '.join(TREES)}")
    loop = usual(steps(trace)) if step is None else [one for one in steps(trace) if one.number == step]
    if of == "modules":
        return _of_modules(trace, loop)
    alone = _alone(trace, of_category(trace, (SAMPLED,)) if of == "stacks" else _of_host(trace))
    slices, count = alone.slices, len(alone.slices)
    around = paths(alone, np.ones(count, dtype=bool), slices.name)
    total, begins = _within(alone, np.arange(count), loop)
    own, inner = total.copy(), slices.parent >= 0
    np.subtract.at(own, slices.parent[inner], total[inner])
    path = around.of_slice
    category = np.zeros(len(around.key), dtype=np.int64)
    category[path] = slices.category
    return _tree(
        [trace.strings[key] for key in around.key.tolist()],
        [trace.strings[number] for number in category.tolist()],
        around.parent,
        np.bincount(path, own, len(category)).astype(np.int64),
        np.bincount(path[begins], minlength=len(category)),
        max(len(loop), 1),
    )


def _alone(trace: Trace, kept: NDArray[np.bool_]) -> Trace:
    """The kept slices by themselves, nested anew: the lanes of a thread are one where they do not cross any more."""
    rows = np.flatnonzero(kept)
    slices = trace.slices
    start, duration, line = slices.start[rows], slices.duration[rows], threads(trace)[slices.track[rows]]
    parent = nest(start, duration, line.astype(np.int32))[1]
    crossed = np.isin(line, line[crossing(start, duration, parent)])
    line = np.where(crossed, slices.track[rows], line)
    depth, parent = nest(start, duration, line.astype(np.int32))
    track, name, category = slices.track[rows], slices.name[rows], slices.category[rows]
    return replace(trace, slices=Slices(start, duration, track, name, category, depth, parent))


def _of_host(trace: Trace) -> NDArray[np.bool_]:
    """What the host did for the program: not steps, sampled stacks, the GIL or what ran on devices."""
    slices = trace.slices
    kept = of_category(trace, (*OPS, "user_annotation", "autograd", "cuda_runtime", "cuda_driver")) | op_slices(trace)
    kernels = np.flatnonzero(of_category(trace, KERNELS))
    around = nearest(trace, slices.parent[kernels], kept)
    kept[kernels[around >= 0]] = True
    steps_ = np.isin(slices.name, list(step_names(trace)))
    kept[steps_] = False
    return kept


def _within(trace: Trace, rows: Int64s, loop: Sequence[Step]) -> tuple[Int64s, NDArray[np.bool_]]:
    """How long slices lasted in the steps, and which of them began there; of all where there are no steps."""
    start, duration = trace.slices.start[rows], trace.slices.duration[rows]
    if not loop:
        return duration, np.ones(len(rows), dtype=bool)
    begin, length = np.array([(step.start, step.duration) for step in loop], dtype=np.int64).T
    cover = Cover.union(begin, length)
    return cover.within(start, start + duration), cover.holds(start)


def _of_modules(trace: Trace, loop: Sequence[Step]) -> TimeTree:
    """A node for each part of a module's path, and in each module one for each of its ops."""
    of_slice, labels = modules(trace)
    columns = ops(trace)
    # The own time of an op that reaches over the end of a step counts where the op begins.
    begins = _within(trace, columns.row, loop)[1]
    module = of_slice[columns.row]
    known = begins & (module >= 0)
    names: list[str] = []
    categories: list[str] = []
    parent: list[int] = []
    nodes: dict[tuple[int, str, str], int] = {}

    def node(above: int, name: str, category: str) -> int:
        key = (above, name, category)
        if key not in nodes:
            nodes[key] = len(names)
            names.append(name)
            categories.append(category)
            parent.append(above)
        return nodes[key]

    pairs, of_op = np.unique(np.stack((module[known], columns.name[known])), axis=1, return_inverse=True)
    leaves = []
    for label, name in pairs.T.tolist():
        at = -1
        for part in labels[label].split("."):
            at = node(at, part, MODULE)
        leaves.append(node(at, trace.strings[name], OPS[0]))
    leaf = np.array(leaves, dtype=np.int64)[of_op.reshape(-1)]
    own = np.bincount(leaf, columns.self_ns[known], len(names)).astype(np.int64)
    count = np.bincount(leaf, minlength=len(names))
    return _tree(names, categories, np.array(parent, dtype=np.int64), own, count, max(len(loop), 1))


def _tree(names: list[str], categories: list[str], parent: Int64s, own: Int64s, count: Int64s, steps_: int) -> TimeTree:
    """The tree without paths that took no time and had no slice."""
    above, total, calls = parent.tolist(), own.tolist(), count.tolist()
    kept = count > 0
    for node in range(len(names) - 1, -1, -1):
        if above[node] >= 0:
            total[above[node]] += total[node]
        kept[node] |= total[node] > 0
        if above[node] >= 0:
            kept[above[node]] |= kept[node]
    number = np.cumsum(kept) - 1
    chosen = np.flatnonzero(kept).tolist()
    own_ns = own.tolist()
    return TimeTree(
        names=[names[node] for node in chosen],
        categories=[categories[node] for node in chosen],
        parent=[int(number[above[node]]) if above[node] >= 0 else -1 for node in chosen],
        self_ns=[own_ns[node] for node in chosen],
        total_ns=[total[node] for node in chosen],
        count=[calls[node] for node in chosen],
        steps=steps_,
    )
