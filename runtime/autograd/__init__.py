"""Autograd as Python sees it: modes, the graph's nodes, hooks, functions with a gradient written by hand, checks."""

from . import functional, graph
from .anomaly import detect_anomaly, set_detect_anomaly
from .backward import backward, grad
from .function import Function, once_differentiable
from .gradcheck import gradcheck, gradgradcheck
from .modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]
