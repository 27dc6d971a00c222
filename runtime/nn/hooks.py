"""Hooks of modules: functions that are called around forward and backward."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .._core import Tensor
from ..autograd import Function, is_grad_enabled
from ..errors import ArgumentError, AutogradError
from ..hooks import RemovableHandle, add_hook

if TYPE_CHECKING:
    from .module import Module


class ForwardHook(NamedTuple):
    function: Callable[..., Any]
    with_kwargs: bool
    always_call: bool


class ModuleHooks:
    """What is called around a module's forward and backward, and around its state dict."""

    def __init__(self) -> None:
        self.forward_pre: OrderedDict[int, ForwardHook] = OrderedDict()
        self.forward: OrderedDict[int, ForwardHook] = OrderedDict()
        self.backward_pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.backward: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.state_dict_pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.state_dict: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.load_pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.load: OrderedDict[int, Callable[..., Any]] = OrderedDict()

    def call(self, module: "Module", forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """forward(*args, **kwargs) with the hooks around it."""
        waiting = {key: hook for key, hook in self.forward.items() if hook.always_call}
        try:
            args, kwargs = self._before(module, args, kwargs)
            watch = _Watch(module, self) if self.backward or self.backward_pre else None
            if watch:
                args = watch.inputs(args)
            result = forward(*args, **kwargs)
            for key, hook in list(self.forward.items()):
                waiting.pop(key, None)
                changed = _run(hook, module, args, kwargs, result)
                result = result if changed is None else changed
            return watch.outputs(result) if watch else result
        except BaseException:
            for hook in waiting.values():
                _run(hook, module, args, kwargs, None)
            raise

    def _before(
        self, module: "Module", args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for hook in list(self.forward_pre.values()):
            changed = _run(hook, module, args, kwargs)
            if changed is None:
                continue
            if not hook.with_kwargs:
                args = changed if isinstance(changed, tuple) else (changed,)
            elif isinstance(changed, tuple) and len(changed) == 2:
                args, kwargs = changed
            else:
                raise ArgumentError(
                    f"{type(module).__name__}: a forward pre-hook with kwargs gives None or (args, kwargs)"
                )
        return args, kwargs


def _run(hook: ForwardHook, module: "Module", args: Any, kwargs: Any, *result: Any) -> Any:
    return hook.function(module, args, kwargs, *result) if hook.with_kwargs else hook.function(module, args, *result)


class Hooked:
    """The base of modules in which hooks are registered. Each handle's remove() takes its hook away."""

    _hooks: ModuleHooks | None = None

    def _hold_hooks(self) -> ModuleHooks:
        if self._hooks is None:
            self._hooks = ModuleHooks()
        return self._hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args) before forward; what it returns, unless None, becomes the arguments.

        with_kwargs: hook(module, args, kwargs), which returns both.
        """
        return add_hook(self._hold_hooks().forward_pre, ForwardHook(hook, with_kwargs, False), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args, output) after forward; what it returns, unless None, becomes the output.

        with_kwargs: hook(module, args, kwargs, output). always_call: also, with output None, when forward raises.
        """
        return add_hook(self._hold_hooks().forward, ForwardHook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_output) when the gradients of the outputs are there; it may return others."""
        return add_hook(self._hold_hooks().backward_pre, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) when the gradients of the inputs are there; it may return others.

        Both are tuples with None for what is no tensor or needs no gradient; keyword arguments are left out.
        """
        return add_hook(self._hold_hooks().backward, hook, prepend)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before the module's part of a state dict is made."""
        return add_hook(self._hold_hooks().state_dict_pre, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, {}) when this part and those below are in; it may change the dict."""
        return add_hook(self._hold_hooks().state_dict, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, {}, strict, missing, unexpected, errors) before it is compared.

        It may change the state dict, which is a copy, and add to the three lists.
        """
        return add_hook(self._hold_hooks().load_pre, hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, incompatible_keys) after the values are copied; it may change the lists in there."""
        return add_hook(self._hold_hooks().load, hook)


Gradients = tuple[Tensor | None, ...]


class _Watch:
    """One call of a module under backward hooks: gradients pass through it at the outputs and at the inputs."""

    def __init__(self, module: "Module", hooks: ModuleHooks) -> None:
        self._module = module
        self._pre = list(hooks.backward_pre.values())
        self._hooks = list(hooks.backward.values())
        self._arguments = 0
        self._places: list[int] | None = None  # of the tensors among the arguments, where one requires grad
        self._grad_output: Gradients = ()

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self._arguments = len(args)
        args, self._places = _pass_through(self._at_inputs, args)
        return args

    def outputs(self, result: Any) -> Any:
        watched, places = _pass_through(self._at_outputs, result if isinstance(result, tuple) else (result,))
        self._results, self._result_places = len(watched), places or []
        return watched if isinstance(result, tuple) else watched[0]

    def _at_outputs(self, gradients: Gradients) -> Gradients:
        for hook in self._pre:
            changed = hook(self._module, _spread(gradients, self._result_places, self._results))
            if changed is not None:
                gradients = self._replaced(changed, self._result_places, self._results)
        self._grad_output = _spread(gradients, self._result_places, self._results)
        if self._places is None:  # nothing flows on: this is the end of the module's backward pass
            for hook in self._hooks:
                changed = hook(self._module, (None,) * self._arguments, self._grad_output)
                if changed is not None and any(g is not None for g in changed):
                    raise AutogradError(
                        f"{type(self._module).__name__}: a backward hook gave gradients of inputs that need none"
                    )
        return gradients

    def _at_inputs(self, gradients: Gradients) -> Gradients:
        assert self._places is not None
        for hook in self._hooks:
            changed = hook(self._module, _spread(gradients, self._places, self._arguments), self._grad_output)
            if changed is not None:
                gradients = self._replaced(changed, self._places, self._arguments)
        return gradients

    def _replaced(self, changed: Any, places: list[int], count: int) -> Gradients:
        changed = changed if isinstance(changed, tuple) else (changed,)
        if len(changed) != count:
            raise AutogradError(
                f"{type(self._module).__name__}: a backward hook gave {len(changed)} gradients in the place of {count}"
            )
        return tuple(changed[place] for place in places)


def _spread(gradients: Gradients, places: list[int], count: int) -> Gradients:
    """The gradients at their places among `count`, None elsewhere."""
    spread: list[Tensor | None] = [None] * count
    for place, gradient in zip(places, gradients, strict=True):
        spread[place] = gradient
    return tuple(spread)


def _pass_through(
    change: Callable[[Gradients], Gradients], values: tuple[Any, ...]
) -> tuple[tuple[Any, ...], list[int] | None]:
    """The values, and the places of the tensors whose gradients now go through `change`; None: none needs one."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return values, None
    passed = list(values)
    for place, tensor in zip(places, _PassThrough.apply(change, *(values[i] for i in places)), strict=True):
        passed[place] = tensor
    return tuple(passed), places


class _PassThrough(Function):
    """Its arguments, and their gradients through a function."""

    @staticmethod
    def forward(ctx: Any, change: Callable[[Gradients], Gradients], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.change = change
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        needed = tuple(g if n else None for g, n in zip(gradients, ctx.needs_input_grad[1:], strict=True))
        return None, *ctx.change(needed)
