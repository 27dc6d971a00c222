"""Modules and parameters in lists and dicts."""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Generic, Self, TypeVar, overload

from .._core import Tensor
from ..errors import IndexOutOfRange
from .module import Module
from .parameter import Parameter

_Part = TypeVar("_Part")


class _Parts(Module, Generic[_Part]):
    """What lists and dicts share: their parts are the attributes of one role, whose names are the keys."""

    _role = "module"

    def _checked(self, value: Any) -> _Part:
        if not isinstance(value, Module):
            raise TypeError(f"{type(self).__name__} holds modules, not {type(value).__name__}")
        return value  # type: ignore[return-value]

    def _keys(self) -> list[str]:
        return [name for name, _ in self._parts(self._role)]

    def _values(self) -> list[_Part]:
        return [part for _, part in self._parts(self._role)]

    def _refill(self, parts: Iterable[tuple[str, _Part]]) -> None:
        parts = list(parts)
        for name in self._keys():
            delattr(self, name)
        for name, part in parts:
            setattr(self, name, part)

    def __len__(self) -> int:
        return len(self._keys())


class _List(_Parts[_Part]):
    """Parts under the names "0", "1", ..."""

    def __init__(self, parts: Iterable[_Part] = ()) -> None:
        super().__init__()
        self.extend(parts)

    def append(self, part: _Part) -> Self:
        """Add a part at the end."""
        setattr(self, str(len(self)), self._checked(part))
        return self

    def extend(self, parts: Iterable[_Part]) -> Self:
        """Add parts at the end."""
        if isinstance(parts, Tensor) or not isinstance(parts, Iterable):
            raise TypeError(f"{type(self).__name__} is made of a list, not of one {type(parts).__name__}")
        for part in parts:
            self.append(part)
        return self

    def insert(self, index: int, part: _Part) -> Self:
        """Add a part before `index`; those behind move up."""
        parts = self._values()
        parts.insert(index, self._checked(part))
        self._renumber(parts)
        return self

    def pop(self, index: int = -1) -> _Part:
        """Take a part out; those behind move down."""
        part = self[index]
        del self[index]
        return part

    def _renumber(self, parts: Iterable[_Part]) -> None:
        self._refill((str(i), part) for i, part in enumerate(parts))

    def _name(self, index: int) -> str:
        if not -len(self) <= index < len(self):
            raise IndexOutOfRange(f"index {index} is outside of a {type(self).__name__} of {len(self)}")
        return self._keys()[index]

    def __iter__(self) -> Iterator[_Part]:
        return iter(self._values())

    @overload
    def __getitem__(self, index: int) -> _Part: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> "_Part | _List[_Part]":
        if isinstance(index, slice):
            return self._slice(index)
        return self.__dict__[self._name(index)]  # type: ignore[no-any-return]

    def _slice(self, index: slice) -> Self:
        return type(self)(self._values()[index])

    def __setitem__(self, index: int, part: _Part) -> None:
        setattr(self, self._name(index), self._checked(part))

    def __delitem__(self, index: int | slice) -> None:
        if not isinstance(index, slice):
            self._name(index)
        parts = self._values()
        del parts[index]
        self._renumber(parts)

    def __add__(self, other: Iterable[_Part]) -> Self:
        joined = self[:]
        return joined.extend(other)

    def __iadd__(self, other: Iterable[_Part]) -> Self:
        return self.extend(other)

    def __contains__(self, part: object) -> bool:
        return any(part is own for own in self._values())


class ModuleList(_List[Module]):
    """A list of modules: `ModuleList([a, b])`. It has no forward of its own."""

    def __repr__(self) -> str:
        """Equal neighbours stand as one: `(0-3): 4 x ReLU()`."""
        runs: list[tuple[int, int, str]] = []
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], i, text)
            else:
                runs.append((i, i, text))
        lines = [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in runs]
        inside = "\n".join(lines).replace("\n", "\n  ")
        return f"{type(self).__name__}(\n  {inside}\n)" if lines else f"{type(self).__name__}()"


class Sequential(_List[Module]):
    """Modules applied one after the other: `Sequential(a, b)` computes b(a(input)). A dict of modules names them."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.register_module(name, self._checked(module))
        elif len(modules) == 1 and isinstance(modules[0], list | tuple):
            raise TypeError("Sequential takes modules one by one: write Sequential(*modules)")
        else:
            self.extend(modules)

    def forward(self, input: Any) -> Any:
        for module in self.__dict__.values():
            if isinstance(module, Module):
                input = module(input)
        return input

    def append(self, part: Module) -> Self:
        """Add a module at the end."""
        self.register_module(str(len(self)), self._checked(part))
        return self

    def _slice(self, index: slice) -> Self:
        names = self._keys()[index]
        return type(self)({name: self.__dict__[name] for name in names})


class ParameterList(_List[Parameter]):
    """A list of parameters; tensors become some."""

    _role = "parameter"

    def _checked(self, value: Any) -> Parameter:
        return _parameter(self, value)

    def extra_repr(self) -> str:
        return _described((str(i), p) for i, p in enumerate(self))


class _Dict(_Parts[_Part]):
    """Parts under names of their own."""

    def __init__(self, parts: Mapping[str, _Part] | Iterable[tuple[str, _Part]] = ()) -> None:
        super().__init__()
        self.update(parts)

    def update(self, parts: Mapping[str, _Part] | Iterable[tuple[str, _Part]]) -> None:
        """Add or replace parts."""
        for name, part in parts.items() if isinstance(parts, Mapping | _Dict) else parts:
            self[name] = part

    def __getitem__(self, name: str) -> _Part:
        if name not in self:
            raise KeyError(name)
        return self.__dict__[name]  # type: ignore[no-any-return]

    def __setitem__(self, name: str, part: _Part) -> None:
        self._register(self._role, name, self._checked(part))

    def __delitem__(self, name: str) -> None:
        self[name]
        delattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys())

    def __contains__(self, name: object) -> bool:
        return self._roles.get(name) == self._role  # type: ignore[call-overload, no-any-return]

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._dict().keys()

    def values(self) -> ValuesView[_Part]:
        """The parts."""
        return self._dict().values()

    def items(self) -> ItemsView[str, _Part]:
        """Names and parts."""
        return self._dict().items()

    def _dict(self) -> dict[str, _Part]:
        return dict(self._parts(self._role))

    def pop(self, name: str) -> _Part:
        """Take a part out."""
        part = self[name]
        del self[name]
        return part

    def clear(self) -> None:
        """Take all parts out."""
        self._refill(())


class ModuleDict(_Dict[Module]):
    """A dict of modules: `ModuleDict({"relu": ReLU()})`. It has no forward of its own."""


class ParameterDict(_Dict[Parameter]):
    """A dict of parameters; tensors become some."""

    _role = "parameter"

    def _checked(self, value: Any) -> Parameter:
        return _parameter(self, value)

    def extra_repr(self) -> str:
        return _described(self.items())


def _parameter(owner: Module, value: Any) -> Parameter:
    if not isinstance(value, Tensor):
        raise TypeError(f"{type(owner).__name__} holds parameters, not {type(value).__name__}")
    return value if isinstance(value, Parameter) else Parameter(value)


def _described(parameters: Iterable[tuple[str, Parameter]]) -> str:
    return "\n".join(f"({name}): Parameter of {p.dtype.name}, shape {tuple(p.shape)}" for name, p in parameters)
