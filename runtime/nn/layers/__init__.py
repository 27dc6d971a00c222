"""Layers and losses as modules."""

from .activation import GELU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh
from .conv import Conv2d
from .linear import Flatten, Identity, Linear
from .loss import CrossEntropyLoss
from .norm import LayerNorm
from .pool import MaxPool2d
from .sparse import Embedding

__all__ = [
    "GELU",
    "Conv2d",
    "CrossEntropyLoss",
    "Embedding",
    "Flatten",
    "Identity",
    "LayerNorm",
    "Linear",
    "LogSoftmax",
    "MaxPool2d",
    "ReLU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Tanh",
]
