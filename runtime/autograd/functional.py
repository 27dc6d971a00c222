"""Derivatives of a function as functions: products with its Jacobian and Hessian, and these matrices themselves.

All take `func`, a function of tensors that returns a tensor or a tuple of them, and `inputs`, a tensor or a tuple of
them, and give results in the same form. With `create_graph` the results have a graph of their own, which reaches
`inputs` where these require grad. With `strict` an output that does not depend on an input is an AutogradError; else
its derivative is zeros.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import creation
from .._core import Tensor
from ..errors import AutogradError
from ..ops.shape import stack
from .backward import grad
from .modes import enable_grad

Tensors = tuple[Tensor, ...]
OneOrMore = Tensor | Tensors


def vjp(
    func: Callable[..., OneOrMore],
    inputs: OneOrMore,
    v: OneOrMore | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[OneOrMore, OneOrMore]:
    """The outputs of func, and v times its Jacobian: one result for each input, of its shape.

    v: as the outputs; not needed for a single output with one element, where it is 1.
    """
    call = _Call("vjp", func, inputs, create_graph, strict)
    found = call.differentiate(call.outputs, call.inputs, call.vector(v, call.outputs), create_graph)
    return call.give(call.outputs, call.one_output), call.give(found, call.one_input)


def jvp(
    func: Callable[..., OneOrMore],
    inputs: OneOrMore,
    v: OneOrMore | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[OneOrMore, OneOrMore]:
    """The outputs of func, and its Jacobian times v: one result for each output, of its shape.

    v: as the inputs; not needed for a single input with one element, where it is 1. Computed by going backward twice:
    w times the Jacobian is linear in w, and its derivative there is the Jacobian.
    """
    call = _Call("jvp", func, inputs, create_graph, strict)
    w = tuple(creation.zeros_like(out).requires_grad_() for out in call.outputs)
    products = call.differentiate(call.outputs, call.inputs, w, True)
    found = call.differentiate(products, w, call.vector(v, call.inputs), create_graph)
    return call.give(call.outputs, call.one_output), call.give(found, call.one_output)


def jacobian(
    func: Callable[..., OneOrMore], inputs: OneOrMore, create_graph: bool = False, strict: bool = False
) -> Any:
    """The Jacobian: for each output and each input a tensor of shape output.shape + input.shape.

    A single output or input stands without its tuple: of a function from one to one it is one tensor.
    """
    call = _Call("jacobian", func, inputs, create_graph, strict)
    result = []
    for out in call.outputs:
        rows = [call.differentiate((out,), call.inputs, (unit,), create_graph) for unit in unit_vectors(out)]
        result.append(call.give(tuple(_stacked(rows, i, out, x) for i, x in enumerate(call.inputs)), call.one_input))
    return result[0] if call.one_output else tuple(result)


def hessian(func: Callable[..., Tensor], inputs: OneOrMore, create_graph: bool = False, strict: bool = False) -> Any:
    """The Hessian of a func with one element: for each two inputs a tensor of shape first.shape + second.shape.

    A single input stands without its tuples: its Hessian is one tensor.
    """
    one = isinstance(inputs, Tensor)

    def gradient(*given: Tensor) -> OneOrMore:
        call = _Call("hessian", func, given, True, strict)
        return call.give(call.differentiate(call.scalar(), call.inputs, call.vector(None, call.outputs), True), one)

    return jacobian(gradient, inputs, create_graph, strict)


def hvp(
    func: Callable[..., Tensor],
    inputs: OneOrMore,
    v: OneOrMore | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[OneOrMore, OneOrMore]:
    """The value of func, which has one element, and its Hessian times v: one result for each input, of its shape."""
    call = _Call("hvp", func, inputs, create_graph, strict)
    w = (creation.ones_like(call.scalar()[0]),)
    gradients = call.differentiate(call.outputs, call.inputs, w, True)
    found = call.differentiate(gradients, call.inputs, call.vector(v, call.inputs), create_graph)
    return call.give(call.outputs, True), call.give(found, call.one_input)


def vhp(
    func: Callable[..., Tensor],
    inputs: OneOrMore,
    v: OneOrMore | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[OneOrMore, OneOrMore]:
    """The value of func, which has one element, and v times its Hessian, which is symmetric: the same as hvp."""
    return hvp(func, inputs, v, create_graph, strict)


def unit_vectors(like: Tensor) -> Iterator[Tensor]:
    """For each element a tensor of like's shape and dtype that is 1 there and 0 elsewhere."""
    for row in np.eye(like.numel(), dtype=like.dtype.numpy):
        yield creation.tensor(row.reshape(like.shape))


