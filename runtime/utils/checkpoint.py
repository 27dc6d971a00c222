"""perflab.runtime.checkpoint, under PyTorch's name."""

from ..checkpoint import checkpoint

__all__ = ["checkpoint"]
