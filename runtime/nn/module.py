"""Module: parameters, buffers and submodules under one forward function."""

from collections.abc import Callable, Iterator, Mapping
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Self

from .. import _core
from .._core import Tensor, call_in_scope, record_use, recording_number
from ..autograd import no_grad
from ..device import as_device
from ..errors import ArgumentError
from ..spec import DType, as_dtype
from . import state
from .hooks import Hooked
from .parameter import Parameter


class Module(Hooked):
    """Base of layers and models. Parameters, buffers and submodules are its attributes; `forward` computes.

    A Parameter or a Module becomes a part when it is assigned. `_roles` names the parts in the order of their coming;
    their values are plain attributes, so that reading one costs nothing extra.
    """

    training = True
    _scope = 0  # the recorder's number for this module's path
    _told = 0  # the last recording that knows which memory is its parameters

    def __init__(self) -> None:
        self._roles: dict[str, str] = {}  # "parameter", "buffer" or "module"
        self._transient: frozenset[str] = frozenset()  # the buffers that are no part of the state dict

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # buffers, and what only a model's author knows

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward(self, ...)")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recording, hooks = recording_number(), self._hooks
        if recording and recording != self._told:
            self._introduce(recording)
        if hooks is None:
            if not recording:
                return self.forward(*args, **kwargs)
            return call_in_scope(self._scope, self.forward, args, kwargs)
        if not recording:
            return hooks.call(self, self.forward, args, kwargs)
        return call_in_scope(self._scope, hooks.call, (self, self.forward, args, kwargs), {})

    def _introduce(self, recording: int) -> None:
        """Give this module and those below the paths that stand on the events of what they run, and tell the recorder
        which memory is their parameters."""
        root = type(self).__name__
        is_named = bool(self._scope)
        for path, module in self.named_modules():
            if not is_named:
                module._scope = _core.intern(joined(root, path) if path else root)
            module._told = recording
            record_use(module.parameters(recurse=False), "parameter", module._scope)

    # --- its parts

    def __setattr__(self, name: str, value: Any) -> None:
        roles = self.__dict__.get("_roles")
        role = "parameter" if isinstance(value, Parameter) else "module" if isinstance(value, Module) else None
        if role is not None:
            if roles is None:
                raise AttributeError(
                    f"{type(self).__name__}.__init__ assigns '{name}' before it calls super().__init__()"
                )
            if roles.get(name) != role:
                roles.pop(name, None)
                roles[name] = role
        elif roles is not None and name in roles:
            _check_part(self, roles[name], name, value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._roles.pop(name, None)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Hold a tensor that is no parameter, as the attribute `name`; part of the state dict if it is `persistent`."""
        self._register("buffer", name, tensor)
        self._transient = self._transient - {name} if persistent else self._transient | {name}

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Hold a parameter, as the attribute `name`."""
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"'{name}' must be a Parameter or None, not {type(param).__name__}")
        self._register("parameter", name, param)

    def register_module(self, name: str, module: "Module | None") -> None:
        """Hold a module, as the attribute `name`."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"'{name}' must be a Module or None, not {type(module).__name__}")
        self._register("module", name, module)

    add_module = register_module

    def _register(self, role: str, name: str, value: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a {role} is a string, not {type(name).__name__}")
        if not name or "." in name:
            raise ArgumentError(f"the name of a {role} has no '.' and is not empty: '{name}' does not do")
        if self._roles.get(name) != role and hasattr(self, name):
            raise ArgumentError(f"{type(self).__name__} has an attribute '{name}' already: choose another name")
        _check_part(self, role, name, value)
        self._roles[name] = role
        object.__setattr__(self, name, value)

    def _parts(self, role: str) -> Iterator[tuple[str, Any]]:
        return ((name, self.__dict__[name]) for name, found in list(self._roles.items()) if found == role)

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """The modules that are attributes of this one, with their names, each once."""
        seen: set[Module] = set()
        for name, child in self._parts("module"):
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator["Module"]:
        """The modules that are attributes of this one."""
        return (child for _, child in self.named_children())

    def named_modules(
        self, memo: "set[Module] | None" = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, "Module"]]:
        """This module and all below it with their paths; each once, or under every path without `remove_duplicate`.

        memo: modules to leave out; those given are added.
        """
        memo = set() if memo is None else memo
        for path, module in self._walk(prefix, ()):
            if not remove_duplicate or module not in memo:
                memo.add(module)
                yield path, module

    def _walk(self, path: str, above: tuple["Module", ...]) -> Iterator[tuple[str, "Module"]]:
        """This module and all below it, under every path that does not lead through a module to itself."""
        yield path, self
        for name, child in self._parts("module"):
            if child is not None and child is not self and child not in above:
                yield from child._walk(joined(path, name), (*above, self))

    def modules(self) -> Iterator["Module"]:
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths; of this module alone without `recurse`, each once if `remove_duplicate`."""
        return self._named("parameter", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths; of this module alone without `recurse`, each once if `remove_duplicate`."""
        return self._named("buffer", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _named(self, role: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in module._parts(role):
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield joined(path, name), value

    def get_submodule(self, target: str) -> "Module":
        """The module at a path such as "body.0"; "" is this one. Raises AttributeError where there is none."""
        module: Any = self
        for name in target.split(".") if target else []:
            child = getattr(module, name, None)
            if not isinstance(child, Module):
                raise AttributeError(f"'{target}': {type(module).__name__} has no module '{name}'")
            module = child
        return module  # type: ignore[no-any-return]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as "body.0.weight". Raises AttributeError where there is none."""
        return self._get("parameter", target)  # type: ignore[no-any-return]

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path. Raises AttributeError where there is none."""
        return self._get("buffer", target)  # type: ignore[no-any-return]

    def _get(self, role: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if module._roles.get(name) != role:
            raise AttributeError(f"'{target}': {type(module).__name__} has no {role} '{name}'")
        return module.__dict__[name]

    # --- what is done to all of it

    def apply(self, fn: Callable[["Module"], None]) -> Self:
        """Call fn on every module below, then on this one."""
        self._apply_to_modules(fn, ())
        return self

    def _apply_to_modules(self, fn: Callable[["Module"], None], above: tuple["Module", ...]) -> None:
        for child in self.children():
            if child is not self and child not in above:
                child._apply_to_modules(fn, (*above, self))
        fn(self)

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and below."""
        if not isinstance(mode, bool):
            raise ArgumentError(f"train() takes True or False, not {mode!r}")
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

    @no_grad()
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the parameters' gradients, or fill them with zeros."""
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad.zero_()

    @no_grad()
    def _convert(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Let each parameter, its gradient and each buffer become `change` of it; parameters stay the same objects."""
        for parameter in self.parameters():
            grad, parameter.grad = parameter.grad, None
            parameter.data = change(parameter.detach())
            if grad is not None:
                parameter.grad = change(grad)
        for module in self.modules():
            for name, buffer in module._parts("buffer"):
                if buffer is not None:
                    setattr(module, name, change(buffer))
        return self

    def to(self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False) -> Self:
        """Convert the floating-point parameters and buffers, and move all to a device: `to(dtype)`, `to("sim:0")`,
        `to(device, dtype)`, `to(tensor)` as that tensor.
        """
        for value in args:
            if isinstance(value, Tensor):
                dtype, device = value.dtype, value.device
            elif isinstance(value, DType):
                dtype = value
            else:
                device = value
        where = None if device is None else as_device(device)
        wanted = None if dtype is None else as_dtype(dtype)
        if wanted is not None and wanted.kind != "f":
            raise TypeError(f"to: parameters are floats, {wanted.name} is no such dtype: type(dtype) converts all")
        if where is None and wanted is None:
            return self
        return self._convert(
            lambda t: t.to(dtype=wanted if t.dtype.kind == "f" else None, device=where, non_blocking=non_blocking)
        )

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers."""
        wanted = as_dtype(dst_type)
        return self._convert(lambda t: t.astype(wanted))

    def float(self) -> Self:
        """Convert the floating-point parameters and buffers to float32."""
        return self.to(dtype="float32")

    def double(self) -> Self:
        """Convert the floating-point parameters and buffers to float64."""
        return self.to(dtype="float64")

    def half(self) -> Self:
        """Convert the floating-point parameters and buffers to float16."""
        return self.to(dtype="float16")

    def bfloat16(self) -> Self:
        """Convert the floating-point parameters and buffers to bfloat16."""
        return self.to(dtype="bfloat16")

    def cuda(self, device: Any = None) -> Self:
        """Move the parameters and buffers to a CUDA device, by default the current one."""
        return self.to(device=f"cuda:{device}" if isinstance(device, int) else device or "cuda")

    def cpu(self) -> Self:
        """Move parameters and buffers to the CPU."""
        return self.to("cpu")

    # --- state

    def state_dict(
        self, *, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Every parameter and persistent buffer by its path. The tensors share the module's memory.

        They are put into `destination`, with `prefix` before each path. keep_vars: the parameters themselves, with
        their history, instead of detached tensors.
        """
        return state.collect(self, {} if destination is None else destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> state.IncompatibleKeys:
        """Copy the values in; with `assign`, hold the given tensors themselves. Gives the missing and unexpected paths.

        Raises StateError, with nothing copied, for a value of another shape and, when strict, for any of those paths.
        """
        return state.load(self, state_dict, strict, assign)

    def get_extra_state(self) -> Any:
        """What a subclass keeps in the state dict beside its tensors; it defines set_extra_state too."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state: define get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take over what get_extra_state gave."""
        raise NotImplementedError(f"{type(self).__name__} takes no extra state: define set_extra_state")

    def _has_extra_state(self) -> bool:
        return type(self).get_extra_state is not Module.get_extra_state

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(self.__dict__)
        for number in ("_scope", "_told"):  # of this process's recorder
            kept.pop(number, None)
        return kept

    # --- looks

    def extra_repr(self) -> str:
        """What stands between the parentheses of the repr; a subclass may define it."""
        return ""

    @recursive_repr()
    def __repr__(self) -> str:
        extra = self.extra_repr()
        children = [_indented(f"({name}): {child!r}") for name, child in self._parts("module")]
        if not children and "\n" not in extra:
            return f"{type(self).__name__}({extra})"
        lines = [*([_indented(extra)] if extra else []), *children]
        return "\n  ".join([f"{type(self).__name__}(", *lines]) + "\n)"


def joined(path: str, name: str) -> str:
    """The path of an attribute of the module at `path`."""
    return f"{path}.{name}" if path else name


def _check_part(module: Module, role: str, name: str, value: Any) -> None:
    kind = {"parameter": Parameter, "buffer": Tensor, "module": Module}[role]
    if value is None or isinstance(value, kind):
        return
    hint = ": wrap it in Parameter(...), or change it in place under no_grad()" if role == "parameter" else ""
    raise TypeError(
        f"'{name}' of {type(module).__name__} is a {role}: it must be a {kind.__name__} or None, not "
        f"{type(value).__name__}{hint if isinstance(value, Tensor) else ''}"
    )


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
