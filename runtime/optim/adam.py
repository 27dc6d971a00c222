"""Adam and AdamW."""

from collections.abc import Iterable
from typing import Any

from .. import _core
from .._core import Tensor
from .optimizer import Group, Optimizer, check, full_like


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015); amsgrad: with the largest mean square so far (Reddi and others 2018).

    weight_decay is added to the gradient; decoupled_weight_decay makes it AdamW's.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check("lr", lr, 0)
        check("eps", eps, 0)
        check("weight_decay", weight_decay, 0)
        for i, beta in enumerate(betas):
            check(f"betas[{i}]", beta, 0, 1)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        by_step: dict[int, list[int]] = {}  # parameters whose gradients came equally often, nearly always all of them
        states = []
        for i, p in enumerate(params):
            state = self.state[p]
            if not state:
                state["step"] = 0
                state.update({name: full_like(p) for name in names})
            state["step"] += 1
            states.append(state)
            by_step.setdefault(state["step"], []).append(i)
        beta1, beta2 = group["betas"]
        for step, chosen in by_step.items():
            _core.adam_step(
                [
                    [params[i] for i in chosen],
                    [grads[i] for i in chosen],
                    *([states[i][name] for i in chosen] for name in names),
                ],
                step,
                group["lr"],
                beta1,
                beta2,
                group["eps"],
                group["weight_decay"],
                group["maximize"],
                group["decoupled_weight_decay"],
            )


class AdamW(Adam):
    """Adam with weight decay apart from the gradient: p -= lr * weight_decay * p (Loshchilov and Hutter 2019)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True)
