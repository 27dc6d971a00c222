"""Backward passes over several tensors, to all leaves or to chosen inputs."""

from collections.abc import Sequence
from typing import TypeAlias

from .. import _core
from ..errors import AutogradError
from .hooks import retain_grad

Tensor: TypeAlias = _core.Tensor
_Tensors: TypeAlias = Tensor | Sequence[Tensor]
_Gradients: TypeAlias = Tensor | Sequence[Tensor | None] | None


def _tuple(tensors: _Tensors) -> tuple[Tensor, ...]:
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _gradients(given: _Gradients, count: int, name: str) -> tuple[Tensor | None, ...]:
    if given is None:
        return (None,) * count
    gradients = (given,) if isinstance(given, Tensor) else tuple(given)
    if len(gradients) != count:
        raise AutogradError(f"{name} has {len(gradients)} gradients for {count} tensors: give one for each, or None")
    return gradients


def backward(
    tensors: _Tensors,
    grad_tensors: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: _Tensors | None = None,
) -> None:
    """Add the gradients of `tensors` into the `grad` of the leaves behind them.

    grad_tensors: the gradient of each tensor, in its shape and dtype; None for tensors with one element, which have 1.
    retain_graph: keep what the graph saved, for another backward (default: as create_graph). create_graph: record the
    pass itself, so that the gradients have gradients. inputs: add into the `grad` of these alone.
    Raises AutogradError when a tensor does not require grad, or the graph was used before.
    """
    roots = _tuple(tensors)
    wanted = () if inputs is None else _tuple(inputs)
    if inputs is not None and not wanted:
        raise AutogradError("backward(): inputs is empty: leave it out for all leaves")
    for i, tensor in enumerate(wanted):
        if not tensor.requires_grad:
            raise AutogradError(f"backward(): input {i} does not require grad")
        retain_grad(tensor)
    keep = create_graph if retain_graph is None else retain_graph
    gradients = _gradients(grad_tensors, len(roots), "grad_tensors")
    _core.run_backward(roots, gradients, keep, create_graph, _unique(wanted), True)


def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of `outputs` with respect to each of `inputs`; no `grad` is touched.

    grad_outputs: the gradient of each output, None for outputs with one element. allow_unused: give None for an input
    that the outputs do not depend on, which otherwise raises AutogradError; materialize_grads: give zeros for it.
    retain_graph, create_graph: as of backward(). only_inputs: True, as in PyTorch.
    """
    if not only_inputs:
        raise ValueError("grad(): only_inputs=False is gone, in PyTorch too: backward() adds to every leaf's grad")
    if is_grads_batched:
        raise AutogradError("grad(): is_grads_batched is not there: call grad() for each gradient, with retain_graph")
    if materialize_grads and allow_unused is False:
        raise ValueError("grad(): materialize_grads gives zeros for unused inputs: leave allow_unused out")
    roots, wanted = _tuple(outputs), _tuple(inputs)
    if not wanted:
        raise AutogradError("grad(): inputs is empty")
    for i, tensor in enumerate(wanted):
        if not tensor.requires_grad:
            raise AutogradError(f"grad(): input {i} does not require grad")
    keep = create_graph if retain_graph is None else retain_graph
    unique = _unique(wanted)
    found = _core.run_backward(
        roots, _gradients(grad_outputs, len(roots), "grad_outputs"), keep, create_graph, unique, False
    )
    by_input = {id(t): g for t, g in zip(unique, found, strict=True)}
    result = [by_input[id(t)] for t in wanted]
    for i, (tensor, gradient) in enumerate(zip(wanted, result, strict=True)):
        if gradient is not None:
            continue
        if materialize_grads:
            result[i] = tensor.detach() * 0
        elif not allow_unused:
            raise AutogradError(
                f"grad(): input {i} was not used in the graph of the outputs: pass allow_unused=True to get None for it"
            )
    return tuple(result)


def _unique(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple({id(t): t for t in tensors}.values())
