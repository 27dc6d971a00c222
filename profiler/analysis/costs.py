"""What ops had to do at least: FLOPs and bytes, where a trace tells them or tells enough to work them out.

A trace of ours has a table of them in its metadata. For PyTorch's ops they follow from the shapes of the inputs: FLOPs
of products, convolutions and attention, bytes of every op that moves data. A multiply-add counts 2 FLOPs.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from ..trace import Int64s, Json, Trace
from .ops import Ops
from .paths import unique_pairs

COSTS = "costs"  # metadata: rows of op, shapes and types of its inputs, FLOPs, bytes moved

Shapes: TypeAlias = Sequence[Sequence[int]]

_ITEM_SIZES = {
    "bool": 1, "unsigned char": 1, "signed char": 1, "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1,
    "short int": 2, "c10::Half": 2, "c10::BFloat16": 2,
    "int": 4, "float": 4, "long int": 8, "double": 8, "c10::complex<float>": 8, "c10::complex<double>": 16,
}  # fmt: skip
# Ops of PyTorch that return a view, or memory as it is: they move no bytes.
_STILL = frozenset(
    f"aten::{name}"
    for name in (
        "view reshape _unsafe_view _reshape_alias view_as t transpose permute expand expand_as as_strided real"
        " slice select unsqueeze squeeze detach detach_ alias narrow split chunk unbind unfold flatten lift_fresh"
        " empty empty_like empty_strided resize_ set_"
    ).split()
)
# Those that read of their first input only what they return.
_CHOOSING = frozenset(f"aten::{name}" for name in ("embedding", "gather", "index", "index_select", "take"))


@dataclass(frozen=True, slots=True)
class Costs:
    """One row for each row of an `Ops`; all 0 where an op's cost is unknown.

    `ns` is the time that the work took: of the kernels, or of the op itself where a trace has no kernels.
    """

    flops: Int64s
    moved_bytes: Int64s
    ns: Int64s


def costs(trace: Trace, columns: Ops) -> Costs:
    """The costs of ops."""
    flops, moved = worked_out(trace, columns)
    # where a device or a core has kernels, an op without one did nothing of its own
    ns = columns.kernel_ns if np.any(columns.kernels) else columns.self_ns
    known = ((flops > 0) | (moved > 0)) & (ns > 0)
    return Costs(*(np.where(known, column, 0) for column in (flops, moved, ns)))


def worked_out(trace: Trace, columns: Ops) -> tuple[Int64s, Int64s]:
    """FLOPs and bytes of each op by its inputs; those of one name and one list of inputs are worked out once."""
    dims, types = (trace.slice_args.get(key) for key in ("Input Dims", "Input type"))
    flops, moved = np.zeros_like(columns.row), np.zeros_like(columns.row)
    if dims is None or types is None or dims.table is None or types.table is None:
        return flops, moved
    count = len(trace.slices)
    code = np.full((3, count), -1, dtype=np.int64)
    code[0, dims.rows], code[1, types.rows] = dims.values, types.values
    concrete = trace.slice_args.get("Concrete Inputs")
    if concrete is not None and concrete.table is not None:
        code[2, concrete.rows] = concrete.values
    shaped, of_shape = unique_pairs(*code[:2, columns.row])
    called, of_call = unique_pairs(of_shape, code[2, columns.row])
    (names, calls), which = unique_pairs(columns.name.astype(np.int64), of_call)
    told = {(name, repr(dims), repr(types)): (flops, moved) for name, dims, types, flops, moved in _table(trace)}
    known = []
    for name, call in zip(names.tolist(), calls.tolist(), strict=True):
        shape, values = called[0][call], called[1][call]
        dim, kind = int(shaped[0][shape]), int(shaped[1][shape])
        if dim < 0 or kind < 0:
            known.append((0, 0))
            continue
        if told:
            known.append(told.get((trace.strings[name], repr(dims.table[dim]), repr(types.table[kind])), (0, 0)))
            continue
        given = concrete.table[values] if concrete is not None and concrete.table is not None and values >= 0 else []
        known.append(_cost(trace.strings[name], dims.table[dim], types.table[kind], given))
    flops, read = np.array(known, dtype=np.int64).reshape(-1, 2)[which].T
    return flops, np.where((read > 0) & (not told), read + columns.allocated_bytes, read)


def _table(trace: Trace) -> list[Json]:
    """The rows of a trace's own table of costs; those that are not of its form count for nothing."""
    rows = trace.metadata.get(COSTS)
    if not isinstance(rows, list):
        return []
    return [
        row for row in rows if isinstance(row, list) and len(row) == 5 and all(_is_count(value) for value in row[3:])
    ]


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and 0 <= value < 2**62


