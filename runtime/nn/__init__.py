"""Building blocks of models, with PyTorch's names and meanings."""

from . import functional, init
from .layers import Embedding, Linear, LogSoftmax, ReLU, Sigmoid, Softmax, Tanh
from .losses import CrossEntropyLoss
from .module import Module, ModuleList, Parameter, Sequential

__all__ = [
    "CrossEntropyLoss",
    "Embedding",
    "Linear",
    "LogSoftmax",
    "Module",
    "ModuleList",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "functional",
    "init",
]
