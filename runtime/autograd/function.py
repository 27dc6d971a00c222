"""Functions with both directions written in Python."""

from typing import Any

from .. import _core
from ..errors import AutogradError
from ..spec import DType
from .modes import no_grad, set_grad_enabled


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
