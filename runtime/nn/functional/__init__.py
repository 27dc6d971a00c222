"""Layers and losses as functions."""

from .activation import gelu, log_softmax, relu, sigmoid, silu, softmax, tanh
from .conv import conv2d
from .linear import linear
from .loss import cross_entropy
from .norm import layer_norm
from .pool import max_pool2d
from .sparse import embedding

__all__ = [
    "conv2d",
    "cross_entropy",
    "embedding",
    "gelu",
    "layer_norm",
    "linear",
    "log_softmax",
    "max_pool2d",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "tanh",
]
