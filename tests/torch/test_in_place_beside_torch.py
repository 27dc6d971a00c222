"""Random programs of views and changes in place, run here and by PyTorch: values and gradients must be the same."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

OPERATIONS: list[Callable[[Any, Any, int], Any]] = [  # a tensor, another one, a random number; None: changed in place
    lambda x, y, q: x.transpose(0, -1),
    lambda x, y, q: x[q % x.shape[0]],
    lambda x, y, q: x[..., : max(1, x.shape[-1] - 1)],
    lambda x, y, q: x.reshape(-1),
    lambda x, y, q: x.unsqueeze(0).expand(2, *x.shape),
    lambda x, y, q: (x * y.sum()).tanh(),
    lambda x, y, q: x.mul_(0.5),
    lambda x, y, q: x.add_(y.sum()),
    lambda x, y, q: x.mul_(y.sum() * 0.1),
    lambda x, y, q: x.copy_(y.sum()),
    lambda x, y, q: x.__setitem__(q % x.shape[0], y.sum()),
]


class Program:
    """The same steps for one of the two libraries."""

    def __init__(self, seed: int, make: Callable[[Any], Any]) -> None:
        self.random = random.Random(seed)
        data = np.random.default_rng(seed).standard_normal((3, 4, 6))
        self.leaves = [make(data[0]).requires_grad_(), make(data[1]).requires_grad_()]
        self.tensors = [*(leaf * 1.0 for leaf in self.leaves), make(data[2])]

    def step(self) -> bool:
        """False: it was refused."""
        which = self.random.randrange(len(OPERATIONS))
        x, y = self.random.choice(self.tensors), self.random.choice(self.tensors)
        number = self.random.randrange(1000)
        if x.ndim == 0 and which in (0, 1, 2, 10):
            return True
        try:
            result = OPERATIONS[which](x, y, number)
        except RuntimeError:
            return False
        if which < 6:
            self.tensors.append(result)
        for t in self.tensors:
            _ = t.grad_fn  # PyTorch takes a view for a leaf until somebody looks
        return True

    def finish(self) -> list[Any]:
        """The gradients of the leaves; empty where something that is needed was overwritten."""
        loss = sum((t * t).sum() for t in self.tensors)
        try:
            loss.backward()  # type: ignore[union-attr]
        except RuntimeError:
            return []
        return [0.0 if leaf.grad is None else leaf.grad.tolist() for leaf in self.leaves]


@pytest.mark.parametrize("seed", range(100))
def test_values_and_gradients_are_the_same(seed: int) -> None:
    ours = Program(seed, lambda a: rt.tensor(a, dtype=rt.float64))
    theirs = Program(seed, torch.tensor)
    for _ in range(12):
        assert ours.step() == theirs.step()
    for a, b in zip(ours.tensors, theirs.tensors, strict=True):
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-9)
        assert a.requires_grad == b.requires_grad and a._is_view() == b._is_view()
    wanted = theirs.finish()
    if not wanted:
        return  # PyTorch looks also at what no gradient will come to
    for got, want in zip(ours.finish(), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)
