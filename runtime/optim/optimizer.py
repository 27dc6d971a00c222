"""Optimizer: groups of parameters, each with its options, and a state per parameter."""

import copy
import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import _core
from .._core import Tensor, call_annotated, intern, is_recording, record_use, recording_number
from ..autograd import enable_grad, no_grad
from ..errors import ArgumentError, StateError
from ..hooks import RemovableHandle, add_hook

Group = dict[str, Any]


def _with_mark(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose calls have a name on the timeline, such as `Optimizer.step#SGD.step`."""

    names: dict[type, int] = {}

    @functools.wraps(method)
    def marked(self: "Optimizer", *args: Any, **kwargs: Any) -> Any:
        if not is_recording():
            return method(self, *args, **kwargs)
        kind = type(self)
        if kind not in names:
            names[kind] = intern(f"Optimizer.{method.__name__}#{kind.__name__}.{method.__name__}")
        return call_annotated(names[kind], method, (self, *args), kwargs)

    return marked


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step with the optimizer's hooks around it."""

    @functools.wraps(step)
    def hooked(self: "Optimizer", *args: Any, **kwargs: Any) -> Any:
        self._stepped = True
        for hook in list(self._pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        for hook in list(self._post_hooks.values()):
            hook(self, args, kwargs)
        if (recording := recording_number()) and self._told != (recording, len(self.state)):
            self._tell_memory(recording)
        return result

    return _with_mark(hooked)


class Optimizer:
    """Base of optimizers. `params`: tensors, or dicts with "params" and the options in which that group differs.

    A subclass defines `update(group, params, grads)`, or `step` itself. Every step of ours is a few calls of the core
    over all parameters, whatever PyTorch's `foreach` and `fused` say: they are taken and change nothing.
    """

    _stepped = False  # whether step was called: learning-rate schedulers ask
    _told = (0, 0)  # the recording that knows what memory is for, and how many parameters had a state then

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.param_groups: list[Group] = []
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self._pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        given = self._list(params)
        if not given:
            raise ArgumentError(f"{type(self).__name__}: there are no parameters to learn")
        for group in given if isinstance(given[0], Mapping) else [{"params": given}]:
            self.add_param_group(group)

    def __init_subclass__(cls) -> None:
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def _list(self, params: Any) -> list[Any]:
        name = type(self).__name__
        if isinstance(params, Tensor):
            raise TypeError(f"{name} takes a list of parameters, not one Tensor: write {name}([parameter])")
        if isinstance(params, set | frozenset):
            raise TypeError(f"{name} takes parameters in an order, and a set has none: give a list")
        if isinstance(params, Mapping) or not isinstance(params, Iterable):
            raise TypeError(f"{name} takes a list of parameters or of groups, not {type(params).__name__}")
        return list(params)

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Add a group of parameters; options that it does not name are the defaults."""
        name = type(self).__name__
        if not isinstance(param_group, Mapping) or "params" not in param_group:
            raise TypeError(f'{name}: a group is a dict with its parameters under "params"')
        params = param_group["params"]
        params = [params] if isinstance(params, Tensor) else self._list(params)
        known = {id(p) for other in self.param_groups for p in other["params"]}
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"{name}: parameters are Tensors, not {type(p).__name__}")
            if p.grad_fn is not None:
                raise ArgumentError(f"{name}: a parameter was computed by {p.grad_fn.name()}: give leaves")
            if id(p) in known:
                raise ArgumentError(f"{name}: a parameter is given twice")
            known.add(id(p))
        self.param_groups.append({**self.defaults, **param_group, "params": params})

    @no_grad()
    @_with_mark
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the parameters' gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad.zero_()

    @_with_hooks
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients; those without one stay. `closure` computes the loss first."""
        loss = None
        if closure:
            with enable_grad():
                loss = closure()
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

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) before each step; it may return other (args, kwargs)."""
        return add_hook(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) after each step."""
        return add_hook(self._post_hooks, hook)

    # --- state

    def _tell_memory(self, recording: int) -> None:
        """Tell the recorder which memory is parameters, gradients and state."""
        self._told = recording, len(self.state)
        params = [p for group in self.param_groups for p in group["params"]]
        record_use(params, "parameter")
        record_use([p.grad for p in params], "gradient")
        record_use([value for state in self.state.values() for value in state.values()], "optimizer_state")

    def state_dict(self) -> dict[str, Any]:
        """The options and the state, with parameters as numbers in the order of the groups."""
        numbers = {id(p): i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        return {"state": {numbers[id(p)]: dict(state) for p, state in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take options and state over; tensors of the state are copied to the dtype and device of their parameter.

        Raises StateError, with nothing changed, when they do not fit the parameters.
        """
        groups = state_dict["param_groups"]
        sizes, own = [len(g["params"]) for g in groups], [len(g["params"]) for g in self.param_groups]
        if sizes != own:
            raise StateError(f"the state has groups of {sizes} parameters, this {type(self).__name__} has {own}")
        numbers = [number for group in groups for number in group["params"]]
        params = dict(zip(numbers, (p for group in self.param_groups for p in group["params"]), strict=True))
        for number, values in state_dict["state"].items():
            for name, value in values.items():
                shape = params[number].shape
                if isinstance(value, Tensor) and value.shape != shape:
                    raise StateError(
                        f"the state's {name} has shape {value.shape} for parameter {number} of shape {shape}"
                    )
        for mine, theirs in zip(self.param_groups, groups, strict=True):
            mine.update({key: copy.deepcopy(value) for key, value in theirs.items() if key != "params"})
        self.state = defaultdict(dict)
        for number, values in state_dict["state"].items():
            p = params[number]
            self.state[p] = {name: _taken(value, p) for name, value in values.items()}

    def __repr__(self) -> str:
        groups = [", ".join(f"{k}={v!r}" for k, v in g.items() if k != "params") for g in self.param_groups]
        return f"{type(self).__name__}({'; '.join(groups)})"


def _taken(value: Any, p: Tensor) -> Any:
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    return value.to(p.device, p.dtype, copy=True)


def full_like(tensor: Tensor, value: float = 0.0) -> Tensor:
    """A place for state: one value in the shape, dtype and place of `tensor`."""
    made = _core.empty(tensor.shape, tensor.dtype, tensor._device)
    made.fill_(value)
    return made


def check(name: str, value: float, low: float, high: float = float("inf")) -> None:
    """Raise TypeError for what is no number, and ArgumentError unless low <= value < high."""
    if not isinstance(value, int | float):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    if not low <= value < high:
        raise ArgumentError(
            f"{name} must be at least {low}" + (f" and below {high}" if high < float("inf") else "") + f", not {value}"
        )
