"""Optimizers, with PyTorch's names and formulas; each step is one call of the core over all parameters."""

from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
