"""rt.linalg beside NumPy, what its functions refuse, and their gradients where the sweep does not go."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from perflab import runtime as rt

A = np.random.default_rng(0).normal(size=(2, 3, 3)) + 3 * np.eye(3)


@pytest.mark.parametrize("kind", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms_are_numpy_s(kind: str | float) -> None:
    got = rt.linalg.matrix_norm(rt.tensor(A), ord=kind, keepdims=True)
    np.testing.assert_allclose(got.numpy(), np.linalg.matrix_norm(A, ord=kind, keepdims=True))  # type: ignore[arg-type]


def test_a_norm_has_a_subgradient_of_0_at_0() -> None:
    x = rt.zeros(3, requires_grad=True)
    rt.linalg.vector_norm(x).backward()
    assert x.grad is not None and x.grad.tolist() == [0, 0, 0]


def test_products_give_the_matrix_back() -> None:
    x = rt.tensor(A)
    q, r = rt.linalg.qr(x)
    u, s, vh = rt.linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose((q @ r).numpy(), A)
    np.testing.assert_allclose((u * s.reshape(2, 1, 3) @ vh).numpy(), A)
    spd = x @ x.mT
    low = rt.linalg.cholesky(spd)
    np.testing.assert_allclose((low @ low.mT).numpy(), spd.numpy())
    np.testing.assert_allclose(rt.linalg.cholesky(spd, upper=True).numpy(), low.mT.numpy())
    values, vectors = rt.linalg.eigh(spd)
    np.testing.assert_allclose((vectors * values.reshape(2, 1, 3) @ vectors.mT).numpy(), spd.numpy())


def test_ranks_and_pseudo_inverses_count_small_singular_values_as_0() -> None:
    x = rt.tensor(np.diag([1.0, 1e-3, 0.0]))
    assert rt.linalg.matrix_rank(x).item() == 2 and rt.linalg.matrix_rank(x, rtol=1e-2).item() == 1
    np.testing.assert_allclose(rt.linalg.pinv(x, rtol=1e-2).numpy(), np.diag([1.0, 0.0, 0.0]), atol=1e-12)


@pytest.mark.parametrize(
    ("matrix", "gradient"),
    [
        ([[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]]),
        ([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 1.0, 1.0]], [[-2.0, 4.0, -2.0], [1.0, -2.0, 1.0], [0.0, 0.0, 0.0]]),
        ([[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]),
        ([[0.0]], [[1.0]]),
    ],
)
def test_the_gradient_of_a_singular_determinant_is_made_of_cofactors(
    matrix: list[list[float]], gradient: list[list[float]]
) -> None:
    x = rt.tensor(np.array(matrix), requires_grad=True)
    rt.linalg.det(x).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), gradient, atol=1e-12)


def test_the_gradient_of_slogdet_is_the_inverse_s_transpose() -> None:
    x = rt.tensor(A, requires_grad=True)
    rt.linalg.slogdet(x).logabsdet.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.linalg.inv(A).swapaxes(-1, -2))


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_gradients_of_factors_agree_with_those_of_the_product(shape: tuple[int, int]) -> None:
    """Of a = Q @ R and a = U @ diag(S) @ Vh: f(a) has the same gradient through its factors."""
    values = np.random.default_rng(1).normal(size=shape)
    weights = rt.tensor(np.random.default_rng(2).normal(size=shape))

    def gradient(through: Callable[[rt.Tensor], rt.Tensor]) -> np.ndarray:
        x = rt.tensor(values, requires_grad=True)
        (through(x).sin() * weights).sum().backward()
        assert x.grad is not None
        return x.grad.numpy()

    def by_qr(x: rt.Tensor) -> rt.Tensor:
        q, r = rt.linalg.qr(x)
        return q @ r

    def by_svd(full: bool) -> Callable[[rt.Tensor], rt.Tensor]:
        def through(x: rt.Tensor) -> rt.Tensor:
            u, s, vh = rt.linalg.svd(x, full_matrices=full)
            k = min(shape)
            return (u[:, :k] * s) @ vh[:k]

        return through

    wanted = gradient(lambda x: x)
    for through in (by_qr, by_svd(False), by_svd(True)):
        np.testing.assert_allclose(gradient(through), wanted, atol=1e-10)


def test_gradients_of_eigenvalues_and_singular_values_are_products_of_their_vectors() -> None:
    symmetric = A[0] + A[0].T
    x = rt.tensor(symmetric, requires_grad=True)
    rt.linalg.eigvalsh(x)[0].backward()
    first = np.linalg.eigh(symmetric)[1][:, 0]
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.outer(first, first))
    y = rt.tensor(A[0], requires_grad=True)
    rt.linalg.matrix_norm(y, ord=2).backward()
    u, _, vh = np.linalg.svd(A[0])
    assert y.grad is not None
    np.testing.assert_allclose(y.grad.numpy(), np.outer(u[:, 0], vh[0]))


def test_equal_eigenvalues_do_not_spoil_the_gradients_of_values() -> None:
    x = rt.eye(3, dtype=rt.float64, requires_grad=True)
    (rt.linalg.eigh(x).eigenvalues.sum() + rt.linalg.svd(x).S.sum() + rt.linalg.eigvalsh(x).sum()).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 3 * np.eye(3), atol=1e-12)


def test_what_has_no_gradient_says_so() -> None:
    x = rt.tensor(np.ones((3, 2)), requires_grad=True)
    with pytest.raises(rt.AutogradError, match="qr: of more rows than columns 'complete' has no gradient"):
        rt.linalg.qr(x, mode="complete")
    with rt.no_grad():
        assert rt.linalg.qr(x, mode="complete").Q.shape == (3, 3)
    assert not rt.linalg.matrix_rank(x).requires_grad


def test_errors_say_what_came() -> None:
    with pytest.raises(rt.ShapeError, match=r"inv: it takes square matrices in the last two axes, not shape \(2, 3\)"):
        rt.linalg.inv(rt.ones(2, 3))
    with pytest.raises(rt.ShapeError, match=r"solve: a of shape \(2, 2\) needs 2 rows in b, not shape \(3,\)"):
        rt.linalg.solve(rt.ones(2, 2), rt.ones(3))
    with pytest.raises(rt.linalg.LinAlgError):
        rt.linalg.inv(rt.ones(2, 2))
    with pytest.raises(rt.ArgumentError, match="there is no norm 'other'"):
        rt.linalg.matrix_norm(rt.ones(2, 2), ord="other")
    with pytest.raises(rt.DTypeError, match="det: not defined for int64"):
        rt.linalg.det(rt.tensor([[1]]))


def test_diagonals_are_of_the_last_two_axes() -> None:
    x = rt.tensor(A)
    np.testing.assert_allclose(rt.linalg.diagonal(x, offset=1).numpy(), np.diagonal(A, 1, -2, -1))
    np.testing.assert_allclose(rt.linalg.trace(x).numpy(), np.trace(A, axis1=-2, axis2=-1))
    assert rt.linalg.trace(rt.ones((2, 2), dtype=rt.uint8), dtype=rt.uint8).dtype is rt.uint8


def test_vecdot_does_not_stretch_the_axis_that_it_sums() -> None:
    with pytest.raises(rt.ShapeError, match=r"vecdot: \(3,\) and \(1,\) differ in size along axis -1"):
        rt.vecdot(rt.ones(3), rt.ones(1))


def test_tensordot_over_named_axes_is_numpy_s() -> None:
    b = np.random.default_rng(1).normal(size=(3, 4, 2))
    got = rt.tensordot(rt.tensor(A), rt.tensor(b), axes=((-1, 0), (0, 2)))
    np.testing.assert_allclose(got.numpy(), np.tensordot(A, b, axes=((-1, 0), (0, 2))))


def test_norm_of_vectors_and_matrices() -> None:
    a = rt.tensor([[3.0, 4.0], [0.0, 0.0]])
    assert rt.linalg.norm(a).item() == 5.0 and rt.linalg.norm(a, dim=1).tolist() == [5.0, 0.0]
    assert rt.linalg.norm(a, ord=1).item() == 4.0 and rt.linalg.norm(a, ord=2, dim=0, keepdim=True).tolist() == [
        [3.0, 4.0]
    ]
    assert rt.linalg.norm(a[None], ord="nuc", dim=(1, 2)).tolist() == [5.0]
    assert rt.linalg.norm(a[:, None], "fro", (0, 2), keepdim=True).shape == (1, 1, 1)
    with pytest.raises(rt.ShapeError, match="name one or two axes"):
        rt.linalg.norm(a[None], ord="nuc")
