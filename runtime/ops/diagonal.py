"""Diagonals of matrices, and where triangles are."""

import builtins

import numpy as np

from .. import _core
from ..errors import ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Spec, as_dtype
from .pad import pad
from .part import diagonal, place
from .part import diagonal as main_diagonal
from .reduce import sum
from .shape import concat, reshape


@composite(samples=(), method=False)
def tril_indices(row, col, offset=0, *, dtype="int64"):
    """Where tril of a row x col matrix has its elements: their rows and their columns, a tensor of shape (2, n).

    >>> tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    return _core.from_numpy(np.stack(np.tril_indices(row, offset, col)).astype(as_dtype(dtype).numpy))


@composite(samples=(), method=False)
def triu_indices(row, col, offset=0, *, dtype="int64"):
    """Where triu of a row x col matrix has its elements: their rows and their columns, a tensor of shape (2, n).

    >>> triu_indices(2, 2).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    return _core.from_numpy(np.stack(np.triu_indices(row, offset, col)).astype(as_dtype(dtype).numpy))


def _embedded(a: Spec, *, offset: int, dim1: int, dim2: int) -> Spec:
    first, second = (place(i, a.ndim + 1, "diag_embed") for i in (dim1, dim2))
    if a.ndim == 0 or first == second:
        raise ShapeError(f"diag_embed: axes {dim1} and {dim2} of a matrix for each row of shape {a.shape} must differ")
    shape = list(a.shape[:-1])
    for i in sorted((first, second)):
        shape.insert(i, a.shape[-1] + abs(offset))
    return Spec(tuple(shape), a.dtype)


@primitive(
    infer=_embedded,
    kinds="bifc",
    flops=lambda a, out, offset, dim1, dim2: 0,
    samples=(sample((3,)), sample((2, 3), offset=-1), sample((2, 3), offset=1, dim1=0, dim2=2)),
)
def diag_embed(xp, a, *, offset: int = 0, dim1: int = -2, dim2: int = -1):
    """Matrices in two new axes, each with a row of a on its diagonal, `offset` above the main one; zeros beside it.

    >>> diag_embed(tensor([1.0, 2.0])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    n = a.shape[-1] + abs(offset)
    out = xp.zeros((*a.shape[:-1], n, n), a.dtype)
    rows = xp.arange(a.shape[-1]) - min(offset, 0)
    out[..., rows, rows + offset] = a
    return xp.moveaxis(out, (-2, -1), (dim1, dim2))


@diag_embed.vjp
def _(ct, *, offset, dim1, dim2):
    return diagonal(ct, offset=offset, dim1=dim1, dim2=dim2)


@composite(samples=(sample((3,), diagonal=1), sample((3, 4))))
def diag(a, diagonal=0):
    """The diagonal of a matrix, or the matrix with that diagonal.

    >>> diag(tensor([1.0, 2.0])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if a.ndim not in (1, 2):
        raise ShapeError(f"diag: one or two axes, not shape {a.shape}: see diagonal and diag_embed")
    return diag_embed(a, offset=diagonal) if a.ndim == 1 else main_diagonal(a, diagonal)


@composite(samples=(sample((2, 2)), sample((3,), offset=-1)))
def diagflat(a, offset=0):
    """The matrix with the elements of a on a diagonal.

    >>> diagflat(tensor([[1.0], [2.0]])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    return diag_embed(reshape(a, (-1,)), offset=offset)


@composite(samples=(sample((3, 4)), sample((2, 3, 3), offset=1)))
def trace(a, *, offset=0, dtype=None):
    """The sum of the diagonal of the last two axes; of ints, as int64.

    >>> trace(tensor([[1.0, 2.0], [3.0, 4.0]])).item()
    5.0
    """
    return sum(diagonal(a, offset, -2, -1), -1, dtype=dtype)


@composite(samples=(sample((2, 2), (1, 3)), sample((2,), ())), method=False)
def block_diag(*tensors):
    """A matrix with the tensors, as matrices, along its diagonal; zeros beside them.

    >>> block_diag(tensor([[1.0]]), tensor([[2.0, 3.0]])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 2.0, 3.0]]
    """
    blocks = [a if a.ndim == 2 else reshape(a, (1, -1)) for a in tensors]
    width, before, rows = builtins.sum(b.shape[1] for b in blocks), 0, []
    for b in blocks:
        rows.append(pad(b, (before, width - before - b.shape[1])))
        before += b.shape[1]
    return concat(rows, axis=0)
