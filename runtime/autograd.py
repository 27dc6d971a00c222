"""What Python sees of autograd: the recording switch, the graph's nodes, functions with a gradient by hand."""

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from . import _core
from .errors import AutogradError
from .spec import DType

_F = TypeVar("_F", bound=Callable[..., Any])


class set_grad_enabled:
    """Turns recording on or off for this thread: at once, and as a context manager until its end."""

    def __init__(self, mode: bool) -> None:
        self._before = _core.grad_mode(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.grad_mode(self._before)


class _Mode:
    _on: bool

    def __enter__(self) -> None:
        self._before = _core.grad_mode(self._on)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.grad_mode(self._before)

    def __call__(self, function: _F) -> _F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


class no_grad(_Mode):
    """Within it ops are not recorded: a context manager and a decorator, for this thread."""

    _on = False


class enable_grad(_Mode):
    """Within it ops are recorded again, inside a no_grad."""

    _on = True


is_grad_enabled = _core.is_grad_enabled


class AccumulateGrad:
    """The end of a graph: what adds into the `grad` of a leaf, `variable`."""

    def __init__(self, variable: _core.Tensor) -> None:
        self.variable = variable

    def name(self) -> str:
        return "AccumulateGrad"

    @property
    def next_functions(self) -> tuple[()]:
        return ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return hash((AccumulateGrad, id(self.variable)))

    def __repr__(self) -> str:
        return f"<AccumulateGrad of {tuple(self.variable.shape)}>"


def _next_functions(node: _core.Node) -> tuple[tuple[Any, int], ...]:
    """The nodes behind this one, one pair (node, output number) for each input that needs a gradient."""
    return tuple((AccumulateGrad(to) if isinstance(to, _core.Tensor) else to, output) for to, output in node._edges())


_core.Node.next_functions = property(_next_functions)


class Function:
    """A differentiable function with both directions written in Python.

    Subclasses define `forward(ctx, *args)` and `backward(ctx, *gradients)` as static methods, as in PyTorch: backward
    receives one gradient for each output and returns one for each argument of forward, None where there is none
    (more Nones at the end are ignored). `apply(*args)` runs it. The ctx has:

    - `save_for_backward(*tensors)` in forward and `saved_tensors` in backward, which raises AutogradError when one of
      them was changed in place meanwhile;
    - `needs_input_grad`: a bool for each argument;
    - `set_materialize_grads(False)`: gradients that did not arrive are None in backward instead of zeros.
    """

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self._to_save: tuple[_core.Tensor | None, ...] = ()
        self._saved: tuple[_core.Tensor | None, ...] | None = None
        self._elsewhere: tuple[_core.Tensor | None, ...] = ()
        self._outputs: tuple[tuple[tuple[int, ...], DType], ...] = ()
        self._materialize = True

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """Compute the outputs: a Tensor or a tuple of them."""
        raise NotImplementedError("a Function defines forward(ctx, *args) as a static method")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Compute the gradients of forward's arguments from those of its outputs."""
        raise NotImplementedError("a Function defines backward(ctx, *gradients) as a static method")

    def save_for_backward(self, *tensors: _core.Tensor | None) -> None:
        """Keep tensors for backward, with the check that nobody changes them in place."""
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[_core.Tensor | None, ...]:
        """What save_for_backward was given; in backward alone."""
        if self._saved is None:
            raise AutogradError(f"{type(self).__name__}: saved_tensors are there in backward alone")
        return self._saved

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that did not arrive are zeros (the default) or None."""
        self._materialize = value

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward on args, and make backward its history where an argument requires grad."""
        ctx = cls()
        inputs = tuple(a if isinstance(a, _core.Tensor) else None for a in args)
        ctx.needs_input_grad = tuple(a is not None and a.requires_grad for a in inputs)
        with no_grad():
            result = cls.forward(ctx, *args)
        outputs = result if isinstance(result, tuple) else (result,)
        for out in outputs:
            if not isinstance(out, _core.Tensor):
                raise TypeError(f"{cls.__name__}: forward must return Tensors, not {type(out).__name__}")
        if _core.is_grad_enabled() and any(ctx.needs_input_grad):
            given = {id(a) for a in inputs}
            outputs = tuple(out.detach() if id(out) in given else out for out in outputs)
            ctx._outputs = tuple((out.shape, out.dtype) for out in outputs)
            ctx._elsewhere = _core.attach(outputs, ctx, inputs, ctx._to_save)
        ctx._to_save = ()
        return outputs if isinstance(result, tuple) else outputs[0]

    def _run_backward(
        self, saved: tuple[_core.Tensor | None, ...], gradients: tuple[_core.Tensor | None, ...], create_graph: bool
    ) -> tuple[_core.Tensor | None, ...]:
        """Called by the engine: one gradient or None for each argument of forward."""
        if self._materialize:
            gradients = tuple(
                _zeros(*spec) if g is None else g for g, spec in zip(gradients, self._outputs, strict=True)
            )
        self._saved = tuple(b if a is None else a for a, b in zip(saved, self._elsewhere, strict=True))
        try:
            with set_grad_enabled(create_graph):
                result = type(self).backward(self, *gradients)
        finally:
            self._saved = None
        return self._checked(result if isinstance(result, tuple) else (result,))

    def _checked(self, result: tuple[Any, ...]) -> tuple[_core.Tensor | None, ...]:
        expected, name = len(self.needs_input_grad), type(self).__name__
        if len(result) < expected or any(extra is not None for extra in result[expected:]):
            raise AutogradError(
                f"{name}.backward returned {len(result)} gradients, but forward took {expected} arguments: "
                "return one for each, None where there is none"
            )
        for i, value in enumerate(result[:expected]):
            if value is not None and not isinstance(value, _core.Tensor):
                raise AutogradError(f"{name}.backward: gradient {i} is a {type(value).__name__}, not a Tensor or None")
        return tuple(v if needed else None for v, needed in zip(result, self.needs_input_grad, strict=False))


def _zeros(shape: tuple[int, ...], dtype: DType) -> _core.Tensor:
    zeros = _core.empty(shape, dtype)
    zeros.fill_(0)
    return zeros
