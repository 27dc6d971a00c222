"""The ops, each declared once in the file of its kind."""

from .. import registry
from . import (
    activation,
    cast,
    compare,
    conv,
    grads,
    index,
    linalg,
    nll,
    norm,
    pointwise,
    pool,
    reduce,
    shape,
    softmax,
    strided,
)

__all__ = [
    "activation",
    "cast",
    "compare",
    "conv",
    "grads",
    "index",
    "linalg",
    "nll",
    "norm",
    "pointwise",
    "pool",
    "reduce",
    "shape",
    "softmax",
    "strided",
]

registry.freeze()
