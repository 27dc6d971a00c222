"""Random tensors: reproducible everywhere, and distributed as they should be."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import _core

Draw = Callable[[], rt.Tensor]
DRAWS: dict[str, Draw] = {
    "rand": lambda: rt.rand(3),
    "randn": lambda: rt.randn(3),
    "randn in float64": lambda: rt.randn(100_000, dtype=rt.float64)[-2:],
    "randint": lambda: rt.randint(-5, 1000, (4,)),
    "randperm": lambda: rt.randperm(6),
    "bernoulli": lambda: rt.bernoulli(rt.zeros(8), 0.5),
    "normal": lambda: rt.normal(1.0, 2.0, (2,)),
    "exponential": lambda: rt.zeros(2).exponential_(),
    "multinomial": lambda: rt.multinomial(rt.tensor([1.0, 2.0, 3.0]), 2),
}
STORED: dict[str, list[Any]] = {
    "rand": [0.5223349332809448, 0.2965354323387146, 0.3488624691963196],
    "randn": [0.05601470544934273, -0.5343912243843079, -0.3883933126926422],
    "randn in float64": [-0.29315769583834594, 0.7933266251261928],
    "randint": [519, 293, 345, 817],
    "randperm": [3, 2, 0, 5, 1, 4],
    "bernoulli": [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    "normal": [1.1120294332504272, -0.06878245621919632],
    "exponential": [0.6494462490081787, 1.2155885696411133],
    "multinomial": [2, 1],
}


def drawn(name: str) -> Any:
    rt.manual_seed(2026)
    return DRAWS[name]().tolist()


@pytest.mark.parametrize("name", DRAWS)
def test_the_numbers_are_the_same_on_every_machine(name: str) -> None:
    assert drawn(name) == STORED[name]


@pytest.mark.parametrize("draw", [rt.rand, rt.randn], ids=["rand", "randn"])
def test_the_numbers_are_the_same_with_any_number_of_threads(draw: Callable[..., rt.Tensor]) -> None:
    before = rt.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            rt.set_num_threads(threads)
            rt.manual_seed(8)
            found.append(draw(100_001).numpy().tobytes())
    finally:
        rt.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("level", ["1", "3"])
def test_the_numbers_are_the_same_at_every_cpu_level(level: str) -> None:
    program = "from perflab import runtime as rt; rt.manual_seed(5); print(rt.randn(1000).numpy().tobytes().hex())"
    there = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PERFLAB_CPU_LEVEL": level},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    rt.manual_seed(5)
    assert rt.randn(1000).numpy().tobytes().hex() == there


def test_every_dtype_has_the_same_numbers_cut_or_rounded() -> None:
    def drawn_in_every_dtype(draw: Callable[..., rt.Tensor]) -> list[np.ndarray[Any, Any]]:
        made = []
        for dtype in (rt.float64, rt.float32, rt.float16, rt.bfloat16):
            rt.manual_seed(1)
            numbers = draw(1000, dtype=dtype)
            assert numbers.dtype is dtype
            made.append(numbers.astype(rt.float64).numpy())
        return made

    double, single, half, brain = drawn_in_every_dtype(rt.rand)
    for narrow, bits in ((single, 24), (half, 11), (brain, 8)):
        np.testing.assert_array_equal(np.floor(double * 2**bits) / 2**bits, narrow)
    double, single, half, brain = drawn_in_every_dtype(rt.randn)
    np.testing.assert_array_equal(double.astype(np.float32), single)
    np.testing.assert_array_equal(single.astype(np.float16), half.astype(np.float16))
    assert np.abs(brain - single).max() < 0.02


def test_randn_is_the_inverse_of_the_normal_distribution() -> None:
    words = rt.empty(5000, dtype=rt.int64)
    _core.random_integers(words, 3, 0, 0, 0)
    rt.manual_seed(3)
    normal = rt.randn(5000, dtype=rt.float64).numpy()
    wanted = [NormalDist().inv_cdf(((word >> 12) + 0.5) / 2**52) for word in words.numpy().view(np.uint64).tolist()]
    np.testing.assert_allclose(normal, wanted, rtol=4e-15)


@pytest.mark.parametrize("p", [1e-300, 1e-20, 1e-6, 0.05, 0.3, 0.7, 0.999, 1 - 1e-12])
def test_the_tails_of_the_normal_distribution(p: float) -> None:
    made = rt.empty(1, dtype=rt.float64)
    _core.random_normal(made, 0, 0, 0.0, 1.0, p, p)
    assert made.item() == pytest.approx(NormalDist().inv_cdf(p), rel=4e-15)


# --- distributions: bounds of about 4 standard deviations


def test_moments() -> None:
    rt.manual_seed(1)
    n = 100_000
    uniform, normal, times = rt.rand(n).numpy(), rt.randn(n).numpy(), rt.zeros(n).exponential_(2.0).numpy()
    assert 0 <= uniform.min() and uniform.max() < 1
    assert uniform.mean() == pytest.approx(0.5, abs=4e-3) and uniform.var() == pytest.approx(1 / 12, abs=1e-3)
    assert normal.mean() == pytest.approx(0, abs=0.013) and normal.var() == pytest.approx(1, abs=0.018)
    assert (normal**4).mean() == pytest.approx(3, abs=0.15)
    assert times.min() >= 0
    assert times.mean() == pytest.approx(0.5, abs=7e-3) and times.var() == pytest.approx(0.25, abs=0.01)
    assert abs(np.corrcoef(uniform[:-1], uniform[1:])[0, 1]) < 0.013


def test_integers_are_all_as_likely() -> None:
    rt.manual_seed(1)
    counts = np.bincount(rt.randint(2, 7, (50_000,)).numpy(), minlength=8)
    assert counts[:2].sum() == counts[7] == 0
    np.testing.assert_allclose(counts[2:7], 10_000, atol=400)
    assert set(rt.randint(3, (100,)).tolist()) == {0, 1, 2}
    wide = rt.randint(-(2**63), 2**63 - 1, (1000,)).numpy()
    assert wide.min() < -(2**61) and wide.max() > 2**61


def test_permutations_are_all_as_likely() -> None:
    rt.manual_seed(1)
    seen = [tuple(rt.randperm(3).tolist()) for _ in range(3000)]
    counts = [seen.count(order) for order in set(seen)]
    assert len(counts) == 6 and min(counts) > 420
    assert sorted(rt.randperm(1000).tolist()) == list(range(1000))
    assert rt.randperm(0).shape == (0,)


def test_bernoulli() -> None:
    rt.manual_seed(1)
    p = rt.tensor([0.0, 0.25, 1.0]).expand(20_000, 3)
    drawn = rt.bernoulli(p)
    assert drawn.dtype is rt.float32
    means = drawn.numpy().mean(0)
    assert means[0] == 0 and means[1] == pytest.approx(0.25, abs=0.012) and means[2] == 1
    assert rt.zeros(20_000).bernoulli_(0.1).numpy().mean() == pytest.approx(0.1, abs=0.009)
    assert set(rt.zeros(100, dtype=rt.int64).bernoulli_().tolist()) == {0, 1}
    assert rt.zeros(2, 3).bernoulli_(rt.tensor([0.0, 1.0, 1.0])).tolist() == [[0, 1, 1]] * 2


def test_multinomial() -> None:
    rt.manual_seed(1)
    weights = rt.tensor([[1.0, 3.0, 0.0], [0.0, 0.0, 2.0]])
    drawn = rt.multinomial(weights, 20_000, replacement=True).numpy()
    assert drawn.shape == (2, 20_000) and (drawn[1] == 2).all() and 2 not in drawn[0]
    assert (drawn[0] == 1).mean() == pytest.approx(0.75, abs=0.013)
    first = [rt.multinomial(rt.tensor([1.0, 3.0]), 2).tolist() for _ in range(2000)]
    assert all(sorted(pair) == [0, 1] for pair in first)
    assert np.mean([pair[0] for pair in first]) == pytest.approx(0.75, abs=0.04)


def test_normal_takes_numbers_and_tensors() -> None:
    rt.manual_seed(1)
    plain = rt.randn(2, 3)
    rt.manual_seed(1)
    mean, std = rt.tensor([1.0, 2.0, 3.0]), rt.tensor([[1.0], [10.0]])
    np.testing.assert_allclose(rt.normal(mean, std).numpy(), mean.numpy() + std.numpy() * plain.numpy(), rtol=1e-6)
    assert rt.normal(mean, 0.0).tolist() == [1, 2, 3]
    assert rt.normal(5.0, std).shape == (2, 1)


def test_in_place_methods() -> None:
    rt.manual_seed(1)
    t = rt.zeros(1000)
    version = t._version
    assert t.uniform_(2, 3) is t and t._version == version + 1
    assert t.numpy().min() >= 2 and t.numpy().max() < 3
    assert t.normal_(10, 0.1).numpy().mean() == pytest.approx(10, abs=0.02)
    assert set(t.random_(2, 4).tolist()) == {2, 3}
    assert set(t.random_(2).tolist()) == {0, 1}
    assert t.random_().numpy().max() > 2**23
    part = rt.zeros(4, 4).T[1:, ::2]
    assert part.uniform_(1, 2).numpy().min() >= 1
    weight = rt.zeros(2, requires_grad=True)
    with pytest.raises(rt.AutogradError):
        weight.uniform_()
    x = weight * 2
    x.normal_()
    x.sum().backward()
    assert weight.grad is None or weight.grad.tolist() == [0, 0]


def test_like_and_dtypes() -> None:
    like = rt.zeros(2, 3, dtype=rt.float64)
    assert (rt.rand_like(like).shape, rt.rand_like(like).dtype) == ((2, 3), rt.float64)
    assert rt.randn_like(like, dtype=rt.float32).dtype is rt.float32
    assert rt.randint_like(like, 5).dtype is rt.float64
    assert rt.randint(5, (2,), dtype=rt.int32).dtype is rt.int32
    assert rt.randn(2, requires_grad=True).requires_grad
    assert rt.zeros(200, dtype=rt.uint8).random_().numpy().max() > 200
    assert set(rt.zeros(100, dtype=rt.bfloat16).bernoulli_().tolist()) == {0, 1}
    rt.set_default_dtype(rt.float64)
    try:
        assert rt.rand(1).dtype is rt.randn(1).dtype is rt.normal(0.0, 1.0, (1,)).dtype is rt.float64
    finally:
        rt.set_default_dtype(rt.float32)


# --- generators


def test_generators_are_streams_of_their_own() -> None:
    mine, other = rt.Generator().manual_seed(7), rt.Generator().manual_seed(7)
    rt.manual_seed(0)
    numbers = [rt.rand(3, generator=mine), rt.randperm(5, generator=mine), rt.randn(2, generator=mine)]
    again = [rt.rand(3, generator=other), rt.randperm(5, generator=other), rt.randn(2, generator=other)]
    assert [x.tolist() for x in numbers] == [x.tolist() for x in again]
    untouched = rt.rand(1).item()
    rt.manual_seed(0)
    assert rt.rand(1).item() == untouched
    assert rt.rand(3).tolist() != rt.rand(3).tolist()
    assert mine.initial_seed() == 7


def test_states_go_out_and_in() -> None:
    rt.manual_seed(-1)
    rt.rand(5)
    state, copied = rt.get_rng_state(), pickle.loads(pickle.dumps(rt.default_generator))
    numbers = rt.rand(4).tolist()
    rt.set_rng_state(state)
    assert rt.rand(4).tolist() == numbers
    assert rt.rand(4, generator=copied).tolist() == numbers
    assert rt.initial_seed() == 2**64 - 1
    fresh = rt.Generator()
    assert fresh.seed() == fresh.initial_seed() != rt.Generator().seed()
    with pytest.raises(rt.StateError, match="set_state takes what get_state gave"):
        rt.set_rng_state(rt.zeros(2))


def test_a_fork_draws_the_parent_s_numbers() -> None:
    rt.manual_seed(3)
    context = multiprocessing.get_context("fork")
    numbers = context.SimpleQueue()
    child = context.Process(target=lambda: numbers.put(rt.rand(2).tolist()))
    child.start()
    there = numbers.get()
    child.join()
    assert there == rt.rand(2).tolist()


def test_what_cannot_be_drawn_is_refused() -> None:
    for error, message, make in (
        (rt.DTypeError, "of a float dtype, not int64: use randint", lambda: rt.rand(2, dtype=rt.int64)),
        (rt.ArgumentError, "low 5 is not below high 5", lambda: rt.randint(5, 5, (2,))),
        (rt.ArgumentError, "low 3 is above high 2", lambda: rt.zeros(1).uniform_(3, 2)),
        (rt.ArgumentError, "n must not be negative", lambda: rt.randperm(-1)),
        (rt.ArgumentError, "std must not be negative", lambda: rt.normal(0.0, -1.0, (2,))),
        (rt.ArgumentError, "std must not be negative", lambda: rt.normal(0.0, rt.tensor([-1.0]))),
        (rt.ArgumentError, "mean and std are numbers: give a size", lambda: rt.normal(0.0, 1.0)),
        (rt.ArgumentError, "size goes with numbers alone", lambda: rt.normal(rt.zeros(1), 1.0, (2,))),
        (rt.ArgumentError, "p must lie between 0 and 1, it is 2", lambda: rt.zeros(1).bernoulli_(2)),
        (rt.ArgumentError, "probabilities lie between 0 and 1", lambda: rt.bernoulli(rt.tensor([float("nan")]))),
        (rt.DTypeError, "probabilities are floats, not int64", lambda: rt.bernoulli(rt.tensor([1]))),
        (rt.ArgumentError, "2 to draw, but only 1 weights above 0", lambda: rt.multinomial(rt.tensor([1.0, 0.0]), 2)),
        (rt.ArgumentError, "finite and not negative", lambda: rt.multinomial(rt.tensor([1.0, -1.0]), 1)),
        (rt.ShapeError, r"weights have shape", lambda: rt.multinomial(rt.tensor(1.0), 1)),
        (rt.ArgumentError, "lambd must be above 0", lambda: rt.zeros(1).exponential_(0)),
        (rt.ArgumentError, "the seed must lie between", lambda: rt.manual_seed(2**64)),
        (rt.ArgumentError, "device 'gpu' is not there", lambda: rt.Generator("gpu")),
        (TypeError, "takes a Generator, not int", lambda: rt.rand(1, generator=3)),  # type: ignore[arg-type]
    ):
        with pytest.raises(error, match=message):
            make()
