"""Checks of gradients against finite differences."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import creation
from .._core import Tensor
from ..errors import AutogradError, GradcheckError
from ..spec import float64
from .backward import grad
from .functional import unit_vectors
from .modes import enable_grad

Matrix = np.ndarray[Any, Any]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Whether the gradients of func agree with central differences of step eps, element by element.

    inputs: a tensor or a sequence; those that require grad are checked, and should be float64. func returns a tensor or
    a tuple of them. |difference| may be at most atol + rtol * |numerical|. GradcheckError shows both Jacobians of the
    pair that differs, one row for each element of the input; with raise_exception=False the answer is False.
    """
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        _check(func, given, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """gradcheck of func's gradient, as a function of the inputs and of what flows into the outputs.

    grad_outputs: a tensor or a sequence, for each output that requires grad; random numbers if not given.
    """
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = _differentiable(func(*given))
    if grad_outputs is None:
        random = np.random.default_rng(0)
        weights = [
            creation.tensor(random.normal(size=out.shape), dtype=out.dtype, requires_grad=True) for out in outputs
        ]
    else:
        weights = list((grad_outputs,) if isinstance(grad_outputs, Tensor) else grad_outputs)

    def gradients(*arguments: Any) -> tuple[Tensor, ...]:
        args, flows = arguments[: len(given)], arguments[len(given) :]
        leaves = [a for a in args if _requires(a)]
        with enable_grad():
            found = grad(_differentiable(func(*args)), leaves, flows, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(gradients, (*given, *weights), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)


def _requires(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _differentiable(result: Any) -> list[Tensor]:
    outputs = (result,) if isinstance(result, Tensor) else result
    return [out for out in outputs if _requires(out)]


def _check(func: Callable[..., Any], inputs: Sequence[Any], eps: float, atol: float, rtol: float) -> None:
    checked = [i for i, x in enumerate(inputs) if _requires(x)]
    if not checked:
        raise AutogradError("gradcheck: none of the inputs requires grad")
    for i in checked:
        if inputs[i].dtype is not float64:
            warnings.warn(
                f"gradcheck: input {i} is {inputs[i].dtype.name}: differences need float64 to say something",
                stacklevel=3,
            )
    with enable_grad():
        outputs = _differentiable(func(*inputs))
    if not outputs:
        raise GradcheckError("no output of the function requires grad")
    leaves = [inputs[i] for i in checked]
    numerical = [_differences(func, inputs, i, eps, outputs) for i in checked]
    for o, out in enumerate(outputs):
        for i, wanted, got in zip(checked, numerical, _analytical(out, leaves), strict=True):
            if not np.allclose(got, wanted[o], rtol=rtol, atol=atol, equal_nan=True):
                raise GradcheckError(
                    f"Jacobian mismatch for output {o} with respect to input {i},\n"
                    f"numerical:{_shown(wanted[o])}\nanalytical:{_shown(got)}"
                )


def _shown(matrix: Matrix) -> str:
    return "\n" + np.array2string(matrix, separator=", ", precision=6, threshold=400)


def _analytical(out: Tensor, leaves: Sequence[Tensor]) -> list[Matrix]:
    """d out / d leaf, one row for each element of the leaf and one column for each of out."""
    matrices = [np.zeros((x.numel(), out.numel())) for x in leaves]
    for column, unit in enumerate(unit_vectors(out)):
        found = grad(out, leaves, unit, retain_graph=True, allow_unused=True)
        for i, (matrix, x, g) in enumerate(zip(matrices, leaves, found, strict=True)):
            if g is None:
                continue
            if g.shape != x.shape or g.dtype is not x.dtype:
                raise GradcheckError(
                    f"the gradient of input {i} is {g.dtype.name} {g.shape}, the input {x.dtype.name} {x.shape}"
                )
            matrix[:, column] = g.detach().numpy().reshape(-1)
    return matrices


def _differences(
    func: Callable[..., Any], inputs: Sequence[Any], i: int, eps: float, outputs: Sequence[Tensor]
) -> list[Matrix]:
    """The same by central differences: a matrix for each output that requires grad."""
    base = np.array(inputs[i].detach().numpy())

    def moved(at: tuple[int, ...], step: float) -> list[Matrix]:
        values = base.copy()
        values[at] += step
        with enable_grad():
            result = func(*inputs[:i], creation.tensor(values, requires_grad=True), *inputs[i + 1 :])
        return [np.array(out.detach().numpy(), np.float64).reshape(-1) for out in _differentiable(result)]

    matrices = [np.zeros((base.size, out.numel())) for out in outputs]
    for row, at in enumerate(np.ndindex(base.shape)):
        for matrix, up, down in zip(matrices, moved(at, eps), moved(at, -eps), strict=True):
            matrix[row] = (up - down) / (2 * eps)
    return matrices
