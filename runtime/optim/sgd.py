"""Stochastic gradient descent."""

from collections.abc import Iterable
from typing import Any

from .. import _core
from .._core import Tensor
from ..errors import ArgumentError
from .optimizer import Group, Optimizer, check, full_like


class SGD(Optimizer):
    """p -= lr * g, with PyTorch's momentum, dampening, weight decay (added to g), Nesterov form and `maximize`."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        check("lr", lr, 0)
        check("momentum", momentum, 0)
        check("weight_decay", weight_decay, 0)
        if nesterov and (momentum == 0 or dampening != 0):
            raise ArgumentError("nesterov needs a momentum, and no dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if group["momentum"] == 0:
            return _step(group, [params, grads])
        fresh = ["momentum_buffer" not in self.state[p] for p in params]
        for first in (True, False):  # a first step fills the buffers
            chosen = [i for i, new in enumerate(fresh) if new is first]
            if not chosen:
                continue
            some = [params[i] for i in chosen]
            if first:
                for p in some:
                    self.state[p]["momentum_buffer"] = full_like(p)
            buffers = [self.state[p]["momentum_buffer"] for p in some]
            _step(group, [some, [grads[i] for i in chosen], buffers], first)


def _step(group: Group, tensors: list[list[Tensor]], first: bool = False) -> None:
    _core.sgd_step(
        tensors,
        group["lr"],
        group["momentum"],
        group["dampening"],
        group["weight_decay"],
        group["nesterov"],
        group["maximize"],
        first,
    )