def _stacked(rows: list[Tensors], i: int, out: Tensor, x: Tensor) -> Tensor:
    if not rows:
        return creation.zeros((*out.shape, *x.shape), dtype=x.dtype)
    stacked: Tensor = stack([row[i] for row in rows], axis=0)
    matrix: Tensor = stacked.reshape(*out.shape, *x.shape)
    return matrix


class _Call:
    """One call of the user's function, with inputs that the derivatives are taken at."""

    def __init__(
        self, name: str, func: Callable[..., OneOrMore], inputs: OneOrMore, create_graph: bool, strict: bool
    ) -> None:
        self.name = name
        self.create_graph = create_graph
        self.strict = strict
        given, self.one_input = self._as_tuple(inputs, "the input")
        with enable_grad():
            # A view of an input: derivatives are taken at it, and its graph leads on to the user's tensor.
            self.inputs = tuple(
                x.reshape(x.shape) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given
            )
            self.outputs, self.one_output = self._as_tuple(func(*self.inputs), "what the function returns")

    def _as_tuple(self, value: OneOrMore, what: str) -> tuple[Tensors, bool]:
        if isinstance(value, Tensor):
            return (value,), True
        if not isinstance(value, tuple) or not all(isinstance(t, Tensor) for t in value):
            raise TypeError(f"{self.name}: {what} must be a Tensor or a tuple of them, not {type(value).__name__}")
        return value, False

    def scalar(self) -> Tensors:
        if len(self.outputs) != 1 or self.outputs[0].numel() != 1:
            shapes = ", ".join(str(tuple(out.shape)) for out in self.outputs)
            raise AutogradError(f"{self.name}: the function must return one element, its output has shape {shapes}")
        return self.outputs

    def vector(self, v: OneOrMore | None, like: Tensors) -> Tensors:
        """v as a tuple, checked to have the shapes of `like`."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise AutogradError(f"{self.name}: v may be left out where it has one element alone")
            return (creation.ones_like(like[0]),)
        vectors, _ = self._as_tuple(v, "v")
        if [t.shape for t in vectors] != [t.shape for t in like]:
            raise AutogradError(
                f"{self.name}: v has the shapes {[t.shape for t in vectors]}, it needs {[t.shape for t in like]}"
            )
        return vectors

    def differentiate(self, outputs: Tensors, at: Tensors, weights: Tensors, create_graph: bool) -> Tensors:
        """The gradient of the weighted outputs at each of `at`: zeros, or an error, where it does not matter."""
        pairs = [(out, w) for out, w in zip(outputs, weights, strict=True) if out.requires_grad]
        found: Any = (None,) * len(at)
        if pairs:
            outs, ws = zip(*pairs, strict=True)
            with enable_grad():
                found = grad(outs, at, ws, retain_graph=True, create_graph=create_graph, allow_unused=True)
        if self.strict and None in found:
            raise AutogradError(
                f"{self.name}: the output does not depend on input {found.index(None)}, which strict=True refuses"
            )
        return tuple(creation.zeros_like(x) if g is None else g for x, g in zip(at, found, strict=True))

    def give(self, results: Tensors, one: bool) -> OneOrMore:
        if not self.create_graph:
            results = tuple(t.detach() for t in results)
        return results[0] if one else results
