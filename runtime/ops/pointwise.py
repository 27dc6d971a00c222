"""Arithmetic and functions, element by element."""

from ..op import sample
from ..registry import pointwise
from ..spec import Mask, Spec
from .grads import unbroadcast


@pointwise(source="{a} + {b}", kinds="bifc")
def add(xp, a, b):
    """a + b, element by element.

    >>> add(tensor([1.0, 2.0]), 1).tolist()
    [2.0, 3.0]
    """
    return xp.add(a, b)


@add.vjp
def _(ct, a: Spec, b: Spec):
    return unbroadcast(ct, a), unbroadcast(ct, b)


@pointwise(source="{a} - {b}", kinds="ifc", aliases=("subtract",))
def sub(xp, a, b):
    """a - b, element by element.

    >>> sub(tensor([1.0, 2.0]), tensor([1.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    return xp.subtract(a, b)


@sub.vjp
def _(ct, a: Spec, b: Spec):
    return unbroadcast(ct, a), unbroadcast(-ct, b)


@add.keywords
@sub.keywords
def _(op, a, b, *, alpha=1):
    return op(a, b * alpha)  # PyTorch's add and sub scale b


@pointwise(source="{a} * {b}", kinds="bifc", aliases=("multiply",))
def mul(xp, a, b):
    """a * b, element by element.

    >>> mul(tensor([1.0, 2.0]), 3).tolist()
    [3.0, 6.0]
    """
    return xp.multiply(a, b)


@mul.vjp
def _(ct, a, b):
    return unbroadcast(ct * b, a), unbroadcast(ct * a, b)


@pointwise(source="{a} / {b}", dtype="float", kinds="bifc", domain=(0.5, 2.0), aliases=("divide", "true_divide"))
def div(xp, a, b):
    """a / b, element by element; integers are divided as floats.

    >>> div(tensor([1, 3]), 2).tolist()
    [0.5, 1.5]
    """
    return xp.divide(a, b)


@div.vjp
def _(ct, a, b):
    by_a = ct / b
    return unbroadcast(by_a, a), unbroadcast(-by_a * (a / b), b)


@pointwise(source="-{a}", kinds="ifc", aliases=("negative",))
def neg(xp, a):
    """-a, element by element.

    >>> neg(tensor([1.0, -2.0])).tolist()
    [-1.0, 2.0]
    """
    return xp.negative(a)


@neg.vjp
def _(ct):
    return -ct


@pointwise(source="{a}", flops=0, kinds="ifc")
def positive(xp, a):
    """+a, a copy.

    >>> positive(tensor([1.0, -2.0])).tolist()
    [1.0, -2.0]
    """
    return xp.positive(a)


@positive.vjp
def _(ct):
    return ct


@pointwise(source="{a} * {a}", kinds="ifc")
def square(xp, a):
    """a * a, element by element.

    >>> square(tensor([3.0, -2.0])).tolist()
    [9.0, 4.0]
    """
    return xp.square(a)


@square.vjp
def _(ct, a):
    return ct * (2 * a)


@pointwise(source="1 / {a}", dtype="float", kinds="fc", domain=(0.5, 2.0), autocast="float32")
def reciprocal(xp, a):
    """1 / a, element by element.

    >>> reciprocal(tensor([4.0])).tolist()
    [0.25]
    """
    return 1 / a


@reciprocal.vjp
def _(ct, out):
    return -ct * (out * out)


@pointwise(source="{a} < 0 ? -{a} : {a}", dtype="real", kinds="ifc", aliases=("absolute",))
def abs(xp, a):
    """The absolute value, element by element. Its gradient at 0 is 0.

    >>> abs(tensor([-1.5, 2.0])).tolist()
    [1.5, 2.0]
    """
    return xp.absolute(a)


@abs.vjp
def _(ct, a):
    return where(a > 0, ct, where(a < 0, -ct, 0))


@pointwise(source="pow({a}, {b})", kinds="ifc", domain=(0.5, 2.0), autocast="float32")
def pow(xp, a, b):
    """a to the power b, element by element.

    >>> pow(tensor([2.0, 3.0]), 2).tolist()
    [4.0, 9.0]
    """
    return xp.power(a, b)


@pow.vjp
def _(ct, a, b, out):
    # x ** 0 is flat everywhere, and 0 ** y is 0 beside y too: the plain formulas would give NaN there.
    by_a = where(b == 0, 0, ct * (b * a ** (b - 1)))
    by_b = where(a == 0, 0, ct * (out * log(a)))
    return unbroadcast(by_a, a), unbroadcast(by_b, b)


@pointwise(source="exp({a})", dtype="float", kinds="bifc", autocast="float32")
def exp(xp, a):
    """e to the power a, element by element.

    >>> exp(tensor([0.0])).tolist()
    [1.0]
    """
    return xp.exp(a)


@exp.vjp
def _(ct, out):
    return ct * out


@pointwise(source="log({a})", dtype="float", kinds="bifc", domain=(0.2, 3.0), autocast="float32")
def log(xp, a):
    """The natural logarithm, element by element.

    >>> log(tensor([1.0])).tolist()
    [0.0]
    """
    return xp.log(a)


@log.vjp
def _(ct, a):
    return ct / a


@pointwise(source="sqrt({a})", dtype="float", kinds="bifc", domain=(0.2, 3.0))
def sqrt(xp, a):
    """The square root, element by element.

    >>> sqrt(tensor([4.0, 9.0])).tolist()
    [2.0, 3.0]
    """
    return xp.sqrt(a)


@sqrt.vjp
def _(ct, out):
    return ct / (2 * out)


@pointwise(source="tanh({a})", dtype="float", kinds="bifc")
def tanh(xp, a):
    """The hyperbolic tangent, element by element.

    >>> tanh(tensor([0.0])).tolist()
    [0.0]
    """
    out = xp.asarray(xp.tanh(a))
    if a.dtype.kind == "c":  # the sign of NumPy's zero turns with the angle at an infinity
        xp.copyto(out.imag, xp.copysign(0, a.imag), where=xp.isinf(a.real) & xp.isfinite(a.imag))
    return out


@tanh.vjp
def _(ct, out):
    return ct * (1 - out * out)


@pointwise(source="1 / (1 + exp(-{a}))", flops=3, dtype="float")
def sigmoid(xp, a):
    """1 / (1 + exp(-a)), element by element.

    >>> sigmoid(tensor([0.0])).tolist()
    [0.5]
    """
    return 1 / (1 + xp.exp(-a))


@sigmoid.vjp
def _(ct, out):
    return ct * (out * (1 - out))


@pointwise(source="{a} < 0 ? 0 : {a}", kinds="if")
def relu(xp, a):
    """max(a, 0), element by element. Its gradient at 0 is 0.

    >>> relu(tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return xp.maximum(a, 0)


@relu.vjp
def _(ct, out):
    return where(out > 0, ct, 0)


@pointwise(source="{a} > {b} || {a} != {a} ? {a} : {b}")
def maximum(xp, a, b):
    """The larger of a and b, element by element; NaN where either is. Equal elements share the gradient.

    >>> maximum(tensor([1.0, 4.0]), 2).tolist()
    [2.0, 4.0]
    """
    return xp.maximum(a, b)


@maximum.vjp
def _(ct, a, b):
    half = where(a == b, 0.5 * ct, 0)
    return unbroadcast(where(a > b, ct, half), a), unbroadcast(where(a < b, ct, half), b)


@pointwise(source="{a} < {b} || {a} != {a} ? {a} : {b}")
def minimum(xp, a, b):
    """The smaller of a and b, element by element; NaN where either is. Equal elements share the gradient.

    >>> minimum(tensor([1.0, 4.0]), 2).tolist()
    [1.0, 2.0]
    """
    return xp.minimum(a, b)


@minimum.vjp
def _(ct, a, b):
    half = where(a == b, 0.5 * ct, 0)
    return unbroadcast(where(a < b, ct, half), a), unbroadcast(where(a > b, ct, half), b)


@pointwise(
    source="{condition} ? {a} : {b}",
    kinds="bifc",
    samples=(
        sample([[True, False, True]], (2, 3), (2, 3)),
        sample([[True], [False]], (3,), ()),
        sample(True, (), ()),
    ),
)
def where(xp, condition: Mask, a, b):
    """a where the condition holds, b elsewhere.

    >>> where(tensor([True, False]), tensor([1.0, 2.0]), 0).tolist()
    [1.0, 0.0]
    """
    return xp.where(condition, a, b)


@where.vjp
def _(ct, condition, a: Spec, b: Spec):
    return None, unbroadcast(where(condition, ct, 0), a), unbroadcast(where(condition, 0, ct), b)
