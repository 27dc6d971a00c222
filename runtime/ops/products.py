"""Products of vectors, matrices and tensors, made of multiplications, sums and matmul."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..errors import ArgumentError, ShapeError
from ..op import sample
from ..registry import composite
from .complex import conj
from .index import take
from .linalg import matmul
from .part import place
from .reduce import sum
from .shape import permute, reshape, unsqueeze


@composite(samples=(sample((3,), (3,)), sample((2, 3), (3,)), sample((3, 2), (3, 1), axis=0)))
def vecdot(a: Any, b: Any, *, axis: int = -1) -> Any:
    """The sum of conj(a) * b along an axis; the others broadcast.

    >>> vecdot(tensor([1.0, 2.0]), tensor([3.0, 4.0])).tolist()
    11.0
    """
    if a.shape[place(axis, a.ndim, "vecdot")] != b.shape[place(axis, b.ndim, "vecdot")]:
        raise ShapeError(f"vecdot: {a.shape} and {b.shape} differ in size along axis {axis}")
    product = (conj(a) if a.dtype.is_complex else a) * b
    return sum(product, axis=axis, dtype=product.dtype)


@composite(samples=(sample((3,), (2,)),), aliases=("ger",))
def outer(a: Any, b: Any) -> Any:
    """Every element of the vector a times every one of b.

    >>> outer(tensor([1.0, 2.0]), tensor([3.0, 4.0])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"outer: it takes vectors, not shapes {a.shape} and {b.shape}")
    return unsqueeze(a, 1) * unsqueeze(b, 0)


@composite(
    samples=(
        sample((2, 3), (3, 4), axes=1),
        sample((2, 3, 4), (4, 3), axes=((1, 2), (1, 0))),
        sample((2,), (3,), axes=0),
    )
)
def tensordot(a: Any, b: Any, *, axes: int | Sequence[Sequence[int]] = 2) -> Any:
    """The sum of products over pairs of axes: the last `axes` of a with the first of b, or a list for each.

    >>> tensordot(tensor([1.0, 2.0]), tensor([3.0, 4.0]), axes=1).tolist()
    11.0
    """
    if isinstance(axes, int):
        if axes > min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot: {axes} axes are summed over, which {a.shape} and {b.shape} do not both have")
        gone_a, gone_b = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    elif len(axes) != 2:
        raise ArgumentError(f"tensordot: axes is a number, or the axes of each of the two, not {axes}")
    else:
        gone_a, gone_b = ([place(i, x.ndim, "tensordot") for i in one] for x, one in zip((a, b), axes, strict=True))
    sizes_a, sizes_b = [a.shape[i] for i in gone_a], [b.shape[i] for i in gone_b]
    if sizes_a != sizes_b:
        raise ShapeError(f"tensordot: the sizes along the axes differ, {sizes_a} of {a.shape}, {sizes_b} of {b.shape}")
    keep_a = [i for i in range(a.ndim) if i not in gone_a]
    keep_b = [i for i in range(b.ndim) if i not in gone_b]
    shape = (*(a.shape[i] for i in keep_a), *(b.shape[i] for i in keep_b))
    inner = math.prod(sizes_a)
    rows, columns = math.prod([a.shape[i] for i in keep_a]), math.prod([b.shape[i] for i in keep_b])
    left = reshape(permute(a, (*keep_a, *gone_a)), (rows, inner))
    right = reshape(permute(b, (*gone_b, *keep_b)), (inner, columns))
    return reshape(matmul(left, right), shape)


@composite(samples=(sample((2, 3), (2, 3)), sample((3, 2), (3, 1), axis=0)))
def cross(a: Any, b: Any, *, axis: int = -1) -> Any:
    """The vector at right angles to both, along an axis of 3 elements; the others broadcast.

    >>> cross(tensor([1.0, 0.0, 0.0]), tensor([0.0, 1.0, 0.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    if any(x.shape[place(axis, x.ndim, "cross")] != 3 for x in (a, b)):
        raise ShapeError(f"cross: axis {axis} must hold 3 elements in {a.shape} and {b.shape}")
    first, second = (_core.from_numpy(np.array(order), a) for order in ([1, 2, 0], [2, 0, 1]))
    return take(a, first, axis=axis) * take(b, second, axis=axis) - take(a, second, axis=axis) * take(
        b, first, axis=axis
    )
