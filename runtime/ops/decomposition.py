"""Matrices as products of simpler ones, by LAPACK. Leading axes are a batch. Gradients are those of real matrices.

Where singular values or eigenvalues are equal, their vectors have no derivative: their gradients are infinite or NaN.
"""

from typing import Any

from .. import _core
from ..errors import ArgumentError, AutogradError, ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Spec
from .grads import flat
from .linear import solve
from .matrices import cubed, matrices, real_of
from .pointwise import where
from .shape import concat, unsqueeze
from .triangle import tril, triu


def _square(op: str):
    def infer(a: Spec, **_):
        matrices(op, a, square=True)
        return Spec(a.shape, a.dtype)

    return infer


def _hermitian(xp: Any, a: Any) -> Any:
    return (a + xp.conj(xp.swapaxes(a, -1, -2))) / 2


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
    lower = xp.linalg.cholesky(_hermitian(xp, a))
    return xp.conj(xp.swapaxes(lower, -1, -2)) if upper else lower


@cholesky.vjp
def _(ct, out, *, upper: bool):
    # Murray, "Differentiation of the Cholesky decomposition" (2016), section 3.1.
    low, ct = (out.mT, ct.mT) if upper else (out, ct)
    inner = low.mT @ ct
    half = 0.5 * (tril(inner) + tril(inner, k=-1))
    left = solve(low.mT, half)
    whole = solve(low.mT, left.mT).mT
    return 0.5 * (whole + whole.mT)


def _identity(square: Any) -> Any:
    """Ones on the diagonal, zeros elsewhere."""
    return triu(tril(flat(square) + 1))


def _over_gaps(a: Any, values: Any) -> Any:
    """a[i, j] / (values[j] - values[i]), 0 where a is: the diagonal of a is 0."""
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    return a / where(a == 0, 1, gaps)


def _qr_specs(a: Spec, *, complete: bool):
    batch, m, n = matrices("qr", a)
    if m < n:
        raise ShapeError(f"qr_factors: it takes at least as many rows as columns, not {a.shape}: qr takes any")
    k = m if complete else n
    return Spec((*batch, m, k), a.dtype), Spec((*batch, k, n), a.dtype)


@primitive(
    infer=_qr_specs,
    returns=("Q", "R"),
    kinds="fc",
    flops=cubed,
    samples=(sample((3, 2)), sample((2, 3, 3)), sample((1, 1))),
    public=False,
    autocast="float32",
)
def qr_factors(xp, a, *, complete: bool = False):
    """qr's factors. The gradient is that of reduced ones with at least as many rows as columns.

    >>> qr_factors(tensor([[2.0], [0.0]])).Q.shape
    (2, 1)
    """
    return xp.linalg.qr(a, "complete" if complete else "reduced")


@qr_factors.vjp
def _(ct, out):
    # Seeger and others, "Auto-Differentiating Linear Algebra" (2017), table 2, there for LQ.
    q, r = out
    inner = r @ ct[1].mT - ct[0].mT @ q
    whole = tril(inner) + tril(inner, k=-1).mT
    return solve(r, (ct[0] + q @ whole).mT).mT


