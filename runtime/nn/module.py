"""Module: parameters and submodules under one forward function."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, overload

from .. import _core
from .._core import Tensor, is_recording, set_scope
from ..errors import StateError
from ..ops.cast import copy_


class Parameter(Tensor):
    """A tensor that a module learns: a leaf that requires grad, and shares the memory of `data`."""

    def __new__(cls, data: Tensor, requires_grad: bool = True) -> Self:
        made = super().__new__(cls, data)
        made.requires_grad_(requires_grad)
        return made

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Module:
    """Base of layers and models. Parameters, buffers and submodules are its attributes; `forward` computes.

    They are found by looking at the attributes, in the order of their assignment, so reading one costs nothing extra.
    """

    training = True
    _scope = 0  # the recorder's number for this module's path

    def __init__(self) -> None:
        self._buffers: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # buffers, and what only a model's author knows

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward(self, ...)")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_recording():
            return self.forward(*args, **kwargs)
        outer = set_scope(self._scope or self._name_scopes())
        try:
            return self.forward(*args, **kwargs)
        finally:
            set_scope(outer)

    def _name_scopes(self) -> int:
        """Give this module and those below the paths that stand on the events of what they run; its own comes back."""
        root = type(self).__name__
        for path, module in self.named_modules():
            module._scope = _core.intern(_joined(root, path) if path else root)
        return self._scope

    # --- what it holds

    def register_buffer(self, name: str, tensor: Tensor | None) -> None:
        """Hold a tensor that is part of the state and no parameter, as the attribute `name`."""
        self._buffers = (*self._buffers, name)
        setattr(self, name, tensor)

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Hold a parameter, as the attribute `name`."""
        setattr(self, name, parameter)

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """The modules that are attributes of this one, with their names, each once."""
        seen: set[int] = set()
        for name, value in vars(self).items():
            if isinstance(value, Module) and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def children(self) -> Iterator["Module"]:
        """The modules that are attributes of this one."""
        return (child for _, child in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, "Module"]]:
        """This module and all below it with their paths ("" for this one), each once."""
        seen: set[int] = set()
        for path, module in self._walk(prefix):
            if id(module) not in seen:
                seen.add(id(module))
                yield path, module

    def _walk(self, path: str) -> Iterator[tuple[str, "Module"]]:
        yield path, self
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield from value._walk(_joined(path, name))

    def modules(self) -> Iterator["Module"]:
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def named_parameters(self, recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths, each once; of this module alone without `recurse`."""
        seen: set[int] = set()
        for path, module in self.named_modules() if recurse else [("", self)]:
            for name, value in vars(module).items():
                if isinstance(value, Parameter) and id(value) not in seen:
                    seen.add(id(value))
                    yield _joined(path, name), value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse))

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths."""
        for path, module in self.named_modules():
            for name in module._buffers:
                if (buffer := getattr(module, name)) is not None:
                    yield _joined(path, name), buffer

    # --- what is done to all of it

    def apply(self, fn: Callable[["Module"], None]) -> Self:
        """Call fn on every module below, then on this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and below."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Leave training mode, here and below."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let gradients be recorded for the parameters, or not."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the parameters' gradients, or fill them with zeros."""
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                copy_(parameter.grad.detach(), 0)

    # --- state

    def state_dict(self) -> dict[str, Tensor]:
        """Every parameter and buffer by its path. The tensors share the module's memory."""
        state: dict[str, Tensor] = {}
        for path, module in self._walk(""):
            for name, value in vars(module).items():
                if isinstance(value, Parameter) or (name in module._buffers and value is not None):
                    state[_joined(path, name)] = value.detach()
        return state

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Copy the values in. Gives the paths that were missing and those that were unexpected.

        Raises StateError, with nothing copied, for a value of another shape and, when strict, for either of those.
        """
        own = self.state_dict()
        missing = [path for path in own if path not in state]
        unexpected = [path for path in state if path not in own]
        problems = [
            f"{path} has shape {tuple(state[path].shape)} there and {own[path].shape} here"
            for path in own
            if path in state and tuple(state[path].shape) != own[path].shape
        ]
        if strict:
            problems += [f"missing: {', '.join(missing)}"] * bool(missing)
            problems += [f"unexpected: {', '.join(unexpected)}"] * bool(unexpected)
        if problems:
            raise StateError(f"the state dict does not fit {type(self).__name__}: {'; '.join(problems)}")
        recording = _core.grad_mode(False)
        try:
            for path, value in own.items():
                if path in state:
                    copy_(value, state[path] if isinstance(state[path], Tensor) else _core.from_numpy(state[path]))
        finally:
            _core.grad_mode(recording)
        return missing, unexpected

    # --- looks

    def extra_repr(self) -> str:
        """What stands between the parentheses of the repr; a subclass may define it."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self.named_children()]
        if not lines:
            return f"{type(self).__name__}({self.extra_repr()})"
        return "\n  ".join([f"{type(self).__name__}({self.extra_repr()}", *lines]) + "\n)"


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


class _Numbered(Module):
    """Modules under the names "0", "1", ..."""

    def __init__(self, modules: Iterable[Module]) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        setattr(self, str(len(self)), module)
        return self

    def _items(self) -> list[Module]:
        return [value for value in vars(self).values() if isinstance(value, Module)]

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[Module]:
        return iter(self._items())

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> "Module | _Numbered":
        chosen = self._items()[index]
        return chosen if isinstance(chosen, Module) else type(self)(chosen)


class ModuleList(_Numbered):
    """A list of modules: `ModuleList([a, b])`. It has no forward of its own."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__(modules)


class Sequential(_Numbered):
    """Modules applied one after the other: `Sequential(a, b)` computes b(a(input))."""

    def __init__(self, *modules: Any) -> None:
        super().__init__(modules[0] if len(modules) == 1 and not isinstance(modules[0], Module) else modules)

    def forward(self, input: Any) -> Any:
        for module in self.__dict__.values():
            if isinstance(module, Module):
                input = module(input)
        return input
