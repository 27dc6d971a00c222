"""Functions with both directions written in Python."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from .. import _core
from ..errors import AutogradError
from ..ops.grads import unbroadcast
from ..spec import DType
from .modes import no_grad

Tensor: TypeAlias = _core.Tensor
_Outside: TypeAlias = tuple[tuple[int, ...], DType]  # shape and dtype

_PLAIN, _NO_GRADIENT, _CHANGED = range(3)  # what becomes of an output (core/py_function.cpp)


class Function:
    """A differentiable function with both directions written in Python.

    Subclasses define static methods, as in PyTorch: `forward(ctx, *args)`, or `forward(*args)` together with
    `setup_context(ctx, inputs, output)`; and `backward(ctx, *gradients)`, which receives one gradient for each output
    and returns one for each argument of forward, None where there is none (more Nones at the end are ignored).
    `apply(*args)` runs it. Forward is not recorded; what backward computes is, when gradients of gradients are asked
    for. The ctx, an instance of the class, takes any attributes, and has:

    - `save_for_backward(*tensors)` in forward, `saved_tensors` in backward;
    - `needs_input_grad`: a bool for each argument;
    - `mark_dirty(*inputs)`: inputs that forward changed in place; it must return them;
    - `mark_non_differentiable(*outputs)`;
    - `set_materialize_grads(False)`: gradients that did not arrive are None in backward instead of zeros.
    """

    _signature: inspect.Signature  # of forward, once it was looked at

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("forward", "setup_context", "backward"):
            if name in cls.__dict__ and not isinstance(cls.__dict__[name], staticmethod):
                raise TypeError(f"{cls.__name__}.{name} must be a static method: write @staticmethod above it")

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self._to_save: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self._places: tuple[Any, ...] = ()  # in the graph, of saved tensors that are neither inputs nor outputs
        self._inputs: tuple[_Outside | None, ...] = ()
        self._outputs: tuple[_Outside | None, ...] = ()
        self._materialize = True
        self._node: _core.Node | None = None  # while backward runs

    @staticmethod
    def forward(*args: Any) -> Any:
        """Compute the outputs: a Tensor or a tuple; what is no Tensor in it is passed through."""
        raise NotImplementedError("a Function defines forward(ctx, *args) as a static method")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """With it forward takes no ctx: this is called after it, and saves what backward needs."""
        raise NotImplementedError("a Function whose forward takes no ctx defines setup_context as a static method")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Compute the gradients of forward's arguments from those of its outputs."""
        raise NotImplementedError("a Function defines backward(ctx, *gradients) as a static method")

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward: inputs, outputs or others. Changing one in place meanwhile is an error there."""
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward takes Tensors and None, argument {i} is a {type(tensor).__name__}: "
                    "keep it as an attribute of ctx"
                )
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What save_for_backward was given; in backward alone."""
        if self._node is None:
            raise AutogradError(f"{type(self).__name__}: saved_tensors are there in backward alone")
        return _core.saved_tensors(self._node)

    def mark_dirty(self, *inputs: Tensor) -> None:
        """Say that forward changed these inputs in place; it must return each of them."""
        self._dirty = inputs

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Say that these outputs have no gradient: they do not require grad, and backward gets zeros for them."""
        self._non_differentiable = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that did not arrive are zeros (the default) or None."""
        self._materialize = value

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on args, and make backward its history where an argument requires grad.

        Arguments may be given by name; those that forward takes by name alone have no gradient. setup_context gets
        defaults too.
        """
        with_setup = cls.setup_context is not Function.setup_context
        if kwargs or with_setup:
            args, kwargs = cls._by_position(() if with_setup else (None,), args, kwargs)
        ctx = cls()
        inputs = tuple(a if isinstance(a, Tensor) else None for a in args)
        ctx.needs_input_grad = tuple(a is not None and a.requires_grad for a in inputs)
        recorded = _core.is_grad_enabled() and any(ctx.needs_input_grad)
        edges = tuple(_edge(a) for a in inputs) if recorded else ()
        with no_grad():
            if with_setup:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args, **kwargs)
        outputs = result if isinstance(result, tuple) else (result,)
        ctx._check_dirty(inputs, outputs)
        if recorded:
            outputs = ctx._join(edges, inputs, outputs)
        ctx._to_save = ctx._dirty = ctx._non_differentiable = ()
        return outputs if isinstance(result, tuple) else outputs[0]

    @classmethod
    def _by_position(
        cls, ctx: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments as forward's signature orders them, and those that it takes by name alone."""
        if "_signature" not in cls.__dict__:
            cls._signature = inspect.signature(cls.forward)
        bound = cls._signature.bind(*ctx, *args, **kwargs)
        if not ctx:
            bound.apply_defaults()
        return bound.args[len(ctx) :], bound.kwargs

    def _check_dirty(self, inputs: tuple[Tensor | None, ...], outputs: tuple[Any, ...]) -> None:
        for tensor in self._dirty:
            for what, among in (("an input", inputs), ("returned", outputs)):
                if not any(tensor is other for other in among):
                    raise AutogradError(
                        f"{type(self).__name__}: a tensor of shape {tensor.shape} was given to mark_dirty, but it is "
                        f"not {what}: forward must return each input that it changed in place"
                    )

    def _join(
        self, edges: tuple[Any, ...], inputs: tuple[Tensor | None, ...], outputs: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        given = {id(a) for a in inputs if a is not None}
        dirty, constant = {id(t) for t in self._dirty}, {id(t) for t in self._non_differentiable}
        fates = tuple(
            _CHANGED if id(out) in dirty else _NO_GRADIENT if id(out) in constant else _PLAIN for out in outputs
        )
        # An input that comes back unchanged is another tensor outside: its history is the function.
        outputs = tuple(
            out.detach() if id(out) in given and fate != _CHANGED else out
            for out, fate in zip(outputs, fates, strict=True)
        )
        known = given | {id(out) for out in outputs}
        self._places = tuple(None if id(t) in known else _edge(t) for t in self._to_save)
        self._inputs, self._outputs = tuple(map(_outside, inputs)), tuple(map(_outside, outputs))
        tensors = tuple(out if isinstance(out, Tensor) else None for out in outputs)
        _core.attach_function(self, edges, inputs, tensors, fates, self._to_save)
        return outputs

    def _run_backward(self, node: _core.Node, gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """Called by the engine: one gradient or None for each argument of forward."""
        if self._materialize:
            gradients = tuple(
                _zeros(*outside) if g is None and outside else g
                for g, outside in zip(gradients, self._outputs, strict=True)
            )
        before, self._node = self._node, node
        try:
            result = type(self).backward(self, *gradients)
        finally:
            self._node = before
        return self._checked(result if isinstance(result, tuple) else (result,))

    def _checked(self, result: tuple[Any, ...]) -> tuple[Tensor | None, ...]:
        expected, name = len(self.needs_input_grad), type(self).__name__
        if len(result) < expected or any(extra is not None for extra in result[expected:]):
            raise AutogradError(
                f"{name}.backward returned {len(result)} gradients, but forward took {expected} arguments: "
                "return one for each, None where there is none"
            )
        return tuple(
            self._fitted(i, value) if value is not None and self.needs_input_grad[i] else None
            for i, value in enumerate(result[:expected])
        )

    def _fitted(self, i: int, value: Any) -> Tensor:
        """The gradient in the input's shape and dtype."""
        name, outside = type(self).__name__, self._inputs[i]
        assert outside
        shape, dtype = outside
        if not isinstance(value, Tensor):
            raise AutogradError(f"{name}.backward: gradient {i} is a {type(value).__name__}, not a Tensor or None")
        if value.shape != shape:
            if not _broadcasts_to(shape, value.shape):
                raise AutogradError(
                    f"{name}.backward returned an invalid gradient at index {i}: got {list(value.shape)}, "
                    f"but expected a shape compatible with {list(shape)}"
                )
            value = unbroadcast(value, _core.empty(shape, dtype))
        fitted: Tensor = value if value.dtype is dtype else value.astype(dtype)
        return fitted


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a Function's backward, under staticmethod: gradients of its gradients are an error, not wrong."""

    @functools.wraps(backward)
    def once(ctx: Any, *gradients: Any) -> Any:
        with no_grad():
            result = backward(ctx, *gradients)
        recorded = _core.is_grad_enabled() and any(isinstance(g, Tensor) and g.requires_grad for g in gradients)
        if not recorded:
            return result
        several = result if isinstance(result, tuple) else (result,)
        fenced = tuple(
            _Once.apply(g.detach().requires_grad_(), type(ctx).__name__) if isinstance(g, Tensor) else g
            for g in several
        )
        return fenced if isinstance(result, tuple) else fenced[0]

    return once


class _Once(Function):
    """A gradient that cannot be differentiated."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, name: str) -> Tensor:
        ctx.name = name
        return gradient

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise AutogradError(
            f"trying to differentiate twice through {ctx.name}, whose backward is marked with once_differentiable"
        )


def _edge(tensor: Tensor | None) -> Any:
    """Where a gradient of the tensor goes, as it is now: a leaf, or a node and its output."""
    if tensor is None or not tensor.requires_grad:
        return None
    return tensor if tensor.grad_fn is None else (tensor.grad_fn, tensor.output_nr)


def _outside(value: Any) -> _Outside | None:
    return (value.shape, value.dtype) if isinstance(value, Tensor) else None


def _broadcasts_to(shape: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    if len(shape) > len(larger):
        return False
    pairs = zip(reversed(shape), reversed(larger), strict=False)
    return all(n in (1, m) for n, m in pairs)


def _zeros(shape: tuple[int, ...], dtype: DType) -> Tensor:
    zeros = _core.empty(shape, dtype)
    zeros.fill_(0)
    return zeros


_core.Node.saved_tensors = property(_core.saved_tensors, doc="What a Function's save_for_backward was given.")
