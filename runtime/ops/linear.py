"""Linear equations, inverses and determinants, by LAPACK. Leading axes are a batch."""

import builtins
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Spec
from .grads import flat, unbroadcast
from .matrices import cubed, matrices, real_of
from .pointwise import where
from .reduce import sum
from .shape import squeeze, unsqueeze
from .triangle import tril, triu

# Well away from singular ones.
_REGULAR = [[3.0, 1.0, -1.0], [0.5, 2.0, 0.0], [1.0, -1.0, 4.0]]
_SQUARE = (sample(_REGULAR), sample([_REGULAR, [[1.0, 0.5, 0.0], [0.0, -2.0, 1.0], [0.0, 0.0, 0.5]]]), sample([[2.0]]))


def _inv_spec(a: Spec):
    matrices("inv", a, square=True)
    return Spec(a.shape, a.dtype)


@primitive(infer=_inv_spec, kinds="fc", flops=cubed, samples=_SQUARE, aliases=("inverse",), autocast="float32")
def inv(xp, a):
    """The inverse. A singular matrix raises LinAlgError.

    >>> inv(tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return xp.linalg.inv(a)


@inv.vjp
def _(ct, out):
    back = out.mT
    return -(back @ ct @ back)


def _solve_spec(a: Spec, b: Spec):
    batch, n, _ = matrices("solve", a, square=True)
    rows = b.shape[-min(b.ndim, 2) : b.ndim][:1]
    if rows != (n,):
        raise ShapeError(f"solve: a of shape {a.shape} needs {n} rows in b, not shape {b.shape}")
    if b.ndim == 1:
        return Spec((*batch, n), a.dtype)
    try:
        lead = np.broadcast_shapes(batch, b.shape[:-2])
    except ValueError:
        raise ShapeError(f"solve: the batches of {a.shape} and {b.shape} do not broadcast") from None
    return Spec((*lead, *b.shape[-2:]), a.dtype)


@primitive(
    infer=_solve_spec,
    dtype="promote",
    kinds="fc",
    flops=cubed,
    samples=(
        sample(_REGULAR, (3, 2)),
        sample(_REGULAR, (3,)),
        sample([_REGULAR, _REGULAR], (3, 1)),
        sample(_REGULAR, (2, 3, 2)),
    ),
    public=False,
    autocast="float32",
)
def solve(xp, a, b):
    """The x with a @ x = b, b being matrices or one vector. A singular a raises LinAlgError.

    >>> solve(tensor([[2.0, 0.0], [0.0, 4.0]]), tensor([2.0, 4.0])).tolist()
    [1.0, 1.0]
    """
    return xp.linalg.solve(a, b)


@solve.vjp
def _(ct, a, b: Spec, out):
    if b.ndim > 1:
        by_b = solve(a.mT, ct)
        return unbroadcast(-(by_b @ out.mT), a), unbroadcast(by_b, b)
    by_b = squeeze(solve(a.mT, unsqueeze(ct, -1)), -1)
    return -(unsqueeze(by_b, -1) * unsqueeze(out, -2)), unbroadcast(by_b, b)


def _det_spec(a: Spec):
    batch, _, _ = matrices("det", a, square=True)
    return Spec(batch, a.dtype)


@primitive(infer=_det_spec, kinds="fc", flops=cubed, samples=_SQUARE, autocast="float32")
def det(xp, a):
    """The determinant. The second gradient of a singular matrix raises LinAlgError: it goes through the inverse.

    >>> det(tensor([[2.0, 1.0], [0.0, 3.0]])).tolist()
    6.0
    """
    return xp.linalg.det(a)


@det.vjp
def _(ct, a):
    return unsqueeze(unsqueeze(ct, -1), -1) * cofactors(a)


def _cofactors_spec(a: Spec):
    matrices("cofactors", a, square=True)
    return Spec(a.shape, a.dtype)


@primitive(infer=_cofactors_spec, kinds="f", flops=lambda a, out: 10 * cubed(a, out=out), samples=_SQUARE, public=False)
def cofactors(xp, a):
    """The determinant's gradient: of a regular matrix det(a) * inv(a).mT. Its own needs a regular matrix.

    >>> cofactors(tensor([[1.0, 2.0], [2.0, 4.0]])).round().tolist()
    [[4.0, -2.0], [-2.0, 1.0]]
    """
    left, values, right = xp.linalg.svd(a)
    n = values.shape[-1]
    others = xp.where(xp.eye(n, dtype=bool), 1, values[..., None, :]).prod(-1)
    sign = xp.linalg.det(left) * xp.linalg.det(right)
    return sign[..., None, None] * (left * others[..., None, :]) @ right


@cofactors.vjp
def _(ct, a, out):
    back = inv(a).mT
    return sum(ct * out, axis=(-2, -1), keepdims=True) * back - back @ ct.mT @ out


def _slogdet_specs(a: Spec):
    batch, _, _ = matrices("slogdet", a, square=True)
    return Spec(batch, a.dtype), Spec(batch, real_of(a))


@primitive(
    infer=_slogdet_specs,
    returns=("sign", "logabsdet"),
    kinds="fc",
    flops=cubed,
    samples=_SQUARE,
    autocast="float32",
)
def slogdet(xp, a):
    """The determinant's sign, which has no gradient, and the logarithm of its size; of a singular matrix 0 and -inf.

    >>> slogdet(tensor([[-1.0, 0.0], [0.0, 1.0]])).sign.tolist()
    -1.0
    """
    return xp.linalg.slogdet(a)


@slogdet.vjp
def _(ct, a):
    return unsqueeze(unsqueeze(ct[1], -1), -1) * inv(a).mT


@composite(samples=(sample(np.array(_REGULAR)),))
def logdet(a: Any) -> Any:
    """The logarithm of the determinant; NaN where that is negative.

    >>> logdet(tensor([[1.0, 0.0], [0.0, 1.0]])).tolist()
    0.0
    """
    sign, logabsdet = slogdet(a)
    return where(sign < 0, float("nan"), logabsdet)


@composite(samples=tuple(sample(np.array(_REGULAR), n=n) for n in (3, -2, 0)))
def matrix_power(a: Any, n: int) -> Any:
    """The product of n equal matrices; of a negative n, of -n inverses; of 0, the identity.

    >>> matrix_power(tensor([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    if n == 0:
        matrices("matrix_power", Spec(a.shape, a.dtype), square=True)
        return triu(tril(flat(a) + 1))
    base = inv(a) if n < 0 else a
    power, n = None, builtins.abs(n)
    while n:  # by squares
        if n & 1:
            power = base if power is None else power @ base
        n >>= 1
        base = base @ base if n else base
    return power
