"""As much of CuPy as perflab uses, over NumPy and the fake driver's memory, which the CPU reaches.

It refuses what CuPy refuses: functions, parameters and methods that CuPy has not (cupy_api.json tells which it has),
dtypes that its ufuncs do not take, ufuncs' methods but those of sums and products, and arrays of NumPy among its own.
`python fake_cupy.py` writes that file anew where CuPy is installed; CuPy needs no GPU for that.

An array of a tensor is asked for when the work on it is to be done: what is on the streams is done first.
"""

import ctypes
import inspect
import json
import operator
import types
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

API = Path(__file__).with_name("cupy_api.json")
_SPACES = ("linalg", "fft", "lib.stride_tricks")
_ADDED_AT = ("int32", "int64", "uint32", "uint64", "float16", "float32", "float64")
_TAKE_NUMPY = ("asarray", "array", "ascontiguousarray")
_told = json.loads(API.read_text()) if API.exists() else {"functions": {}, "methods": []}


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on the device: NumPy's functions do not read it."""

    __slots__ = ("_on_host",)
    _on_host: np.ndarray[Any, Any]

    def __init__(self, on_host: np.ndarray[Any, Any]) -> None:
        object.__setattr__(self, "_on_host", on_host)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any) -> Any:
        given = {"out": out[0]} if out else {}
        function = _functions[ufunc.__name__]
        return (function if method == "__call__" else getattr(function, method))(*inputs, **given, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = ".".join([*function.__module__.split(".")[1:], function.__name__])
        return _functions[name](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name not in _told["methods"]:
            raise AttributeError(f"cupy.ndarray has no {name}")
        found = getattr(self._on_host, name)
        return (
            (lambda *args, **kwargs: _given(found(*_taken(args), **_taken(kwargs))))
            if callable(found)
            else _given(found)
        )

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._on_host, name, _taken(value))

    def __getitem__(self, key: Any) -> Any:
        return _given(self._on_host[_key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._on_host[_key(key)] = _taken(value)

    def __len__(self) -> int:
        return len(self._on_host)

    def __iter__(self) -> Any:
        return map(_given, self._on_host)

    def __bool__(self) -> bool:
        return bool(self._on_host)

    def __int__(self) -> int:
        return int(self._on_host)

    def __float__(self) -> float:
        return float(self._on_host)


def _taken(given: Any) -> Any:
    """What NumPy takes in the place of what CuPy takes."""
    if isinstance(given, ndarray):
        return given._on_host
    if isinstance(given, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(given, list | tuple):
        return type(given)(map(_taken, given))
    return {k: _taken(v) for k, v in given.items()} if isinstance(given, dict) else given


def _key(key: Any) -> Any:
    """Subscripts may be NumPy's: CuPy copies them."""
    if isinstance(key, tuple):
        return tuple(map(_key, key))
    return key._on_host if isinstance(key, ndarray) else key


def _given(result: Any) -> Any:
    if isinstance(result, np.ndarray | np.generic):
        return ndarray(np.asarray(result))
    if isinstance(result, list):
        return [_given(each) for each in result]
    return tuple(map(_given, result)) if isinstance(result, tuple) else result


def _same(name: str) -> Any:
    return operator.attrgetter(name)(np)


class _Ufunc:
    def __init__(self, name: str, signatures: list[str]) -> None:
        self.__name__, self._numpy = name, _same(name)
        self._signatures = [s.split("->")[0] for s in signatures if "E" not in s]  # that is CuPy's bfloat16

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        dtypes = [a.dtype if isinstance(a, ndarray | np.generic) else None for a in args[: self._numpy.nin]]
        for signature in self._signatures:
            if all(d is None or np.can_cast(d, to) for d, to in zip(dtypes, signature, strict=True)):
                with np.errstate(all="ignore"):
                    return _given(self._numpy(*_taken(args), **_taken(kwargs)))
        raise TypeError(f"Wrong type {dtypes} of arguments for {self.__name__}")

    def at(self, a: ndarray, indices: Any, b: Any) -> None:
        if self.__name__ != "add" or a.dtype.name not in _ADDED_AT:
            raise TypeError(f"cupy.{self.__name__}.at: not of {a.dtype.name}")
        self._numpy.at(a._on_host, _key(indices), _taken(b))

    def accumulate(self, a: ndarray, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        if self.__name__ not in ("add", "multiply"):
            raise NotImplementedError(f"`cupy_{self.__name__}.accumulate` is not supported yet")
        return _given(self._numpy.accumulate(a._on_host, axis, dtype, _taken(out)))


def _function(name: str, parameters: list[str] | None) -> Callable[..., Any]:
    same = _same(name)

    def function(*args: Any, **kwargs: Any) -> Any:
        if parameters is not None and (len(args) > len(parameters) or not set(kwargs) <= set(parameters)):
            raise TypeError(f"cupy.{name} takes {parameters}, not {len(args)} arguments and {list(kwargs)}")
        return _given(same(*_taken(args), **_taken(kwargs)))

    return function


_functions = {
    name: _Ufunc(name, parts["ufunc"]) if "ufunc" in parts else _function(name, parts["parameters"])
    for name, parts in _told["functions"].items()
}


def module(driver: ctypes.CDLL) -> types.ModuleType:
    """The module, to be put into sys.modules."""

    def asarray(obj: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(obj, "__cuda_array_interface__"):
            return ndarray(np.asarray(obj if isinstance(obj, np.ndarray) else _taken(obj), *args, **kwargs))
        told = obj.__cuda_array_interface__
        driver.cuCtxSynchronize()
        size = int(np.prod(told["shape"])) if told["shape"] else 1
        if not size:
            return ndarray(np.empty(told["shape"], told["typestr"]))
        shown = {k: v for k, v in told.items() if k != "stream"}
        plain = types.SimpleNamespace(__array_interface__=shown, owner=obj)  # which lives as long as the array
        return ndarray(np.asarray(plain))

    made = types.ModuleType("cupy")
    constants = ("inf", "nan", "pi", "newaxis", "bool_", *(k + n for k, n in _DTYPES))
    made.__dict__.update({name: getattr(np, name) for name in constants})
    for name, function in _functions.items():
        space, _, last = name.rpartition(".")
        at = made
        for part in filter(None, space.split(".")):
            at = at.__dict__.setdefault(part, types.SimpleNamespace())
        setattr(at, last, function)
    made.__dict__.update(dict.fromkeys(_TAKE_NUMPY, asarray), ndarray=ndarray)
    made.compute_types = []  # type: ignore[attr-defined]  # as they were set
    made._core = types.SimpleNamespace(  # type: ignore[attr-defined]
        set_compute_type=lambda dtype, kind: made.compute_types.append((np.dtype(dtype).name, kind))
    )
    made.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        set_allocator=lambda allocator: made.__dict__.update(allocator=allocator),
        memory=types.SimpleNamespace(
            CFunctionAllocator=lambda *functions: types.SimpleNamespace(malloc=functions)  # the addresses
        ),
        Device=lambda index: nullcontext(),
        ExternalStream=lambda handle, index: nullcontext(),
        Stream=types.SimpleNamespace(null=nullcontext()),
    )
    return made


_DTYPES = [
    *(("int", str(n)) for n in (8, 16, 32, 64)),
    *(("uint", str(n)) for n in (8, 16, 32, 64)),
    *(("float", str(n)) for n in (16, 32, 64)),
    *(("complex", str(n)) for n in (64, 128)),
]


def describe(cupy: Any) -> dict[str, Any]:
    """What CuPy has of NumPy: each ufunc's types, other functions' parameters (None: any), and arrays' attributes."""
    functions = {}
    for space in ("", *_SPACES):
        here, there = (operator.attrgetter(space)(m) if space else m for m in (cupy, np))
        for name in sorted(set(dir(here)) & set(dir(there))):
            found = getattr(here, name)
            if name.startswith("_") or not callable(found) or isinstance(found, type):
                continue
            full = f"{space}.{name}".lstrip(".")
            if isinstance(found, cupy.ufunc):
                functions[full] = {"ufunc": list(found.types)}
            else:
                functions[full] = {"parameters": _parameters(found)}
    methods = [n for n in dir(cupy.ndarray) if hasattr(np.ndarray, n) and not n.startswith("_")]
    return {"version": cupy.__version__, "functions": functions, "methods": methods}


def _parameters(function: Any) -> list[str] | None:
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    return None if any(p.kind is p.VAR_KEYWORD for p in found.values()) else list(found)


if __name__ == "__main__":
    import cupy

    told = describe(cupy)
    lines = ",\n".join(f'  "{name}": {json.dumps(what)}' for name, what in told["functions"].items())
    rest = f'"version": {json.dumps(told["version"])}, "methods": {json.dumps(told["methods"])}'
    API.write_text(f'{{{rest}, "functions": {{\n{lines}\n}}}}\n')
