"""Matrices as products of simpler ones, by LAPACK. Leading axes are a batch.

cholesky has a gradient; qr, svd, svdvals, eigh and eigvalsh have none.
"""

from typing import Any

from ..errors import ArgumentError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Spec
from .linear import solve
from .matrices import cubed, matrices, real_of
from .triangle import tril


def _square(op: str):
    def infer(a: Spec, **_):
        matrices(op, a, square=True)
        return Spec(a.shape, a.dtype)

    return infer


# The matrix (b @ b.T + identity) of some b.
_POSITIVE = [[3.0, 1.0, 0.5], [1.0, 4.0, -1.0], [0.5, -1.0, 2.0]]


@primitive(
    infer=_square("cholesky"),
    kinds="fc",
    flops=cubed,
    samples=(sample(_POSITIVE), sample([_POSITIVE, _POSITIVE], upper=True), sample([[2.0]])),
    autocast="float32",
)
def cholesky(xp, a, *, upper: bool = False):
    """The lower triangular L with L @ L.mH = a, or with `upper` its conjugate transpose.

    a is hermitian and positive definite: of another matrix (a + a.mH) / 2 is taken, and what is not positive definite
    raises LinAlgError.

    >>> cholesky(tensor([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    return xp.linalg.cholesky((a + xp.conj(xp.swapaxes(a, -1, -2))) / 2, upper=upper)


@cholesky.vjp
def _(ct, out, *, upper: bool):
    # Murray, "Differentiation of the Cholesky decomposition" (2016), section 3.1.
    low, ct = (out.mT, ct.mT) if upper else (out, ct)
    inner = low.mT @ ct
    half = 0.5 * (tril(inner) + tril(inner, k=-1))
    left = solve(low.mT, half)
    whole = solve(low.mT, left.mT).mT
    return 0.5 * (whole + whole.mT)


def _qr_specs(a: Spec, *, complete: bool):
    batch, m, n = matrices("qr", a)
    k = m if complete else min(m, n)
    return Spec((*batch, m, k), a.dtype), Spec((*batch, k, n), a.dtype)


@primitive(
    infer=_qr_specs,
    returns=("Q", "R"),
    kinds="fc",
    flops=cubed,
    samples=(sample((3, 2), complete=False), sample((2, 3, 4), complete=True)),
    differentiable=False,
    public=False,
    autocast="float32",
)
def qr_factors(xp, a, *, complete: bool):
    """qr's factors.

    >>> qr_factors(tensor([[2.0], [0.0]]), complete=False).Q.shape
    (2, 1)
    """
    return xp.linalg.qr(a, "complete" if complete else "reduced")


@composite(samples=(sample((3, 2)), sample((2, 3, 4), mode="complete")), public=False)
def qr(a: Any, *, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R, upper triangular, with Q @ R = a. No gradient.

    Of an m x n matrix and k = min(m, n), "reduced" gives (m, k) and (k, n), "complete" (m, m) and (m, n).

    >>> qr(tensor([[1.0, 2.0], [0.0, 3.0]])).R.shape
    (2, 2)
    """
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f"qr: there is no mode {mode!r}: use 'reduced' or 'complete'")
    return qr_factors(a, complete=mode == "complete")


def _svd_specs(a: Spec, *, full_matrices: bool):
    batch, m, n = matrices("svd", a)
    k = min(m, n)
    left, right = (m, n) if full_matrices else (k, k)
    return (
        Spec((*batch, m, left), a.dtype),
        Spec((*batch, k), real_of(a)),
        Spec((*batch, right, n), a.dtype),
    )


@primitive(
    infer=_svd_specs,
    returns=("U", "S", "Vh"),
    kinds="fc",
    flops=cubed,
    samples=(sample((3, 2)), sample((2, 3, 4), full_matrices=False)),
    differentiable=False,
    public=False,
    autocast="float32",
)
def svd(xp, a, *, full_matrices: bool = True):
    """U, S and Vh with U @ diag(S) @ Vh = a, the singular values S falling. No gradient.

    >>> svd(tensor([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
    [4.0, 3.0]
    """
    return xp.linalg.svd(a, full_matrices=full_matrices)


def _svdvals_spec(a: Spec):
    batch, m, n = matrices("svdvals", a)
    return Spec((*batch, min(m, n)), real_of(a))


@primitive(
    infer=_svdvals_spec,
    kinds="fc",
    flops=cubed,
    samples=(sample((3, 2)), sample((2, 3, 4))),
    differentiable=False,
    public=False,
    autocast="float32",
)
def svdvals(xp, a):
    """The singular values, falling. No gradient.

    >>> svdvals(tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
    [4.0, 3.0]
    """
    return xp.linalg.svd(a, compute_uv=False)


def _eigvalsh_spec(a: Spec):
    batch, n, _ = matrices("eigvalsh", a, square=True)
    return Spec((*batch, n), real_of(a))


def _eigh_specs(a: Spec):
    batch, n, _ = matrices("eigh", a, square=True)
    return Spec((*batch, n), real_of(a)), Spec(a.shape, a.dtype)


@primitive(
    infer=_eigh_specs,
    returns=("eigenvalues", "eigenvectors"),
    kinds="fc",
    flops=cubed,
    samples=(sample(_POSITIVE), sample([_POSITIVE, _POSITIVE])),
    differentiable=False,
    public=False,
    autocast="float32",
)
def eigh(xp, a):
    """The eigenvalues of a hermitian matrix, rising, and its eigenvectors as columns. No gradient.

    The lower triangle alone is read.

    >>> eigh(tensor([[4.0, 0.0], [0.0, 3.0]])).eigenvalues.tolist()
    [3.0, 4.0]
    """
    return xp.linalg.eigh(a)


@primitive(
    infer=_eigvalsh_spec,
    kinds="fc",
    flops=cubed,
    samples=(sample(_POSITIVE), sample([_POSITIVE, _POSITIVE])),
    differentiable=False,
    public=False,
    autocast="float32",
)
def eigvalsh(xp, a):
    """The eigenvalues of a hermitian matrix, rising; its lower triangle alone is read. No gradient.

    >>> eigvalsh(tensor([[4.0, 0.0], [0.0, 3.0]])).tolist()
    [3.0, 4.0]
    """
    return xp.linalg.eigvalsh(a)
