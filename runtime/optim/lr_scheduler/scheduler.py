"""LRScheduler: what all schedulers share."""

import warnings
from collections.abc import Mapping
from typing import Any

from ...errors import ArgumentError, StateError
from ..optimizer import Optimizer


class LRScheduler:
    """Base of schedulers. A subclass defines `get_lr()`: the learning rate of each group at `last_epoch`.

    last_epoch counts the steps; given, other than -1, training goes on there, and the groups have an "initial_lr".
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = check_optimizer(self, optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise StateError(
                    f"{type(self).__name__}: group {i} has no initial_lr, which last_epoch={last_epoch} needs: "
                    "load the optimizer's state first"
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[float]:
        """The learning rate of each group at last_epoch, from those of the epoch before."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr(self)")

    def get_last_lr(self) -> list[float]:
        """The learning rates that the last step set."""
        return self._last_lr

    def step(self) -> None:
        """Go to the next epoch. Call it after the optimizer's step."""
        if self._step_count == 1 and not self.optimizer._stepped:
            warnings.warn(
                f"{type(self).__name__}.step() came before the optimizer's step(), so that the first learning rate of "
                "the schedule is skipped: call it after",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        self.last_epoch += 1
        self._set(self.get_lr())

    def _restart(self) -> None:
        """Go to epoch 0."""
        self.last_epoch = 0
        self._set(self._lr_from_base())

    def _lr_from_base(self) -> list[float]:
        """The learning rates at last_epoch, from the initial ones where a scheduler can tell."""
        return self.get_lr()

    def _set(self, lrs: list[float]) -> None:
        for group, lr in zip(self.optimizer.param_groups, lrs, strict=True):
            group["lr"] = lr
        self._last_lr = list(lrs)

    def _current(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything that it knows but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what state_dict gave. Load the optimizer's state too."""
        self.__dict__.update(state_dict)


def check_optimizer(scheduler: object, optimizer: Optimizer) -> Optimizer:
    """Raise TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(scheduler).__name__} takes an Optimizer, not {type(optimizer).__name__}")
    return optimizer


def per_group(name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """One value for each group: those of a list, or the same for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise ArgumentError(f"{name} has {len(value)} items for {count} groups of parameters")
    return list(value)
