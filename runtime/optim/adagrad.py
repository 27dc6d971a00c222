"""Adagrad."""

from collections.abc import Iterable
from typing import Any

from .. import _core
from .._core import Tensor
from .optimizer import Group, Optimizer, check, full_like


class Adagrad(Optimizer):
    """p -= lr / (1 + (step - 1) * lr_decay) * g / (sqrt(sum of g * g) + eps) (Duchi and others 2011).

    The sum starts at initial_accumulator_value.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        check("lr", lr, 0)
        check("lr_decay", lr_decay, 0)
        check("weight_decay", weight_decay, 0)
        check("initial_accumulator_value", initial_accumulator_value, 0)
        check("eps", eps, 0)
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "eps": eps,
                "maximize": maximize,
            },
        )

    def update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        by_step: dict[int, list[int]] = {}  # parameters whose gradients came equally often
        for i, p in enumerate(params):
            state = self.state[p]
            if not state:
                state.update(step=0, sum=full_like(p, group["initial_accumulator_value"]))
            state["step"] += 1
            by_step.setdefault(state["step"], []).append(i)
        for step, chosen in by_step.items():
            some = [params[i] for i in chosen]
            _core.adagrad_step(
                [some, [grads[i] for i in chosen], [self.state[p]["sum"] for p in some]],
                group["lr"] / (1 + (step - 1) * group["lr_decay"]),
                group["eps"],
                group["weight_decay"],
                group["maximize"],
            )
