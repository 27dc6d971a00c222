"""The array API's linear algebra, as PyTorch's torch.linalg names it. Leading axes are a batch.

Gradients: cholesky, cross, det, diagonal, inv, matmul, matrix_norm (but those of singular values), matrix_power,
matrix_transpose, outer, slogdet, solve, tensordot, trace, vecdot, vector_norm. The others have none. What LAPACK
cannot do, such as to invert a singular matrix, raises LinAlgError.
"""

from numpy.linalg import LinAlgError

from .ops.decomposition import cholesky, eigh, eigvalsh, qr, svd, svdvals
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
    "vecdot",
    "vector_norm",
]
