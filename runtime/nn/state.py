"""The state dict of a module: parameters, buffers and extra state by path."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .._core import Tensor
from ..autograd import no_grad
from ..creation import from_numpy
from ..errors import StateError
from .parameter import Parameter

if TYPE_CHECKING:
    from .module import Module

_EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """The paths that a state dict lacks, and those in it that the module does not have."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def collect(
    module: "Module", into: dict[str, Any], prefix: str, keep_vars: bool, above: tuple["Module", ...] = ()
) -> dict[str, Any]:
    """Put the state of the module and of those below into a dict."""
    hooks = module._hooks
    for hook in list(hooks.state_dict_pre.values()) if hooks else []:
        hook(module, prefix, keep_vars)
    for name, value in _tensors(module):
        into[prefix + name] = value if keep_vars else value.detach()
    if module._has_extra_state():
        into[prefix + _EXTRA] = module.get_extra_state()
    for name, child in module._parts("module"):
        if child is not None and child is not module and child not in above:
            collect(child, into, f"{prefix}{name}.", keep_vars, (*above, module))
    for hook in list(hooks.state_dict.values()) if hooks else []:
        hook(module, into, prefix, {})
    return into


@no_grad()
def load(module: "Module", given: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """Compare a state dict with the module's, and take its values over."""
    if not isinstance(given, Mapping):
        raise TypeError(f"load_state_dict takes a dict of tensors by path, not {type(given).__name__}")
    state = dict(given)
    missing: list[str] = []
    unexpected: list[str] = []
    problems: list[str] = []
    modules = [(f"{path}." if path else "", part) for path, part in module._walk("", ())]
    for prefix, part in modules:
        for hook in list(part._hooks.load_pre.values()) if part._hooks else []:
            hook(part, state, prefix, {}, strict, missing, unexpected, problems)

    wanted: list[tuple[Module, str, Any]] = []  # module, name in it, the value for it
    known: set[str] = set()
    for prefix, part in modules:
        names = [(name, own) for name, own in _tensors(part)]
        for name, own in [*names, *([(_EXTRA, None)] if part._has_extra_state() else [])]:
            path = prefix + name
            known.add(path)
            if path not in state:
                missing.append(path)
                continue
            value = state[path]
            if own is not None and (problem := _misfit(path, own, value)):
                problems.append(problem)
            wanted.append((part, name, value))
    unexpected += [path for path in state if path not in known]
    if strict:
        problems = [*_listed("missing", missing), *_listed("unexpected", unexpected), *problems]
    if problems:
        raise StateError("\n    ".join([f"the state dict does not fit {type(module).__name__}:", *problems]))

    for part, name, value in wanted:
        if name == _EXTRA:
            part.set_extra_state(value)
        elif assign:
            _assign(part, name, value)
        else:
            part.__dict__[name].copy_(value if isinstance(value, Tensor) else from_numpy(value))
    found = IncompatibleKeys(missing, unexpected)
    for _, part in modules:
        for hook in list(part._hooks.load.values()) if part._hooks else []:
            hook(part, found)
    return found


def _tensors(module: "Module") -> Iterator[tuple[str, Tensor]]:
    for role in ("parameter", "buffer"):
        for name, value in module._parts(role):
            if value is not None and name not in module._transient:
                yield name, value


def _misfit(path: str, own: Tensor, value: Any) -> str | None:
    if not hasattr(value, "shape"):
        return f"{path} is a {type(value).__name__}, where a Tensor or an array is wanted"
    if tuple(value.shape) != own.shape:
        return f"{path} has shape {tuple(value.shape)} there and {own.shape} here"
    return None


def _listed(what: str, paths: list[str]) -> list[str]:
    return [f"{what}: {', '.join(paths)}"] if paths else []


def _assign(module: "Module", name: str, value: Any) -> None:
    given = value if isinstance(value, Tensor) else from_numpy(value)
    own = module.__dict__[name]
    if isinstance(own, Parameter):
        given = given if isinstance(given, Parameter) else Parameter(given, own.requires_grad)
        given.requires_grad_(own.requires_grad)
    setattr(module, name, given)
