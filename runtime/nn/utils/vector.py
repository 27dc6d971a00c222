"""All parameters as one vector."""

from collections.abc import Iterable

from ..._core import Tensor
from ...autograd import no_grad
from ...errors import ShapeError
from ...ops.shape import concat


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Their elements one after the other, (n,). Gradients flow back into the parameters."""
    joined: Tensor = concat([p.reshape(-1) for p in parameters])
    return joined


@no_grad()
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the elements of a vector into the parameters, in their order. Raises ShapeError if their number differs."""
    held = list(parameters)
    count = sum(p.numel() for p in held)
    if vec.shape != (count,):
        raise ShapeError(f"vector_to_parameters: {count} elements are wanted, the vector has shape {vec.shape}")
    start = 0
    for p in held:
        p.copy_(vec[start : start + p.numel()].reshape(p.shape))
        start += p.numel()
