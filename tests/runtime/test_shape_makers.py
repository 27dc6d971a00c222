"""Running sums, einsum, and what lays elements out anew: values by NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime.nn import functional as F

A = np.random.default_rng(0).normal(size=(2, 3, 4))
B = np.random.default_rng(1).normal(size=(4, 3))
M = A[0]

BESIDE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "cumsum": (lambda: rt.tensor(A).cumsum(1), lambda: A.cumsum(1)),
    "cumulative_sum": (
        lambda: rt.cumulative_sum(rt.tensor(A), axis=-1, include_initial=True),
        lambda: np.cumulative_sum(A, axis=-1, include_initial=True),
    ),
    "cumulative_prod": (
        lambda: rt.cumulative_prod(rt.tensor(A), axis=0, include_initial=True),
        lambda: np.cumulative_prod(A, axis=0, include_initial=True),
    ),
    "logcumsumexp": (lambda: rt.tensor(A).logcumsumexp(2), lambda: np.log(np.exp(A).cumsum(2))),
    "cummax": (lambda: rt.tensor(A).cummax(1).values, lambda: np.maximum.accumulate(A, 1)),
    "cummin": (lambda: rt.tensor(A).cummin(1).values, lambda: np.minimum.accumulate(A, 1)),
    "tile": (lambda: rt.tile(rt.tensor(M), (2, 1, 3)), lambda: np.tile(M, (2, 1, 3))),
    "repeat of the array API": (lambda: rt.repeat(rt.tensor(M), 2, axis=1), lambda: np.repeat(M, 2, 1)),
    "Tensor.repeat": (lambda: rt.tensor(M).repeat(2, 3), lambda: np.tile(M, (2, 3))),
    "repeat_interleave": (
        lambda: rt.tensor(M).repeat_interleave(rt.tensor([2, 0, 1]), dim=0),
        lambda: np.repeat(M, [2, 0, 1], 0),
    ),
    "roll": (lambda: rt.roll(rt.tensor(A), (1, -2), dim=(0, 2)), lambda: np.roll(A, (1, -2), (0, 2))),
    "flip": (lambda: rt.tensor(A).flip((0, 2)), lambda: np.flip(A, (0, 2))),
    "rot90": (lambda: rt.rot90(rt.tensor(A), 3, (0, 2)), lambda: np.rot90(A, 3, (0, 2))),
    "hstack": (lambda: rt.hstack([rt.tensor(M), rt.tensor(M)]), lambda: np.hstack([M, M])),
    "vstack": (lambda: rt.vstack([rt.tensor(M[0]), rt.tensor(M)]), lambda: np.vstack([M[0], M])),
    "dstack": (lambda: rt.dstack([rt.tensor(M), rt.tensor(M)]), lambda: np.dstack([M, M])),
    "meshgrid": (
        lambda: rt.meshgrid(rt.tensor(M[0]), rt.tensor(M[:, 0]))[1],
        lambda: np.meshgrid(M[0], M[:, 0])[1],
    ),
    "diag_embed": (lambda: rt.tensor(M[0]).diag(1), lambda: np.diag(M[0], 1)),
    "trace": (lambda: rt.tensor(M).trace(), lambda: np.trace(M)),
    "block_diag": (
        lambda: rt.block_diag(rt.tensor(M[:1]), rt.tensor(M[:, :1])),
        lambda: np.block([[M[:1], np.zeros((1, 1))], [np.zeros((3, 4)), M[:, :1]]]),
    ),
    "tril_indices": (lambda: rt.tril_indices(3, 4, 1), lambda: np.stack(np.tril_indices(3, 1, 4))),
    "kron": (lambda: rt.kron(rt.tensor(M), rt.tensor(B)), lambda: np.kron(M, B)),
    "pad": (
        lambda: F.pad(rt.tensor(A), (1, 2, 0, 1), value=5.0),
        lambda: np.pad(A, [(0, 0), (0, 1), (1, 2)], constant_values=5.0),
    ),
    "pad that cuts": (lambda: F.pad(rt.tensor(A), (-1, 1)), lambda: np.pad(A[..., 1:], [(0, 0), (0, 0), (0, 1)])),
    "pad reflect": (
        lambda: F.pad(rt.tensor(A), (3, 2), "reflect"),
        lambda: np.pad(A, [(0, 0), (0, 0), (3, 2)], "reflect"),
    ),
    "pad replicate": (
        lambda: F.pad(rt.tensor(A), (3, 9), "replicate"),
        lambda: np.pad(A, [(0, 0), (0, 0), (3, 9)], "edge"),
    ),
    "pad circular": (
        lambda: F.pad(rt.tensor(A), (3, 2), "circular"),
        lambda: np.pad(A, [(0, 0), (0, 0), (3, 2)], "wrap"),
    ),
    "one_hot": (lambda: F.one_hot(rt.tensor([2, 0]), 4), lambda: np.eye(4, dtype=np.int64)[[2, 0]]),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_values(name: str) -> None:
    ours, numpy = BESIDE[name]
    out, want = ours(), numpy()
    assert out.shape == want.shape and out.dtype.numpy == want.dtype
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "equation",
    [
        "ij,jk->ik", "ij,jk", "bij,kj->bik", "bij,bkj->bik", "ij,ij->", "ij->ji", "bij->j", "iij->ij", "i,j->ij",
        "...j,kj->...k", "ij,jk,kl->il", "ij,ij->ij", "ij,jk,ik->", "bij,jk,bk->bi", "ij->",
    ],
)  # fmt: skip
def test_einsum(equation: str) -> None:
    sizes = {"b": 2, "i": 3, "j": 4, "k": 5, "l": 2}
    random = np.random.default_rng(0)
    terms = equation.split("->")[0].split(",")
    shapes = [[n for c in t.replace("...", ".") for n in ([6, 3] if c == "." else [sizes[c]])] for t in terms]
    arrays = [random.normal(size=s) for s in shapes]
    leaves = [rt.tensor(a, requires_grad=True) for a in arrays]
    out = rt.einsum(equation, *leaves)
    want = np.einsum(equation, *arrays)
    np.testing.assert_allclose(out.detach().numpy(), want, rtol=1e-12)
    weights = random.normal(size=want.shape)
    (out * rt.tensor(weights)).sum().backward()
    if "..." in equation:  # the sweep of the ops has such a gradient
        return
    result = equation.split("->")[1] if "->" in equation else "ik"
    for i, leaf in enumerate(leaves):  # linear in each: the gradient is the product of the others
        if len(set(terms[i])) < len(terms[i]) or not set(terms[i]) <= set(result + "".join(terms[:i] + terms[i + 1 :])):
            continue
        others = ",".join([result, *terms[:i], *terms[i + 1 :]])
        expected = np.einsum(f"{others}->{terms[i]}", weights, *arrays[:i], *arrays[i + 1 :])
        assert leaf.grad is not None
        np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-10)


def test_the_gradient_of_a_running_product_past_zeros() -> None:
    x = rt.tensor([2.0, 0.0, 3.0, 0.0, 5.0], requires_grad=True)
    x.cumprod(0).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1, 2 + 6, 0, 0, 0]


def test_the_last_of_equal_extrema_is_found() -> None:
    x = rt.tensor([1.0, 3.0, 3.0, 2.0])
    assert x.cummax(0).indices.tolist() == [0, 1, 2, 2] and x.cummin(0).indices.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda x: rt.einsum("ij,jk->ik", x), rt.ArgumentError, "names 2 operands, 1 were given"),
        (lambda x: rt.einsum("ij,ij->k", x, x), rt.ArgumentError, "names letters of the operands"),
        (lambda x: rt.einsum("ii", x), rt.ShapeError, "axis 'i' of 'ii' has size 2 and size 3"),
        (lambda x: rt.einsum("i", x), rt.ShapeError, "does not name the axes"),
        (lambda x: F.pad(x, (1,)), rt.ShapeError, "needs two numbers"),
        (lambda x: F.pad(x, (3, 0), "reflect"), rt.ShapeError, "reflect cannot add 3 and 0 to an axis of size 3"),
        (lambda x: F.pad(x, (1, 1), "mirror"), rt.ArgumentError, "not 'mirror'"),
        (lambda x: F.one_hot(rt.tensor([3]), 3), IndexError, "class 3 of 3"),
        (lambda x: rt.cumulative_sum(x), rt.ShapeError, "say along which axis"),
        (lambda x: rt.repeat(x, rt.tensor([1, 2]), axis=1), rt.ArgumentError, "one or 3 of them"),
    ],
)
def test_what_is_refused(act: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act(rt.zeros(2, 3))
