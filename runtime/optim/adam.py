"""Adam and AdamW."""

from collections.abc import Iterable
from typing import Any

from .. import _core
from .._core import Tensor
from .optimizer import Group, Optimizer, check, zeros_like


class AdamW(Optimizer):
    """Adam with weight decay apart from the gradient: p -= lr * weight_decay * p before each step."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        *,
        maximize: bool = False,
    ) -> None:
        check("lr", lr, 0)
        check("eps", eps, 0)
        check("weight_decay", weight_decay, 0)
        for i, beta in enumerate(betas):
            check(f"betas[{i}]", beta, 0, 1)
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        )

    def update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        by_step: dict[int, list[int]] = {}  # parameters whose gradients came equally often, nearly always all of them
        states = []
        for i, p in enumerate(params):
            state = self.state.get(p)
            if state is None:
                state = self.state[p] = {"step": 0, "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}
            state["step"] += 1
            states.append(state)
            by_step.setdefault(state["step"], []).append(i)
        beta1, beta2 = group["betas"]
        for step, chosen in by_step.items():
            _core.adamw_step(
                [params[i] for i in chosen],
                [grads[i] for i in chosen],
                [states[i]["exp_avg"] for i in chosen],
                [states[i]["exp_avg_sq"] for i in chosen],
                step,
                group["lr"],
                beta1,
                beta2,
                group["eps"],
                group["weight_decay"],
                group["maximize"],
            )


class Adam(AdamW):
    """Adam without weight decay (AdamW has it)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, 0.0, maximize=maximize)
