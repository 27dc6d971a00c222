"""Dispatch: what ops cost beside the kernels that do their work."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..trace import Trace
from .ops import COMPOSITE_ARG, Ops, by_name, ops


@dataclass(frozen=True, slots=True)
class OpDispatch:
    """All calls of one op, in ns: its own time on the host without kernels, and its kernels, wherever they run."""

    name: str
    count: int
    dispatch_ns: int
    kernel_ns: int


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The whole trace; `ops` by falling time of dispatch. Where kernels run on a device, both go on at once."""

    dispatch_ns: int
    kernel_ns: int
    ops: tuple[OpDispatch, ...]


def dispatch(trace: Trace) -> Dispatch | None:
    """Dispatch against kernels; None where the trace knows no kernels, as PyTorch's of a CPU."""
    columns = ops(trace)
    if not np.any(columns.kernels):
        return None
    names = len(trace.strings)
    count = np.bincount(columns.name, minlength=names)
    whole = np.where(_is_opaque(trace, columns), columns.self_ns, 0)
    own = by_name(columns, columns.self_ns - columns.nested_kernel_ns - whole, names)
    kernel = by_name(columns, columns.kernel_ns + whole, names)
    present = np.flatnonzero(count)
    present = present[np.argsort(-own[present], kind="stable")]
    rows = np.stack((count[present], own[present], kernel[present]), axis=1).tolist()
    return Dispatch(
        dispatch_ns=int(own.sum()),
        kernel_ns=int(kernel.sum()),
        ops=tuple(OpDispatch(trace.strings[n], *row) for n, row in zip(present.tolist(), rows, strict=True)),
    )


def _is_opaque(trace: Trace, columns: Ops) -> NDArray[np.bool_]:
    """Composites of ours with no op in them, such as an optimizer's step: one call of the core, all of it work."""
    composite = trace.slice_args.get(COMPOSITE_ARG)
    if composite is None:
        return np.zeros(len(columns.row), dtype=bool)
    alone = np.zeros(len(trace.slices), dtype=bool)
    alone[composite.rows] = True
    above = trace.slices.parent[columns.row]
    alone[above[above >= 0]] = False
    return alone[columns.row]
