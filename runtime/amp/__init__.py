"""Mixed precision."""

from ..autocast import autocast
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
