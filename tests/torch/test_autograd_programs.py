"""Random programs run here and by PyTorch: values, gradients, what hooks saw and what was refused must be the same.

They are made of ops, views, changes in place, hooks, detach, no_grad, passes with and without retain_graph, and second
gradients. Where the two are known to differ, and why:

- a view made under no_grad requires grad in PyTorch, against its documentation; here it does not: none is made;
- a hook on a view that is later changed in place is called here, as PyTorch documents, but not by PyTorch: only tensors
  that are no views get hooks;
- PyTorch refuses to use a changed or freed value also where no gradient needs it, and when several reasons hold it may
  name another one; it lets a number be written over the memory of an expanded tensor, but not a tensor over one that it
  shares memory with. Such a program ends there.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

STEPS = 12
REASONS = {  # a part of PyTorch's message or ours: why a call was refused
    "modified by an inplace operation": "changed",
    "second time": "freed",
    "a leaf": "leaf",
    "a view of a leaf": "leaf",
    "multiple views": "several views",
    "no_grad mode": "view of no_grad",
    "does not require grad": "no gradient",
    "not have been used in the graph": "unused",
    "was not used in the graph": "unused",
    "requires_grad flags of leaf": "not a leaf",
    "can be cleared on leaves": "not a leaf",
    "single memory location": "expanded",
    "lies at one place in memory": "expanded",
}

Tensor = Any  # of one of the two
Operation = Callable[[Any, Tensor, Tensor, int], Tensor | None]  # the library, two tensors, a random number


def _set(x: Tensor, key: Any, value: Any) -> None:
    x[key] = value


VIEWS: list[Operation] = [
    lambda m, x, y, q: x.transpose(0, -1),
    lambda m, x, y, q: x[q % x.shape[0]],
    lambda m, x, y, q: x[..., : max(1, x.shape[-1] - 1)],
    lambda m, x, y, q: x[::2],
    lambda m, x, y, q: x.unsqueeze(0),
    lambda m, x, y, q: x.unsqueeze(0).expand(2, *x.shape) if x.ndim < 3 else None,
    lambda m, x, y, q: x.narrow(0, 0, 1),
    lambda m, x, y, q: x.diagonal() if x.ndim == 2 else None,
    lambda m, x, y, q: x.unbind(0)[q % x.shape[0]],
    lambda m, x, y, q: x.split(2, 0)[0],
]
OPS: list[Operation] = [
    lambda m, x, y, q: x * y.sum(),
    lambda m, x, y, q: (x * 0.3).tanh(),
    lambda m, x, y, q: (x * 0.1).exp(),
    lambda m, x, y, q: x**2 * 0.1,
    lambda m, x, y, q: x.sum(0),
    lambda m, x, y, q: x.max(),
    lambda m, x, y, q: x.sum() * 0.1,  # mean is made of sum and a division here, which keeps its number
    lambda m, x, y, q: m.where(x > 0, x, x * 0.5),
    lambda m, x, y, q: m.concat([x, x]),
    lambda m, x, y, q: x.clone(),
    lambda m, x, y, q: x.softmax(-1),
    lambda m, x, y, q: x[m.tensor([0, 0])],
    lambda m, x, y, q: x @ x.mT if x.ndim == 2 else None,
    lambda m, x, y, q: x.detach(),
]
CHANGES: list[Operation] = [  # in place
    lambda m, x, y, q: x.exp_() if q % 2 else x.tanh_(),
    lambda m, x, y, q: x.mul_(0.5),
    lambda m, x, y, q: x.mul_(y.sum() * 0.1),
    lambda m, x, y, q: x.add_(y.sum()),
    lambda m, x, y, q: x.sub_(y) if x.shape == y.shape else None,
    lambda m, x, y, q: x.mul_(y) if x.shape == y.shape else None,
    lambda m, x, y, q: x.copy_(y) if x.shape == y.shape else None,
    lambda m, x, y, q: x.copy_(y.sum() * 0.5),
    lambda m, x, y, q: x.zero_(),
    lambda m, x, y, q: x.fill_(0.5),
    lambda m, x, y, q: _set(x, q % x.shape[0], y.sum()),
    lambda m, x, y, q: _set(x, q % x.shape[0], 0.25),
    lambda m, x, y, q: _set(x, x > 0.5, 0.1),
]


class Program:
    """The same steps for one of the two libraries."""

    def __init__(self, seed: int, library: Any) -> None:
        self.random, self.library = random.Random(seed), library
        data = np.random.default_rng(seed).standard_normal((3, 4, 6))
        self.leaves = [library.tensor(values).requires_grad_() for values in data[:2]]
        self.tensors = [*(leaf * 1.0 for leaf in self.leaves), library.tensor(data[2])]
        self.views: set[int] = set()  # their places in tensors
        self.seen: list[Any] = []  # by hooks and by grad()

    def step(self) -> None:
        kinds = (self._view, self._op, self._op, self._change, self._change, self._hook, self._leaf, self._backward)
        kind, place, y = (
            self.random.choice(kinds),
            self.random.randrange(len(self.tensors)),
            self.random.choice(self.tensors),
        )
        number, recorded = self.random.randrange(1000), self.random.random() > 0.1
        x, views = self.tensors[place], kind == self._view or (kind == self._leaf and number % 5 == 2)
        if (x.ndim == 0 and kind in (self._view, self._op, self._change)) or (
            kind == self._hook and place in self.views
        ):
            return
        with self.library.enable_grad() if recorded or views else self.library.no_grad():
            result = kind(x, y, number)
        if result is not None:
            if views:
                self.views.add(len(self.tensors))
            self.tensors.append(result)

    def _view(self, x: Tensor, y: Tensor, number: int) -> Tensor | None:
        return VIEWS[number % len(VIEWS)](self.library, x, y, number)

    def _op(self, x: Tensor, y: Tensor, number: int) -> Tensor | None:
        return OPS[number % len(OPS)](self.library, x, y, number)

    def _change(self, x: Tensor, y: Tensor, number: int) -> None:
        CHANGES[number % len(CHANGES)](self.library, x, y, number)

    def _hook(self, x: Tensor, y: Tensor, number: int) -> None:
        def hook(gradient: Tensor) -> Tensor | None:
            self.seen.append((number, gradient.tolist()))
            return gradient * 1.5 if number % 4 == 0 else None

        x = self.leaves[number % 2] if number % 3 == 0 else x
        if x.requires_grad:
            x.register_hook(hook)
            if number % 5 == 0:
                x.retain_grad()

    def _leaf(self, x: Tensor, y: Tensor, number: int) -> Tensor | None:
        leaf = self.leaves[number % len(self.leaves)]
        match number % 5:
            case 0:
                self.leaves.append(x.detach().clone().requires_grad_())
                return self.leaves[-1] * 1.0
            case 1:
                return leaf * y.sum()
            case 2:
                return self._view(leaf, y, number) if leaf.ndim else None
            case 3:
                x.requires_grad_(False)
            case _:
                leaf.mul_(0.9)
        return None

    def _backward(self, x: Tensor, y: Tensor, number: int) -> Tensor | None:
        loss = (y * y * y).sum() * 0.1
        if number % 3 == 0:
            loss.backward(retain_graph=number % 2 == 0)
            return None
        keep, unused = number % 2 == 0, number % 5 == 0
        inputs = x if number % 3 == 1 else self.leaves[number % 2]
        (gradient,) = self.library.autograd.grad(loss, [inputs], create_graph=keep, allow_unused=unused)
        self.seen.append(None if gradient is None else gradient.tolist())
        return gradient if keep else None

    def finish(self) -> None:
        losses = [(t * t).sum() for t in self.tensors if t.requires_grad]
        if losses:
            sum(losses[1:], losses[0]).backward()


def reason(program: Program, call: Callable[[Program], None]) -> str:
    """Why a call was refused; empty where it was not."""
    try:
        call(program)
    except RuntimeError as error:
        return next((why for part, why in REASONS.items() if part in str(error)), str(error))
    return ""


def agree(ours: str, theirs: str) -> bool:
    """False: the program ends here, as the module's docstring says. Other differences fail."""
    if ours == theirs:
        return True
    of_values = {"changed", "freed"}
    of_memory = {"expanded", ""}
    assert (theirs in of_values and ours in of_values | {""}) or {ours, theirs} <= of_memory, (ours, theirs)
    return False


