"""The ops, each declared once in the file of its kind."""

from .. import registry
from . import (
    activation,
    bitwise,
    blend,
    bounds,
    cast,
    compare,
    conv,
    exponential,
    grads,
    index,
    linalg,
    nll,
    norm,
    pointwise,
    pool,
    reduce,
    rounding,
    shape,
    softmax,
    statistics,
    strided,
    trig,
)

__all__ = [
    "activation",
    "bitwise",
    "blend",
    "bounds",
    "cast",
    "compare",
    "conv",
    "exponential",
    "grads",
    "index",
    "linalg",
    "nll",
    "norm",
    "pointwise",
    "pool",
    "reduce",
    "rounding",
    "shape",
    "softmax",
    "statistics",
    "strided",
    "trig",
]

registry.freeze()
