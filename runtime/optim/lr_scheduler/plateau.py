"""A schedule that follows a measured value."""

import math
from typing import Any

from ...errors import ArgumentError
from ..optimizer import Optimizer
from .scheduler import LRScheduler, check_optimizer, per_group


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the learning rate by `factor` after `patience` steps in which a value got no better.

    `step(value)` takes the value. Better is below (mode "min") or above ("max") the best by `threshold`: a fraction of
    it (threshold_mode "rel") or so much ("abs"). After a reduction `cooldown` steps do not count. The learning rate
    does not go below min_lr, a number or one for each group, and changes of at most eps are left out.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise ArgumentError(f"ReduceLROnPlateau: factor must be below 1, not {factor}")
        if mode not in ("min", "max"):
            raise ArgumentError(f"ReduceLROnPlateau: mode is min or max, not '{mode}'")
        if threshold_mode not in ("rel", "abs"):
            raise ArgumentError(f"ReduceLROnPlateau: threshold_mode is rel or abs, not '{threshold_mode}'")
        self.optimizer = check_optimizer(self, optimizer)
        self.min_lrs = per_group("min_lr", min_lr, optimizer)
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0
        self.last_epoch = 0
        self._last_lr = self._current()

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Go to the next epoch, with the value that was measured in this one: a number or a tensor with one."""
        value = float(metrics)
        self.last_epoch += 1
        if self._is_better(value):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
            self._set([self._reduced(lr, low) for lr, low in zip(self._current(), self.min_lrs, strict=True)])
        self._last_lr = self._current()

    def _reduced(self, lr: float, low: float) -> float:
        reduced = max(lr * self.factor, low)
        return reduced if lr - reduced > self.eps else lr

    def _is_better(self, value: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        bar = (
            self.best * (1 + sign * self.threshold)
            if self.threshold_mode == "rel"
            else self.best + sign * self.threshold
        )
        return sign * value > sign * bar
