"""The cross entropy of two outcomes."""

from ..op import sample
from ..registry import primitive
from .grads import unbroadcast
from .pointwise import log, maximum

_LEAST = -100.0  # no logarithm is less, so that a wrong certainty costs something finite
_FLAT = 1e-12  # what the denominator of the gradient is at least


@primitive(
    rule="broadcast",
    dtype="float",
    kinds="f",
    flops=lambda a, target, out: 6 * out.size,
    samples=(sample((2, 3), (2, 3)), sample((2, 1), (3,)), sample((), ())),
    domain=(0.05, 0.95),
    public=False,
)
def binary_nll(xp, a, target):
    """-(target * log(a) + (1 - target) * log(1 - a)), the logarithms no less than -100.

    >>> binary_nll(tensor([0.5, 0.0]), tensor([1.0, 1.0])).tolist()
    [0.6931471824645996, 100.0]
    """
    yes, no = xp.maximum(xp.log(a), _LEAST), xp.maximum(xp.log1p(-a), _LEAST)
    return (target - 1) * no - target * yes


@binary_nll.vjp
def _(ct, a, target):
    by_a = ct * ((a - target) / maximum(a * (1 - a), _FLAT))
    by_target = ct * (maximum(log(1 - a), _LEAST) - maximum(log(a), _LEAST))
    return unbroadcast(by_a, a), unbroadcast(by_target, target)
