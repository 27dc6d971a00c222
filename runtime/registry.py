"""Declaring ops: the decorated function is the op.

Its body is the kernel for numpy and cupy (`xp` is the array module), its docstring the docs, with an example that the
tests run, its signature the arity: tensors positional, attributes keyword-only. `@op.vjp` attaches the gradient.
"""

import functools
import re
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np

from . import _core
from .errors import (
    ArgumentError,
    AutogradError,
    AxisError,
    DeviceError,
    DTypeError,
    IndexOutOfRange,
    OpError,
    OutOfMemoryError,
    PerflabError,
    ShapeError,
)
from .op import Op, Sample, read_signature, sample, torch_names
from .program import Symbol, call_on_symbols, set_operators, trace
from .spec import DTYPES, Spec, bfloat16, float16

OPS: dict[str, Op] = {}

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(eq=False)
class Composite:
    """A function made of ops, named in traces. It has no gradient and no cost of its own: it is its parts' sum."""

    name: str
    doc: str
    aliases: tuple[str, ...]
    public: bool
    method: bool
    in_place: bool
    samples: tuple[Sample, ...]
    handle: Callable[..., Any] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


COMPOSITES: dict[str, Composite] = {}


def primitive(
    *,
    samples: Sequence[Sample] = (),
    rule: str | None = None,
    infer: Callable[..., Any] | None = None,
    dtype: str | None = None,
    kinds: str = "bifc",
    flops: Callable[..., int] | None = None,
    read: Callable[..., int] | None = None,
    source: str | None = None,
    domain: tuple[float, float] = (-2.0, 2.0),
    aliases: Sequence[str] = (),
    public: bool = True,
    method: bool = True,
    view: bool = False,
    several: bool = False,
    returns: Sequence[str] = (),
    pointwise: bool = False,
    updates: bool = False,
    differentiable: bool = True,
    autocast: Literal["lower", "float32"] | None = None,
    in_place: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """Declare an op with a kernel of its own.

    rule: the core's shape rule (core/rules.cpp); or infer: specs and attributes to the output's Spec, or a tuple of
    them where `returns` names several outputs: the result is a named tuple.
    dtype: promote (the default with a rule), float, bool, first, second, real, sum, index, attr (core/op.h,
    DTypeRule). With infer, which says the dtype of what comes out: promote computes in the promoted dtype, the default
    in that of the first input.
    kinds: b, i, f, c, of the dtypes that it computes in.
    flops: specs, `out` and attributes to a number; read: likewise, bytes, where it is not what all inputs hold.
    source: a C expression for one element. domain: between which values its samples are drawn.
    public: part of the namespace; method: of Tensor too. view: it moves no memory.
    several: it has several outputs, as many as the rule says.
    updates: its body changes a part of its first array, the output filled with the input, and returns it.
    in_place: Tensor has a method that writes the result into its tensor, `name_`. Pointwise ops have one anyway.
    autocast: what it does to float inputs: "lower" casts them to its dtype, "float32" halves to float32 (autocast.py).
    """

    def declare(body: Callable[..., Any]) -> Any:
        name = body.__name__
        inputs, rest, attributes = read_signature(name, body)
        op = Op(
            name,
            (body.__doc__ or "").strip(),
            body,
            inputs,
            rest,
            attributes,
            rule,
            infer,
            (dtype or "promote") if rule else "python_promote" if dtype == "promote" else "python",
            kinds,
            flops,
            read,
            source,
            tuple(samples),
            domain,
            tuple(aliases),
            public,
            public and method and rest is None,
            view,
            several or bool(returns),
            namedtuple(f"{name.replace('::', '_')}_result", returns) if returns else None,
            pointwise,
            updates,
            differentiable and dtype not in ("bool", "index"),
            autocast,
            in_place,
        )
        return _define(op)

    return declare


def pointwise(
    *,
    source: str | None,
    flops: int = 1,
    dtype: str = "promote",
    kinds: str = "bif",
    domain: tuple[float, float] = (-2.0, 2.0),
    aliases: Sequence[str] = (),
    samples: Sequence[Sample] = (),
    differentiable: bool = True,
    public: bool = True,
    autocast: Literal["float32"] | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Declare an op that works element by element, broadcasting its inputs.

    source: the C expression for one element, inputs in braces; None where C has none: it is not fused. flops: for each
    element. The samples come by themselves.
    """

    def declare(body: Callable[..., Any]) -> Any:
        inputs, _, _ = read_signature(body.__name__, body)
        return primitive(
            rule="same" if len(inputs) == 1 else "broadcast",
            samples=samples or _POINTWISE_SAMPLES[len(inputs)],
            flops=lambda *specs, out, **_: flops * out.size,
            source=source,
            dtype=dtype,
            kinds=kinds,
            domain=domain,
            aliases=aliases,
            public=public,
            pointwise=True,
            autocast=autocast,
            differentiable=differentiable,
        )(body)

    return declare


_POINTWISE_SAMPLES = {
    1: (sample((2, 3)), sample(()), sample((0, 2))),
    2: (sample((2, 3), (2, 3)), sample((2, 1, 3), (4, 1)), sample((3,), ()), sample((), ()), sample((0, 2), (1, 2))),
    3: (sample((2, 3), (2, 3), (2, 3)), sample((2, 1), (3,), ()), sample((), (), ()), sample((0, 2), (1, 2), (2,))),
}


def _entries() -> list[Op | Composite]:
    return [*OPS.values(), *COMPOSITES.values()]


def _claim(names: Sequence[str]) -> None:
    """Raise OpError where an op or a function made of ops has one of the names."""
    taken = {name for entry in _entries() for name in entry.names}
    for name in names:
        if name in taken:
            raise OpError(f"{names[0]}: the name '{name}' is taken")


def _define(op: Op) -> Any:
    _claim(op.names)
    op.handle = _core.define_op(
        op,
        op.name,
        -1 if op.rest else len(op.inputs),
        op.rule,
        op.dtype,
        op.mask(lambda i: i.cast),
        op.mask(lambda i: i.like),
        op.gradient_mask,
        op.pointwise,
        op.returns,
        [(a.name, a.alias, a.kind, a.required, a.preset) for a in op.attributes],
        op.spreads,
    )
    if op.autocast:
        _core.set_autocast_family(op.handle, op.autocast == "lower")
    OPS[op.name] = op
    return op.handle


def composite(
    *,
    samples: Sequence[Sample],
    aliases: Sequence[str] = (),
    public: bool = True,
    method: bool = True,
    in_place: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a function made of ops. Its calls stand in traces as one slice around those of its ops.

    public, method, in_place: as of primitive.
    """

    def declare(body: Callable[P, R]) -> Callable[P, R]:
        name = body.__name__
        if not body.__doc__:
            raise OpError(f"{name}: declare a docstring")
        _claim((name, *aliases))
        event = _core.intern(name)
        renamed = torch_names(body)

        @functools.wraps(body)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            given: Any = {renamed.get(key, key): value for key, value in kwargs.items()} if kwargs else kwargs
            if not _core.is_recording():
                return body(*args, **given)
            return _core.call_composite(event, body, args, given)

        doc = body.__doc__.strip()
        COMPOSITES[name] = call.record = Composite(  # type: ignore[attr-defined]
            name, doc, tuple(aliases), public, public and method, in_place, tuple(samples), call
        )
        return call

    return declare


def functions() -> dict[str, Any]:
    """The namespace's functions by all their names."""
    return {name: entry.handle for entry in _entries() if entry.public for name in entry.names}


def methods() -> dict[str, Any]:
    """Tensor's methods by all their names."""
    return {name: entry.handle for entry in _entries() if entry.method for name in entry.names}


@functools.cache
def in_place_methods() -> dict[str, Any]:
    """The methods that write into their tensor: of every pointwise op whose result has its input's dtype, and of what
    is declared with in_place.
    """
    pointwise = {
        f"{name}_": _core.inplace(op.handle)
        for op in OPS.values()
        if op.pointwise and op.method and op.inputs[0].cast and op.dtype in ("promote", "float", "first")
        for name in op.names
    }
    declared = {
        f"{name}_": _written(f"{name}_", entry.handle) for entry in _entries() if entry.in_place for name in entry.names
    }
    return pointwise | declared


def in_place_functions() -> dict[str, Any]:
    """The in-place forms that are functions too, as in PyTorch: relu_, exp_ and the others with one tensor."""
    unary = {name for op in OPS.values() if op.pointwise and len(op.inputs) == 1 for name in op.names}
    return {name: method for name, method in in_place_methods().items() if name[:-1] in unary}


def _written(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.copy_(function(self, *args, **kwargs))

    method.__name__ = name
    method.__doc__ = f"{name[:-1]}, in place."
    return method


def freeze() -> None:
    """Close the table: refuse what is half declared, trace every gradient once, and join the native kernels."""
    set_operators({name: op.handle for name, op in OPS.items()})
    for op in OPS.values():
        check(op)
    strangers = _core.finish_ops()
    if strangers:
        raise OpError(f"native kernels without an op of their name: {', '.join(strangers)}")


def check(op: Op) -> None:
    """Raise OpError for an op that lacks a part, or whose gradient cannot be traced."""
    missing = op.missing()
    if missing:
        raise OpError(f"{op.name}: declare {' and '.join(missing)} (see ops/pointwise.py for examples)")
    if op.gradient and op.has_gradient:
        first = op.samples[0]
        inputs = first.inputs[0] if op.rest else first.inputs
        ndims = [len(i) if isinstance(i, tuple) else np.ndim(i) for i in inputs]
        attributes = {a.name: first.attributes.get(a.name, a.preset) for a in op.attributes}
        nout = len(op.returns._fields) if op.returns else 2 if op.several else 1
        trace(op, ndims, nout, op.gradient_mask, attributes)


def _naming(op: Op, error: PerflabError) -> PerflabError:
    """The error with the op's name, which rules and bodies that serve several ops do not know."""
    return error if re.match(r"[\w:]+: ", str(error)) else type(error)(f"{op.name}: {error}")


def _infer(
    op: Op, specs: Sequence[tuple[tuple[int, ...], int]], attributes: dict[str, Any]
) -> list[tuple[tuple[int, ...], int]]:
    assert op.infer
    try:
        found = op.infer(*(Spec(shape, DTYPES[code]) for shape, code in specs), **attributes)
    except PerflabError as error:
        raise _naming(op, error) from None
    return [(spec.shape, spec.dtype.code) for spec in (found if op.several else (found,))]


BODIES_ON_CUDA: list[Callable[..., None]] = []  # what runs them, where there is something (cuda/bodies.py)


def _run_body(op: Op, inputs: Sequence[Any], attributes: dict[str, Any], outputs: Sequence[Any]) -> None:
    for i, tensor in enumerate(inputs):
        if op.input(i).cast and tensor.dtype.kind not in op.kinds:
            raise DTypeError(f"{op.name}: not defined for {tensor.dtype.name}: convert the input with astype first")
    if outputs[0]._device:
        try:
            return (op.on_cuda or BODIES_ON_CUDA[0])(op, inputs, attributes, outputs)
        except PerflabError as error:
            raise _naming(op, error) from None
    arrays = [Spec(t.shape, t.dtype) if op.input(i).like else op.along(_widened(t)) for i, t in enumerate(inputs)]
    updated = None
    if op.updates and arrays[0].dtype == inputs[0].dtype.numpy:  # not widened
        updated = np.asarray(outputs[0])
        if inputs[0].data_ptr() != outputs[0].data_ptr():
            updated[...] = arrays[0]
        arrays[0] = updated
    try:
        with np.errstate(all="ignore"):
            results = op.body(np, *arrays, **attributes)
    except PerflabError as error:
        raise _naming(op, error) from None
    for tensor, result in zip(outputs, results if op.several else (results,), strict=True):
        if result is not updated:
            op.check_shape(np.shape(result), tensor.shape)
            np.asarray(tensor)[...] = result


def _widened(tensor: Any) -> np.ndarray[Any, Any]:
    """NumPy's view of a tensor; 16-bit floats as float32, so that a body rounds once, when its results are stored."""
    array = np.asarray(tensor)
    return array.astype(np.float32) if tensor.dtype in (float16, bfloat16) else array


_core.set_errors(ShapeError, DTypeError, IndexOutOfRange, AutogradError, ArgumentError, AxisError, DeviceError)
_core.set_out_of_memory_error(OutOfMemoryError)
_core.set_numpy_types((np.generic, np.ndarray))
_core.set_callbacks(_infer, _run_body, trace, Symbol, call_on_symbols)