def _cost(name: str, dims: Json, types: Json, concrete: Json) -> tuple[int, int]:
    """FLOPs, and bytes of the inputs (of the first one twice where it is changed in place); 0 for what is unknown."""
    if name in _STILL or not isinstance(dims, list) or not isinstance(types, list) or len(dims) != len(types):
        return 0, 0
    tensors = [(shape, _ITEM_SIZES[kind]) for shape, kind in zip(dims, types, strict=True)
               if isinstance(kind, str) and kind in _ITEM_SIZES and _is_shape(shape)]  # fmt: skip
    sizes = [prod(shape) * item for shape, item in tensors]
    if name.endswith("_") and sizes:
        sizes.append(sizes[0])
    if name in _CHOOSING:
        del sizes[:1]
    shapes = [shape for shape, _ in tensors]
    try:
        flops = _FLOPS[name](shapes, concrete if isinstance(concrete, list) else []) if name in _FLOPS else 0
    except (IndexError, ValueError, SyntaxError, TypeError, ZeroDivisionError):  # not the shapes that the op has today
        flops = 0
    return (flops, sum(sizes)) if max(flops, sum(sizes)) < 2**62 else (0, 0)


def _is_shape(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(size, int) and size >= 0 for size in value)


def _product(a: Sequence[int], b: Sequence[int]) -> int:
    return 2 * prod(a) * b[-1]


def _convolution(shapes: Shapes, concrete: Sequence[str]) -> int:
    """Of padding, stride and dilation, which come in this order, follows the output's size."""
    image, weight = shapes[:2]
    padding, stride, dilation = [ast.literal_eval(text) for text in concrete if text.startswith("[")][:3]
    out = [
        (size + 2 * pad - gap * (kernel - 1) - 1) // step + 1
        for size, kernel, pad, step, gap in zip(image[2:], weight[2:], padding, stride, dilation, strict=True)
    ]
    flops: int = 2 * image[0] * prod(out) * prod(weight)
    return flops


def _convolution_backward(shapes: Shapes, _: Sequence[str]) -> int:
    """The gradients of image and weight, each as much as the forward pass."""
    gradient, _image, weight = shapes[:3]
    return 4 * prod(gradient) * prod(weight[1:])


def _attention(axis: int) -> Callable[[Shapes, Sequence[str]], int]:
    """Two products: queries by keys, and weights by values. `axis` is that of the positions."""
    return lambda shapes, _: (
        2 * prod(shapes[0]) * shapes[1][axis] + 2 * prod(shapes[0][:-1]) * prod((shapes[1][axis], shapes[2][-1]))
    )


_FLOPS: dict[str, Callable[[Shapes, Sequence[str]], int]] = {
    "aten::mm": lambda shapes, _: _product(shapes[0], shapes[1]),
    "aten::bmm": lambda shapes, _: _product(shapes[0], shapes[1]),
    "aten::addmm": lambda shapes, _: _product(shapes[1], shapes[2]),
    "aten::baddbmm": lambda shapes, _: _product(shapes[1], shapes[2]),
    "aten::cudnn_convolution": _convolution,
    "aten::miopen_convolution": _convolution,
    "aten::mkldnn_convolution": _convolution,
    "aten::convolution_backward": _convolution_backward,
    "aten::_scaled_dot_product_flash_attention": _attention(-2),
    "aten::_scaled_dot_product_efficient_attention": _attention(-2),
    "aten::_flash_attention_forward": _attention(1),
    "aten::_efficient_attention_forward": _attention(1),
}