@composite(
    samples=(sample((3, 2)), sample((2, 2, 3)), sample((2, 3, 3), mode="complete")),
    public=False,
)
def qr(a: Any, *, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R, upper triangular, with Q @ R = a.

    Of an m x n matrix and k = min(m, n), "reduced" gives (m, k) and (k, n), "complete" (m, m) and (m, n); the latter
    has no gradient where m > n, and refuses an a that requires grad.

    >>> qr(tensor([[1.0, 2.0], [0.0, 3.0]])).R.shape
    (2, 2)
    """
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f"qr: there is no mode {mode!r}: use 'reduced' or 'complete'")
    _, m, n = matrices("qr", a)
    if mode == "complete" and m > n:
        if a.requires_grad and _core.is_grad_enabled():
            raise AutogradError("qr: of more rows than columns 'complete' has no gradient: use 'reduced' or detach()")
        return qr_factors(a, complete=True)
    if m >= n:
        return qr_factors(a)
    factors = qr_factors(a[..., :m])  # the other columns stand as they are in terms of Q
    return factors._replace(R=concat([factors.R, factors.Q.mH @ a[..., m:]], axis=-1))


def _svd_specs(a: Spec, *, full_matrices: bool = False, **_: bool):
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
    samples=(sample((2, 2)), sample((3, 2), tall=True), sample((2, 2, 3), wide=True)),
    public=False,
    autocast="float32",
)
def svd_factors(xp, a, *, tall: bool = False, wide: bool = False):
    """svd's factors without what goes beyond the singular values. tall, wide: there are more rows, or more columns.

    >>> svd_factors(tensor([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
    [4.0, 3.0]
    """
    return xp.linalg.svd(a, full_matrices=False)


@svd_factors.vjp
def _(ct, out, *, tall: bool, wide: bool):
    # Townsend, "Differentiating the Singular Value Decomposition" (2016).
    u, s, vh = out
    by_u, by_s, by_v, v = ct[0], ct[1], ct[2].mT, vh.mT
    row, column = unsqueeze(s, -2), unsqueeze(s, -1)

    def turned(vectors: Any, by: Any) -> Any:
        inner = vectors.mT @ by
        return _over_gaps(inner - inner.mT, s * s)

    inner = turned(u, by_u) * row + column * turned(v, by_v)
    gradient = u @ (inner + _identity(inner) * unsqueeze(by_s, -1)) @ vh
    if tall:
        gradient = gradient + ((by_u - u @ (u.mT @ by_u)) / row) @ vh
    if wide:
        gradient = gradient + u @ ((by_v - v @ (v.mT @ by_v)) / row).mT
    return gradient


@primitive(
    infer=_svd_specs,
    returns=("U", "S", "Vh"),
    kinds="fc",
    flops=cubed,
    samples=(sample((3, 2), full_matrices=True),),
    differentiable=False,
    public=False,
    autocast="float32",
)
def svd_whole(xp, a, *, full_matrices: bool):
    """svd's factors with U and Vh square. No gradient.

    >>> svd_whole(tensor([[3.0], [4.0]]), full_matrices=True).U.shape
    (2, 2)
    """
    return xp.linalg.svd(a, full_matrices=full_matrices)


@composite(
    samples=(sample((2, 2)), sample((3, 2), full_matrices=False), sample((2, 3, 4), full_matrices=False)),
    public=False,
)
def svd(a: Any, *, full_matrices: bool = True) -> Any:
    """U, S and Vh with U @ diag(S) @ Vh = a, the singular values S falling.

    With full_matrices U and Vh are square; what goes beyond the singular values has no gradient.

    >>> svd(tensor([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
    [4.0, 3.0]
    """
    _, m, n = matrices("svd", a)
    if not full_matrices or m == n:
        return svd_factors(a, tall=m > n, wide=m < n)
    whole = svd_whole(a, full_matrices=True)
    if not (a.requires_grad and _core.is_grad_enabled()):
        return whole
    thin = svd_factors(a, tall=m > n, wide=m < n)
    if m > n:
        return thin._replace(U=concat([thin.U, whole.U[..., n:]], axis=-1))
    return thin._replace(Vh=concat([thin.Vh, whole.Vh[..., m:, :]], axis=-2))


def _singular_values_spec(a: Spec, **_: bool):
    batch, m, n = matrices("svdvals", a)
    return Spec((*batch, min(m, n)), real_of(a))


@primitive(
    infer=_singular_values_spec,
    kinds="fc",
    flops=cubed,
    samples=(sample((2, 2)), sample((3, 2), tall=True), sample((2, 2, 3), wide=True)),
    public=False,
    autocast="float32",
)
def singular_values(xp, a, *, tall: bool = False, wide: bool = False):
    """svdvals; tall, wide as in svd_factors.

    >>> singular_values(tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
    [4.0, 3.0]
    """
    return xp.linalg.svd(a, compute_uv=False)


@singular_values.vjp
def _(ct, a, *, tall, wide):
    u, _, vh = svd_factors(a, tall=tall, wide=wide)
    return (u * unsqueeze(ct, -2)) @ vh


@composite(samples=(sample((3, 2)), sample((2, 3, 4))), public=False)
def svdvals(a: Any) -> Any:
    """The singular values, falling.

    >>> svdvals(tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
    [4.0, 3.0]
    """
    _, m, n = matrices("svdvals", a)
    return singular_values(a, tall=m > n, wide=m < n)


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
    public=False,
    autocast="float32",
)
def eigh(xp, a):
    """The eigenvalues of a hermitian matrix, rising, and its eigenvectors as columns.

    Of another matrix (a + a.mH) / 2 is taken.

    >>> eigh(tensor([[4.0, 0.0], [0.0, 3.0]])).eigenvalues.tolist()
    [3.0, 4.0]
    """
    return xp.linalg.eigh(_hermitian(xp, a))


@eigh.vjp
def _(ct, out):
    # Giles, "Collected matrix derivative results" (2008), section 3.1.
    values, vectors = out
    inner = vectors.mT @ ct[1]
    one = _identity(inner)
    inner = _over_gaps(inner * (1 - one), values) + one * unsqueeze(ct[0], -1)
    gradient = vectors @ inner @ vectors.mT
    return 0.5 * (gradient + gradient.mT)


@primitive(
    infer=_eigvalsh_spec,
    kinds="fc",
    flops=cubed,
    samples=(sample(_POSITIVE), sample([_POSITIVE, _POSITIVE])),
    public=False,
    autocast="float32",
)
def eigvalsh(xp, a):
    """The eigenvalues of a hermitian matrix, rising; of another matrix (a + a.mH) / 2 is taken.

    >>> eigvalsh(tensor([[4.0, 0.0], [0.0, 3.0]])).tolist()
    [3.0, 4.0]
    """
    return xp.linalg.eigvalsh(_hermitian(xp, a))


@eigvalsh.vjp
def _(ct, a):
    vectors = eigh(a)[1]
    return (vectors * unsqueeze(ct, -2)) @ vectors.mT
