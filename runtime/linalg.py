"""The array API's linear algebra, as PyTorch's torch.linalg names it. Leading axes are a batch.

All have gradients but matrix_rank. What LAPACK cannot do, such as to invert a singular matrix, raises LinAlgError.
"""

from typing import Any

from numpy.linalg import LinAlgError

from .errors import ShapeError
from .ops import part
from .ops.decomposition import cholesky, eigh, eigvalsh, qr, svd, svdvals
from .ops.diagonal import trace
from .ops.linalg import matmul
from .ops.linear import det, inv, matrix_power, slogdet, solve
from .ops.norms import matrix_norm, vector_norm
from .ops.products import cross, outer, tensordot, vecdot
from .ops.pseudo import matrix_rank, pinv
from .ops.shape import matrix_transpose

__all__ = [
    "LinAlgError",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def norm(
    A: Any,
    ord: float | str | None = None,
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Any:
    """A norm of vectors, where `dim` is one axis or `ord` is not given, else of matrices in the two axes of `dim`.

    ord: as vector_norm or matrix_norm has it. Without dim, of all elements, or with ord of a vector or a matrix.

    >>> norm(tensor([[3.0, 4.0]]), dim=1).tolist()
    [5.0]
    """
    A = A if dtype is None else A.astype(dtype)
    if ord is None or isinstance(dim, int) or (dim is None and A.ndim == 1) or (dim is not None and len(dim) == 1):
        return vector_norm(A, axis=dim, keepdims=keepdim, ord=2.0 if ord is None else float(ord))
    axes = (-2, -1) if dim is None else dim
    if len(axes) != 2 or A.ndim < 2 or (dim is None and A.ndim != 2):
        raise ShapeError(f"norm: ord {ord!r} is of a vector or a matrix: name one or two axes of shape {A.shape}")
    of_last = matrix_norm(A.movedim(axes, (-2, -1)), keepdims=keepdim, ord=ord)
    return of_last.movedim((-2, -1), axes) if keepdim else of_last


def diagonal(a: Any, *, offset: int = 0) -> Any:
    """The diagonal of the matrices in the last two axes, `offset` above the main one, as a view.

    >>> diagonal(tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    """
    return part.diagonal(a, offset=offset, dim1=-2, dim2=-1)
