"""Autograd as Python sees it: modes, the graph's nodes, functions with a gradient written by hand."""

from . import graph
from .backward import backward, grad
from .function import Function
from .modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = ["Function", "backward", "enable_grad", "grad", "graph", "is_grad_enabled", "no_grad", "set_grad_enabled"]
