"""Building blocks of models, with PyTorch's names and meanings."""

from . import functional, init
from .layers import *  # noqa: F403
from .layers import __all__ as _layers
from .module import Module, ModuleList, Parameter, Sequential

__all__ = [
    *_layers,
    "Module",
    "ModuleList",
    "Parameter",
    "Sequential",
    "functional",
    "init",
]
