"""Building blocks of models, with PyTorch's names and meanings."""

from . import functional, init, utils
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .layers import *  # noqa: F403
from .layers import __all__ as _layers
from .module import Module
from .parameter import Parameter

__all__ = [
    *_layers,
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "functional",
    "init",
    "utils",
]
