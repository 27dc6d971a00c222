"""Pseudo-inverses and ranks, by singular values."""

import builtins
from typing import Any

from ..op import sample
from ..promotion import finfo
from ..registry import composite, primitive
from ..spec import Spec
from .decomposition import svdvals
from .matrices import cubed, matrices
from .reduce import amax, sum


def _pinv_spec(a: Spec, rtol: Spec):
    batch, m, n = matrices("pinv", a)
    return Spec((*batch, n, m), a.dtype)


@primitive(
    infer=_pinv_spec,
    dtype="promote",
    kinds="fc",
    flops=cubed,
    samples=(sample((3, 2), 1e-6), sample((2, 2, 3), 1e-6)),
    public=False,
)
def pseudo_inverse(xp, a, rtol):
    """pinv with a tolerance.

    >>> pseudo_inverse(tensor([[2.0]]), 1e-6).tolist()
    [[0.5]]
    """
    return xp.linalg.pinv(a, rtol.real)


@pseudo_inverse.vjp
def _(ct, a, out):
    # Golub and Pereyra (1973), of matrices whose rank does not change.
    back = out.mT
    left, right = ct.mT @ out @ back, back @ out @ ct.mT
    return left - a @ (out @ left) + right - (right @ out) @ a - back @ ct @ back, None


def _tolerance(a: Any, rtol: Any) -> Any:
    return builtins.max(a.shape[-2:], default=0) * finfo(a.dtype).eps if rtol is None else rtol


@composite(samples=(sample((3, 2)), sample((2, 2, 3), rtol=0.1)), aliases=("pinverse",))
def pinv(a: Any, *, rtol: Any = None) -> Any:
    """The pseudo-inverse (Moore-Penrose). Singular values up to rtol times the largest count as 0.

    rtol: a number or a tensor of the batch's shape; by default max(m, n) times the dtype's eps.

    >>> pinv(tensor([[2.0], [0.0]])).tolist()
    [[0.5, 0.0]]
    """
    return pseudo_inverse(a, _tolerance(a, rtol))


@composite(samples=(sample((3, 2)), sample((2, 2, 3), rtol=0.1)), public=False)
def matrix_rank(a: Any, *, rtol: Any = None) -> Any:
    """How many singular values are above rtol times the largest. rtol is as in pinv.

    >>> matrix_rank(tensor([[1.0, 2.0], [2.0, 4.0]])).item()
    1
    """
    values = svdvals(a)
    largest = amax(values, axis=-1, keepdims=True)
    tolerance = _tolerance(a, rtol)
    if not isinstance(tolerance, float):
        tolerance = tolerance[..., None]
    return sum(values > largest * tolerance, axis=-1)
