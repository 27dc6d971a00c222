"""RMSprop."""

from collections.abc import Iterable
from typing import Any

from .. import _core
from .._core import Tensor
from .optimizer import Group, Optimizer, check, full_like


class RMSprop(Optimizer):
    """p -= lr * g / (sqrt(mean of g * g) + eps) (Tieleman and Hinton 2012), with momentum.

    centered: the square of g's mean is taken off the mean square first (Graves 2013).
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
    ) -> None:
        check("lr", lr, 0)
        check("alpha", alpha, 0)
        check("eps", eps, 0)
        check("weight_decay", weight_decay, 0)
        check("momentum", momentum, 0)
        super().__init__(
            params,
            {
                "lr": lr,
                "alpha": alpha,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "centered": centered,
                "maximize": maximize,
            },
        )

    def update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        names = ["square_avg"]
        names += ["momentum_buffer"] * (group["momentum"] != 0) + ["grad_avg"] * group["centered"]
        for p in params:
            state = self.state[p]
            if not state:
                state["step"] = 0
                state.update({name: full_like(p) for name in names})
            state["step"] += 1
        _core.rmsprop_step(
            [params, grads, *([self.state[p][name] for p in params] for name in names)],
            group["lr"],
            group["alpha"],
            group["eps"],
            group["weight_decay"],
            group["momentum"],
            group["centered"],
            group["maximize"],
        )