def compare_states(ours: Program, theirs: Program) -> None:
    assert len(ours.tensors) == len(theirs.tensors)
    for a, b in zip(ours.tensors, theirs.tensors, strict=True):
        refused = [reason(program, lambda _, t=t: t.grad_fn) for program, t in ((ours, a), (theirs, b))]  # type: ignore[misc]
        assert refused[0] == refused[1]
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-9, atol=1e-12)
        if not refused[0]:
            assert (a.requires_grad, a.is_leaf) == (b.requires_grad, b.is_leaf)


def compare_gradients(ours: Program, theirs: Program) -> None:
    pairs = zip([*ours.leaves, *ours.tensors], [*theirs.leaves, *theirs.tensors], strict=True)
    with pytest.warns() if any(not t.is_leaf for t in theirs.tensors) else pytest.MonkeyPatch.context():
        for a, b in pairs:
            got, want = a.grad, b.grad
            assert (got is None) == (want is None)
            if got is not None:
                np.testing.assert_allclose(got.tolist(), want.tolist(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(250))
def test_a_program_does_the_same(seed: int) -> None:
    ours, theirs = Program(seed, rt), Program(seed, torch)
    for _ in range(STEPS):
        if not agree(reason(ours, Program.step), reason(theirs, Program.step)):
            return
        compare_states(ours, theirs)
    if not agree(why := reason(ours, Program.finish), reason(theirs, Program.finish)) or why:
        return
    compare_gradients(ours, theirs)
    assert len(ours.seen) == len(theirs.seen)
    for got, want in zip(ours.seen, theirs.seen, strict=True):
        if isinstance(want, tuple):
            assert got[0] == want[0]
            got, want = got[1], want[1]
        assert (got is None) == (want is None)
        if want is not None:
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)
