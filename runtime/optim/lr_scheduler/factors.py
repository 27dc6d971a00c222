"""Schedules that multiply the initial learning rate by a factor of the epoch alone."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...errors import ArgumentError
from ..optimizer import Optimizer
from .scheduler import LRScheduler, per_group


class _FactorLR(LRScheduler):
    """A subclass defines `factor(epoch)`. Each step multiplies by the ratio of two factors, so that schedules chain."""

    def factor(self, epoch: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} defines no factor(self, epoch)")

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [lr * self.factor(0) for lr in self._current()]
        now, before = self.factor(self.last_epoch), self.factor(self.last_epoch - 1)
        if self._is_initial or now == before:
            return self._current()
        return [lr * (now / before) for lr in self._current()] if before else self._lr_from_base()

    def _lr_from_base(self) -> list[float]:
        return [base * self.factor(self.last_epoch) for base in self.base_lrs]


class StepLR(_FactorLR):
    """gamma ** (epoch // step_size)."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if step_size < 1:
            raise ArgumentError(f"StepLR: step_size must be at least 1, not {step_size}")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        return float(self.gamma ** (epoch // self.step_size))


class MultiStepLR(_FactorLR):
    """gamma to the number of milestones that are passed."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = sorted(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        return float(self.gamma ** bisect_right(self.milestones, epoch))


class ConstantLR(_FactorLR):
    """`factor` until total_iters, 1 from there on."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 < factor <= 1:
            raise ArgumentError(f"ConstantLR: factor must be above 0 and at most 1, not {factor}")
        self.start_factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        return self.start_factor if epoch < self.total_iters else 1.0


class LinearLR(_FactorLR):
    """From start_factor to end_factor on a line, until total_iters."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ArgumentError(f"LinearLR: start_factor must be above 0 and at most 1, not {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ArgumentError(f"LinearLR: end_factor must lie between 0 and 1, it is {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        way = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * way


class ExponentialLR(_FactorLR):
    """gamma ** epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        return float(self.gamma**epoch)


class PolynomialLR(_FactorLR):
    """(1 - epoch / total_iters) ** power, 0 from total_iters on."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int) -> float:
        return float((1 - min(epoch, self.total_iters) / self.total_iters) ** self.power)


class _ByFunction(LRScheduler):
    """One function for all groups, or a list of one for each. Functions are no part of the state dict."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Callable[[int], float]] = per_group("lr_lambda", lr_lambda, optimizer)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"{type(self).__name__}: lr_lambda is a function, not {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything that it knows but the optimizer and the functions; of callable objects, their attributes."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(f, type(lambda: 0)) or not hasattr(f, "__dict__") else dict(f.__dict__)
            for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what state_dict gave, and keep the functions."""
        functions = self.lr_lambdas
        super().load_state_dict(state_dict)
        for function, attributes in zip(functions, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)
        self.lr_lambdas = functions


class LambdaLR(_ByFunction):
    """lr_lambda(epoch) times the initial learning rate."""

    def get_lr(self) -> list[float]:
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_ByFunction):
    """lr_lambda(epoch) times the learning rate of the epoch before."""

    def get_lr(self) -> list[float]:
        if self._is_initial:
            return self._current()
        return [lr * f(self.last_epoch) for lr, f in zip(self._current(), self.lr_lambdas, strict=True)]
