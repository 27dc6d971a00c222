"""PyTorch's places for what has a place of its own here."""

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
