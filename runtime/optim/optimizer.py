"""Optimizer: groups of parameters, each with its options, and a state per parameter."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import _core
from .._core import Tensor
from ..errors import ArgumentError, StateError
from ..ops.cast import copy_

Group = dict[str, Any]


class Optimizer:
    """Base of optimizers. `params`: tensors, or dicts with "params" and the options in which that group differs.

    A subclass defines `update(group, params, grads)`.
    """

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.param_groups: list[Group] = []
        self.state: dict[Tensor, dict[str, Any]] = {}
        given = list(params)
        if not given:
            raise ArgumentError(f"{type(self).__name__}: there are no parameters to learn")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Add a group of parameters; options that it does not name are the defaults."""
        params = group["params"]
        params = [params] if isinstance(params, Tensor) else list(params)
        unknown = set(group) - set(self.defaults) - {"params"}
        if unknown:
            raise ArgumentError(f"{type(self).__name__}: it has no option {', '.join(sorted(unknown))}")
        known = {id(p) for other in self.param_groups for p in other["params"]}
        for p in params:
            if not isinstance(p, Tensor):
                raise ArgumentError(f"{type(self).__name__}: parameters are Tensors, not {type(p).__name__}")
            if p.grad_fn is not None:
                raise ArgumentError(
                    f"{type(self).__name__}: a parameter was computed by {p.grad_fn.name()}: give leaves"
                )
            if id(p) in known:
                raise ArgumentError(f"{type(self).__name__}: a parameter is given twice")
            known.add(id(p))
        self.param_groups.append({**self.defaults, **group, "params": params})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the parameters' gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    copy_(p.grad.detach(), 0)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients; those without one stay. `closure` computes the loss first."""
        loss = closure() if closure else None
        for group in self.param_groups:
            params: list[Tensor] = []
            grads: list[Tensor] = []
            for p in group["params"]:
                grad = p.grad
                if grad is not None:
                    params.append(p)
                    grads.append(grad)
            if params:
                self.update(group, params, grads)
        return loss

    def update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        """Change params in place; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} defines no update(self, group, params, grads)")

    def state_dict(self) -> dict[str, Any]:
        """The options and the state, with parameters as numbers in the order of the groups."""
        numbers = {id(p): i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        return {"state": {numbers[id(p)]: dict(state) for p, state in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take options and state over. Raises StateError, with nothing changed, when they do not fit the parameters."""
        groups = state["param_groups"]
        sizes, own = [len(g["params"]) for g in groups], [len(g["params"]) for g in self.param_groups]
        if sizes != own:
            raise StateError(f"the state has groups of {sizes} parameters, this {type(self).__name__} has {own}")
        params = [p for group in self.param_groups for p in group["params"]]
        for number, values in state["state"].items():
            for name, value in values.items():
                shape = params[number].shape
                if isinstance(value, Tensor) and value.shape != shape:
                    raise StateError(
                        f"the state's {name} has shape {value.shape} for parameter {number} of shape {shape}"
                    )
        for mine, theirs in zip(self.param_groups, groups, strict=True):
            mine.update({key: value for key, value in theirs.items() if key != "params"})
        self.state = {
            params[number]: {name: v.copy() if isinstance(v, Tensor) else v for name, v in values.items()}
            for number, values in state["state"].items()
        }

    def __repr__(self) -> str:
        groups = [", ".join(f"{k}={v!r}" for k, v in g.items() if k != "params") for g in self.param_groups]
        return f"{type(self).__name__}({'; '.join(groups)})"


def zeros_like(tensor: Tensor) -> Tensor:
    """A place for state: zeros in the shape and dtype of `tensor`."""
    made = _core.empty(tensor.shape, tensor.dtype)
    copy_(made, 0)
    return made


def check(name: str, value: float, low: float, high: float = float("inf")) -> None:
    """Raise ArgumentError unless low <= value < high."""
    if not low <= value < high:
        raise ArgumentError(
            f"{name} must be at least {low}" + (f" and below {high}" if high < float("inf") else "") + f", not {value}"
        )
