"""The ops, each declared once in the file of its kind."""

from .. import registry
from . import cast, compare, grads, index, linalg, pointwise, reduce, shape, softmax

__all__ = ["cast", "compare", "grads", "index", "linalg", "pointwise", "reduce", "shape", "softmax"]

registry.freeze()
