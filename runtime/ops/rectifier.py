"""Activations that are straight on one side, or between two bounds."""

from ..registry import pointwise
from .pointwise import exp, minimum, sigmoid, where


@pointwise(
    source="{a} > {min_val} ? ({a} < {max_val} ? {a} : {max_val}) : {a} != {a} ? {a} : {min_val}",
    kinds="f",
    public=False,
)
def hardtanh(xp, a, *, min_val: float = -1.0, max_val: float = 1.0):
    """a, but no less than min_val and no more than max_val. Its gradient at these two is 0.

    >>> hardtanh(tensor([-3.0, 0.5, 2.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
    return xp.clip(a, a.dtype.type(min_val), a.dtype.type(max_val))


@hardtanh.vjp
def _(ct, a, *, min_val: float, max_val: float):
    return where(a > min_val, where(a < max_val, ct, 0), 0)


@pointwise(source="{a} > 0 ? {a} : {negative_slope} * {a}", dtype="float", public=False)
def leaky_relu(xp, a, *, negative_slope: float = 0.01):
    """a where it is positive, else negative_slope * a (Maas and others, 2013).

    >>> leaky_relu(tensor([-2.0, 3.0]), negative_slope=0.5).tolist()
    [-1.0, 3.0]
    """
    return xp.where(a > 0, a, a.dtype.type(negative_slope) * a)


@leaky_relu.vjp
def _(ct, a, *, negative_slope: float):
    return where(a > 0, ct, negative_slope * ct)


@pointwise(source="{a} > 0 ? {a} : {alpha} * expm1({a})", flops=3, dtype="float", public=False)
def elu(xp, a, *, alpha: float = 1.0):
    """a where it is positive, else alpha * (exp(a) - 1) (Clevert and others, 2015).

    >>> elu(tensor([0.0, 3.0])).tolist()
    [0.0, 3.0]
    """
    return xp.where(a > 0, a, a.dtype.type(alpha) * xp.expm1(a))


@elu.vjp
def _(ct, a, *, alpha: float):
    return where(a > 0, ct, ct * (alpha * exp(minimum(a, 0))))


@pointwise(
    source="{a} * {beta} > {threshold} ? {a} : log1p(exp({a} * {beta})) / {beta}",
    flops=5,
    dtype="float",
    public=False,
    autocast="float32",
)
def softplus(xp, a, *, beta: float = 1.0, threshold: float = 20.0):
    """log(1 + exp(beta * a)) / beta; where beta * a is above the threshold, a.

    >>> softplus(tensor([0.0, 30.0])).tolist()
    [0.6931471824645996, 30.0]
    """
    beta, threshold = a.dtype.type(beta), a.dtype.type(threshold)
    return xp.where(a * beta > threshold, a, xp.log1p(xp.exp(a * beta)) / beta)


@softplus.vjp
def _(ct, a, *, beta: float, threshold: float):
    return where(a * beta > threshold, ct, ct * sigmoid(a * beta))


@pointwise(source="fmin({a}, 0) - log1p(exp(-fabs({a})))", flops=4, dtype="float", public=False)
def log_sigmoid(xp, a):
    """The logarithm of the sigmoid, accurate for small ones too.

    >>> log_sigmoid(tensor([0.0, -200.0])).tolist()
    [-0.6931471824645996, -200.0]
    """
    return xp.minimum(a, 0) - xp.log1p(xp.exp(-xp.abs(a)))


@log_sigmoid.vjp
def _(ct, a):
    return ct * sigmoid(-a)
