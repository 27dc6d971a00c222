"""Groups of ops: what `key_averages` adds up together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..trace import ArgColumn, Int64s, Trace
from .among import among
from .enclosing import nearest
from .ops import Ops, op_slices
from .paths import paths, unique_pairs
from .steps import STEP, step_names, step_rows, steps

GroupBy: TypeAlias = Literal["op", "op+shape", "module", "stack", "step"]

SHAPES = ("Input Dims", "Input dims")  # arguments of an op: the shapes of its inputs; the second is early Kineto's
MODULE = "Module Hierarchy"  # argument of an op: the path of the module that called it
TORCH_MODULE = "nn.Module: "  # begins the name of a slice around a module's call
NOWHERE = "(none)"  # the group of ops without a module, or outside of steps


@dataclass(frozen=True, slots=True)
class Groups:
    """`of_op` is the group of each row of an `Ops`, `labels` the groups' names."""

    of_op: Int64s
    labels: list[str]


def groups(trace: Trace, columns: Ops, group_by: GroupBy) -> Groups:
    """The ops grouped. Raises ValueError where `group_by` is none of the words of `GroupBy`.

    Ops of a backward pass belong to the module of the forward op whose gradient they compute.
    """
    if group_by not in _KINDS:
        raise ValueError(f"cannot group by {group_by!r}; group_by is one of {', '.join(_KINDS)}")
    return _KINDS[group_by](trace, columns)


def _by_op(trace: Trace, columns: Ops) -> Groups:
    return Groups(columns.name.astype(np.int64), trace.strings)


def _by_shape(trace: Trace, columns: Ops) -> Groups:
    column = next((trace.slice_args[key] for key in SHAPES if key in trace.slice_args), None)
    table = column.table if column is not None and column.table is not None else []
    shapes = _codes(column, len(trace.slices))[columns.row]
    (names, codes), of_op = unique_pairs(columns.name.astype(np.int64), shapes)
    labels = [
        trace.strings[name] + (f" {_listed(table[code])}" if code >= 0 else "")
        for name, code in zip(names.tolist(), codes.tolist(), strict=True)
    ]
    return Groups(of_op, labels)


def _by_module(trace: Trace, columns: Ops) -> Groups:
    of_slice, labels = modules(trace)
    of_op = of_slice[columns.row]
    return Groups(np.where(of_op < 0, len(labels), of_op), [*labels, NOWHERE])


def modules(trace: Trace) -> tuple[Int64s, list[str]]:
    """For each slice that is an op the place of its module in the list of all paths of modules, else -1."""
    told = trace.slice_args.get(MODULE)
    if told is not None and len(told):
        return _inherited(trace, _codes(told, len(trace.slices))), [str(value) for value in told.table or ()]
    starts = [text.startswith(TORCH_MODULE) for text in trace.strings]
    around = paths(trace, np.array(starts, dtype=bool)[trace.slices.name], trace.slices.name)
    texts = [text.removeprefix(TORCH_MODULE) for text in trace.strings]
    labels = [".".join(texts[key] for key in around.chain(path)) for path in range(len(around.key))]
    return _inherited(trace, around.of_slice), labels


def _by_stack(trace: Trace, columns: Ops) -> Groups:
    is_step = among(trace.slices.name, step_names(trace), len(trace.strings))
    around = paths(trace, ~is_step, trace.slices.name)
    labels = [";".join(trace.strings[key] for key in around.chain(path)) for path in range(len(around.key))]
    return Groups(around.of_slice[columns.row], labels)


def _by_step(trace: Trace, columns: Ops) -> Groups:
    found, rows = steps(trace), step_rows(trace)
    place = np.searchsorted(trace.slices.start[rows], columns.start, side="right") - 1
    known = place >= 0
    known[known] &= columns.start[known] < trace.slices.end[rows[place[known]]]
    return Groups(np.where(known, place, len(found)), [*(f"{STEP}{step.number}" for step in found), NOWHERE])


_KINDS: dict[str, Callable[[Trace, Ops], Groups]] = {
    "op": _by_op,
    "op+shape": _by_shape,
    "module": _by_module,
    "stack": _by_stack,
    "step": _by_step,
}


def _codes(column: ArgColumn | None, count: int) -> Int64s:
    """The ids of an argument's values in its table, -1 for rows without one."""
    codes = np.full(count, -1, dtype=np.int64)
    if column is not None and column.table is not None:
        codes[column.rows] = column.values
    return codes


def _listed(shapes: object) -> str:
    return " ".join(str(shape) for shape in shapes) if isinstance(shapes, list) else str(shapes)


def _inherited(trace: Trace, own: Int64s) -> Int64s:
    """What ops are of: by themselves (-1 for nothing), else by the arrow from a forward op, else by what is around."""
    known = own >= 0
    forward = np.full(len(own), -1, dtype=np.int64)
    arrows = trace.flows.name == trace.string_id("fwdbwd")
    forward[trace.flows.target[arrows]] = own[_settled(trace, trace.flows.source[arrows], known)]
    value = np.where(known, own, forward)
    rows = np.flatnonzero(op_slices(trace))
    settled: Int64s = np.full(len(own), -1, dtype=np.int64)
    around = nearest(trace, rows, value >= 0)
    settled[rows] = np.where(around >= 0, value[np.maximum(around, 0)], -1)
    return settled


def _settled(trace: Trace, rows: Int64s, known: NDArray[np.bool_]) -> Int64s:
    """The slices that say for these what they are of; where none does, they themselves."""
    around = nearest(trace, rows, known)
    return np.where(around >= 0, around, rows)
