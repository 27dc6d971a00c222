"""Schedules that move the momentum against the learning rate."""

import math
from collections.abc import Callable
from typing import Any

from ...errors import ArgumentError
from ..optimizer import Group, Optimizer
from .scheduler import LRScheduler, check_optimizer, per_group


def _check_momentum(scheduler: LRScheduler, optimizer: Optimizer) -> None:
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ArgumentError(
            f"{type(scheduler).__name__}: {type(optimizer).__name__} has no momentum: give cycle_momentum=False"
        )


def _set_momentum(group: Group, momentum: float) -> None:
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CyclicLR(LRScheduler):
    """Up a line from base_lr to max_lr in step_size_up steps and down in step_size_down, again and again (Smith 2017).

    mode: "triangular"; "triangular2", each cycle half as high; "exp_range", heights gamma ** step. scale_fn(x) gives
    heights of its own, of the cycle's number from 1 or the step's, as scale_mode "cycle" or "iterations" says. The
    momentum, or beta1, goes down from max_momentum to base_momentum meanwhile.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ArgumentError(f"CyclicLR: mode is triangular, triangular2 or exp_range, not '{mode}'")
        low, self.max_lrs = per_group("base_lr", base_lr, optimizer), per_group("max_lr", max_lr, optimizer)
        self.step_size_up = step_size_up
        self.total_size = step_size_up + (step_size_up if step_size_down is None else step_size_down)
        self.mode = mode
        self.gamma = gamma
        self.scale_fn = scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _check_momentum(self, optimizer)
            self.base_momentums = per_group("base_momentum", base_momentum, optimizer)
            self.max_momentums = per_group("max_momentum", max_momentum, optimizer)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, low, strict=True):
                group["lr"] = lr
        super().__init__(optimizer, last_epoch)
        self.base_lrs = low

    def _scale(self, cycle: int) -> float:
        x = cycle if self.scale_mode == "cycle" else self.last_epoch
        if self.scale_fn is not None:
            return self.scale_fn(x)
        return float({"triangular": 1, "triangular2": 2.0 ** (1 - x), "exp_range": self.gamma**x}[self.mode])

    def get_lr(self) -> list[float]:
        cycle, at = divmod(self.last_epoch, self.total_size)
        up = at / self.step_size_up
        height = up if up <= 1 else (self.total_size - at) / (self.total_size - self.step_size_up)
        height *= self._scale(cycle + 1)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                _set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Everything that it knows but the optimizer and scale_fn."""
        return {name: value for name, value in super().state_dict().items() if name != "scale_fn"}


class OneCycleLR(LRScheduler):
    """Up to max_lr in the first pct_start of all steps, and down to far below where it began (Smith and Topin 2019).

    From max_lr / div_factor to max_lr, then to max_lr / div_factor / final_div_factor; with three_phase, back to the
    beginning in as many steps as up, then down. anneal_strategy: "cos" or "linear". The momentum, or beta1, goes from
    max_momentum to base_momentum and back. All steps: total_steps, or epochs * steps_per_epoch.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ArgumentError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if total_steps < 1:
            raise ArgumentError(f"OneCycleLR: there must be a step at least, total_steps is {total_steps}")
        if not 0 <= pct_start <= 1:
            raise ArgumentError(f"OneCycleLR: pct_start must lie between 0 and 1, it is {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ArgumentError(f"OneCycleLR: anneal_strategy is cos or linear, not '{anneal_strategy}'")
        self.total_steps = total_steps
        self.anneal_strategy = anneal_strategy
        self.cycle_momentum = cycle_momentum
        # Where each phase ends, and between which of a group's values it goes.
        phases = [(pct_start * total_steps - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            phases += [
                (2 * pct_start * total_steps - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            phases += [(total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        self.phases = phases
        if cycle_momentum:
            _check_momentum(self, optimizer)
        if last_epoch == -1:
            tops = per_group("max_lr", max_lr, optimizer)
            lows = per_group("base_momentum", base_momentum, optimizer)
            highs = per_group("max_momentum", max_momentum, optimizer)
            for group, top, low, high in zip(optimizer.param_groups, tops, lows, highs, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = top / div_factor / final_div_factor
                if cycle_momentum:
                    group["base_momentum"], group["max_momentum"] = low, high
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, way: float) -> float:
        if self.anneal_strategy == "linear":
            return start + (end - start) * way
        return end + (start - end) * (1 + math.cos(math.pi * way)) / 2

    def get_lr(self) -> list[float]:
        if self.last_epoch > self.total_steps:
            raise ArgumentError(f"OneCycleLR: step {self.last_epoch} of {self.total_steps}: the schedule has ended")
        begin = 0.0
        for phase in self.phases:
            end, from_lr, to_lr, from_momentum, to_momentum = phase
            if self.last_epoch <= end or phase is self.phases[-1]:
                break
            begin = end
        way = (self.last_epoch - begin) / (end - begin) if end != begin else 1.0
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                _set_momentum(group, self._between(group[from_momentum], group[to_momentum], way))
        return [self._between(group[from_lr], group[to_lr], way) for group in groups]
