"""Norms of vectors and matrices."""

import math
from typing import Any

from ..errors import ArgumentError, ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Axes
from .decomposition import svdvals
from .grads import flat
from .pointwise import abs, where
from .reduce import amax, amin, expand_reduced, sum
from .shape import unsqueeze


@primitive(
    rule="reduce",
    dtype="real",
    kinds="fc",
    flops=lambda a, out, axis, keepdims, ord: 2 * a.size,
    samples=(
        sample((2, 3)),
        sample((2, 3), axis=1, keepdims=True),
        sample((2, 3, 4), axis=(0, -1), ord=3.0),
        sample((2, 3), axis=1, ord=1.0),
        sample((2, 3), axis=1, ord=math.inf),
        sample((2, 3), axis=0, ord=-math.inf),
        sample((2, 3), axis=0, ord=0.0),
        sample(()),
    ),
    autocast="float32",
    public=False,
)
def vector_norm(xp, a, *, axis: Axes = None, keepdims: bool = False, ord: float = 2.0):
    """The norm sum(abs(a) ** ord) ** (1 / ord) over the axes, of all elements by default.

    ord inf and -inf stand for the largest and the smallest size, 0 for the number of elements that are not 0.

    >>> vector_norm(tensor([3.0, 4.0])).tolist()
    5.0
    """
    if a.size == 0 and math.isinf(ord):
        raise ShapeError(f"vector_norm: of no elements there is no norm {ord}: the shape is {a.shape}")
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    over = {each % a.ndim for each in axes}  # CuPy has no norm over several axes: they become one
    rest, last = (tuple(each for each in range(a.ndim) if (each in over) == chosen) for chosen in (False, True))
    flat = a.transpose(rest + last).reshape(
        [a.shape[each] for each in rest] + [math.prod(a.shape[each] for each in last)]
    )
    norm = xp.linalg.norm(flat, ord, -1)
    return norm.reshape([1 if each in over else n for each, n in enumerate(a.shape)]) if keepdims else norm


@vector_norm.vjp
def _(ct, a, out, *, axis, keepdims, ord: float):
    if ord == 0:
        return flat(a)
    size = abs(a)
    norm = expand_reduced(out, a, axis=axis, keepdims=keepdims)
    ct = expand_reduced(ct, a, axis=axis, keepdims=keepdims)
    direction = where(a < 0, -ct, where(a > 0, ct, 0))
    if ord == 1:
        return direction
    if math.isinf(ord):
        winners = size == norm
        share = sum(winners, axis=axis, keepdims=keepdims)
        return where(winners, direction / expand_reduced(share, a, axis=axis, keepdims=keepdims), 0)
    # At 0 the norm has a corner: 0 is a subgradient there.
    return where(size == 0, 0, direction * (size / where(norm == 0, 1, norm)) ** (ord - 1))


@composite(
    samples=(
        sample((3, 2)),
        sample((2, 3, 3), ord=1, keepdims=True),
        sample((2, 3, 3), ord=-math.inf),
    ),
    public=False,
)
def matrix_norm(a: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of the matrices in the last two axes.

    ord is "fro" (the root of the sum of squares), "nuc" (the sum of the singular values), 1 or -1 (the largest or
    smallest sum of a column's sizes), inf or -inf (of a row's), 2 or -2 (the largest or smallest singular value).

    >>> matrix_norm(tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
    5.0
    """
    if ord == "fro":
        return vector_norm(a, axis=(-2, -1), keepdims=keepdims)
    largest = not isinstance(ord, str) and ord > 0
    if ord in (1, -1, math.inf, -math.inf):
        along, over = (-2, -1) if ord in (1, -1) else (-1, -2)
        sums = sum(abs(a), axis=along, keepdims=True)
        norm = (amax if largest else amin)(sums, axis=over, keepdims=True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(a)
        reduced = sum if ord == "nuc" else amax if largest else amin
        norm = reduced(values, axis=-1, keepdims=True)[..., None]
    else:
        raise ArgumentError(f"matrix_norm: there is no norm {ord!r}: use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    return norm if keepdims else norm[..., 0, 0]


@composite(samples=(sample((2, 3)), sample((2, 3), p=1, dim=1), sample((2, 3), p=math.inf, dim=0, keepdim=True)))
def norm(
    a: Any, p: Any = "fro", axis: Axes = None, keepdims: bool = False, *, dim: Axes = None, keepdim: bool = False
) -> Any:
    """The norm over the axes, of all elements by default: of the power p, "fro" being 2.

    >>> norm(tensor([3.0, 4.0])).tolist()
    5.0
    """
    ord = 2.0 if p == "fro" else p
    return vector_norm(a, axis=dim if axis is None else axis, keepdims=keepdims or keepdim, ord=ord)


@composite(
    samples=(sample((2, 3), (4, 3)), sample((2, 1, 3), (2, 3), p=1.0), sample((2, 3), (1, 3), p=math.inf)),
    method=False,
)
def cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """The distance, the vector norm p, of each row of x1 from each of x2: (..., m, k) and (..., n, k) give (..., m, n).

    >>> cdist(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[5.0, 1.0]]
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(f"cdist: {x1.shape} and {x2.shape} are no matrices with rows of one length")
    return vector_norm(unsqueeze(x1, -2) - unsqueeze(x2, -3), axis=-1, ord=p)
