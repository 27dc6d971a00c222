"""PyTorch's places for what has a place of its own here."""

from . import data

__all__ = ["data"]
