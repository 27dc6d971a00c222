"""The array API's linear algebra, as PyTorch's torch.linalg names it. Leading axes are a batch.

Gradients: cholesky, cross, det, diagonal, inv, matmul, matrix_norm (but those of singular values), matrix_power,
matrix_transpose, outer, slogdet, solve, tensordot, trace, vecdot, vector_norm. The others have none. What LAPACK
cannot do, such as to invert a singular matrix, raises LinAlgError.
"""

from typing import Any

from numpy.linalg import LinAlgError

from .ops import part
from .ops.decomposition import cholesky, eigh, eigvalsh, qr, svd, svdvals
from .ops.diagonal import trace
from .ops.linalg import matmul
from .ops.linear import det, inv, matrix_power, slogdet, solve
from .ops.norms import matrix_norm, norm, vector_norm
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


def diagonal(a: Any, *, offset: int = 0) -> Any:
    """The diagonal of the matrices in the last two axes, `offset` above the main one, as a view.

    >>> diagonal(tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    """
    return part.diagonal(a, offset=offset, dim1=-2, dim2=-1)
