"""Complex numbers and their parts, element by element."""

from ..registry import pointwise
from ..spec import Spec
from .grads import flat


@pointwise(source="{a}", flops=0, kinds="ifc")
def conj(xp, a):
    """The complex conjugate; of real numbers, a copy.

    >>> conj(tensor([1.0])).tolist()
    [1.0]
    """
    return xp.conj(a)


@conj.vjp
def _(ct):
    return ct


@pointwise(source="{a}", flops=0, dtype="real", kinds="ifc")
def real(xp, a):
    """The real part; of real numbers, a copy.

    >>> real(tensor([1.5])).tolist()
    [1.5]
    """
    return xp.real(a)


@real.vjp
def _(ct):
    return ct


@pointwise(source="0", flops=0, dtype="real", kinds="ifc")
def imag(xp, a):
    """The imaginary part; of real numbers, 0.

    >>> imag(tensor([1.5])).tolist()
    [0.0]
    """
    return xp.imag(a)


@imag.vjp
def _(ct, a: Spec):
    return flat(a)
