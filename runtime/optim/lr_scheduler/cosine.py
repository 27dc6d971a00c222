"""Schedules along a cosine."""

import math

from ...errors import ArgumentError
from ..optimizer import Optimizer
from .scheduler import LRScheduler


class CosineAnnealingLR(LRScheduler):
    """eta_min + (initial - eta_min) * (1 + cos(pi * epoch / T_max)) / 2 (Loshchilov and Hutter 2017, without restarts).

    Each step is computed from the one before, so that schedules chain.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_max < 1:
            raise ArgumentError(f"CosineAnnealingLR: T_max must be at least 1, not {T_max}")
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self._is_initial:
            return self._current()
        now, before = self._height(self.last_epoch), self._height(self.last_epoch - 1)
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # up from the bottom, where the ratio is 0 / 0
            return [lr + (base - self.eta_min) * now for lr, base in zip(self._current(), self.base_lrs, strict=True)]
        return [self.eta_min + (lr - self.eta_min) * (now / before) for lr in self._current()]

    def _height(self, epoch: int) -> float:
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def _lr_from_base(self) -> list[float]:
        return [self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down a cosine in T_0 epochs, then in T_0 * T_mult, and so on (Loshchilov and Hutter 2017).

    `step(epoch)` goes to an epoch that may be a fraction, for steps after each batch.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ArgumentError(f"CosineAnnealingWarmRestarts: {name} is an int of at least 1, not {value!r}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ArgumentError(f"CosineAnnealingWarmRestarts: the epoch must not be negative, it is {epoch}")
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())

    def _go_to(self, epoch: float) -> None:
        start, length = 0, self.T_0
        if self.T_mult == 1:
            start = math.floor(epoch / length) * length
        else:
            while epoch >= start + length:
                start, length = start + length, length * self.T_mult
        self.T_cur, self.T_i = epoch - start, length

    def _restart(self) -> None:
        self.step(0)
