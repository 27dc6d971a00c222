"""The kernels made of templates, on the host: reductions, rows, indices, copies, and updates of many parameters."""

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest

from perflab.runtime import _core, tensor
from perflab.runtime.cuda.sources import FLOATS, REALS, TEMPLATES
from perflab.runtime.op import Op, Sample
from perflab.runtime.registry import OPS
from perflab.runtime.spec import DType, float32, float64
from perflab.runtime.testing.inputs import fill
from perflab.runtime.testing.values import reference

from .shim import MAX_DIM, Channels, Foreach, Indexed, Pointwise, Reduce, Rows, Scan, Shim, i32, i64, walk
from .test_pointwise_kernels import check

Array = np.ndarray[Any, Any]
REDUCTIONS = [
    name for name, t in TEMPLATES.items() if t.file == "reduce" and "axis" in {a.name for a in OPS[name].attributes}
]
STATE_BYTES = 16


def dims(sizes: list[int], strides: list[int]) -> tuple[Any, Any]:
    return (i64 * MAX_DIM)(*sizes), (i64 * MAX_DIM)(*strides)


def reduce(shim: Shim, name: str, a: Array, axes: tuple[int, ...], out: Array, splits: int, columns: bool) -> None:
    outer = [i for i in range(a.ndim) if i not in axes]
    outer_shape, outer_steps = dims([a.shape[i] for i in outer], [a.strides[i] for i in outer])
    inner_shape, inner_steps = dims([a.shape[i] for i in axes], [a.strides[i] for i in axes])
    reduced = int(np.prod([a.shape[i] for i in axes]))
    partial = np.zeros(max(out.size, 1) * splits * STATE_BYTES, np.uint8)
    p = Reduce(
        a.ctypes.data, out.ctypes.data, partial.ctypes.data, out.size, reduced, splits, 0, columns, len(outer),
        len(axes), outer_shape, outer_steps, inner_shape, inner_steps,
    )  # fmt: skip
    shim.run(name, p, blocks=3, threads=16)
    if splits > 1:
        p.joins = 1
        shim.run(name, p, blocks=2, threads=16)


def axes_of(sample: Sample, ndim: int) -> tuple[int, ...]:
    axis = sample.attributes.get("axis")
    given = range(ndim) if axis is None else np.atleast_1d(axis).tolist()
    return tuple(sorted(i % ndim for i in given)) if ndim else ()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, shim: Shim) -> None:
    op: Op = OPS[name]
    for sample, dtype in itertools.product(op.samples, TEMPLATES[name].dtypes):
        arrays = fill(op, sample, dtype)
        want = reference(op, sample, arrays)[0]
        if op.dtype == "sum":  # computes in the dtype that is asked for, and gives it
            want = want.astype(dtype.numpy)
        for splits, columns in ((1, False), (1, True), (3, False), (3, True)):
            out = np.zeros(want.size, want.dtype)
            reduce(shim, f"{name}_{dtype.name}", arrays[0], axes_of(sample, arrays[0].ndim), out, splits, columns)
            check(out.reshape(want.shape), want, dtype)


@pytest.mark.parametrize("splits", [1, 5])
def test_nan_wins_and_the_first_place_of_equals(splits: int, shim: Shim) -> None:
    a = np.zeros(1000, np.float32)
    a[[300, 700]] = 5
    for values, place in ((a, 300), (np.where(np.arange(1000) == 650, np.nan, a).astype(np.float32), 650)):
        at, most = np.zeros(1, np.int64), np.zeros(1, np.float32)
        reduce(shim, "argmax_float32", values, (0,), at, splits, False)
        reduce(shim, "amax_float32", values, (0,), most, splits, False)
        assert at[0] == place == np.argmax(values)
        np.testing.assert_equal(most[0], np.max(values))


def test_sums_of_transposed_and_reversed_arrays(shim: Shim) -> None:
    a = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)[::-1]
    for axes in ((0,), (1, 2), (0, 2), (0, 1, 2)):
        want = np.sum(a, axis=axes)
        out = np.zeros(want.size)
        reduce(shim, "sum_float64", a, axes, out, 1, False)
        np.testing.assert_array_equal(out.reshape(want.shape), want)


def rows(inputs: list[Array], out: Array, count: int, length: int, inner: int, eps: float) -> Rows:
    p = Rows(out=out.ctypes.data, rows=count, length=length, inner=inner, eps=eps)
    for k, a in enumerate(inputs):
        p.in_[k] = a.ctypes.data
    return p


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str, shim: Shim) -> None:
    op = OPS[name]
    for sample, dtype in itertools.product(op.samples, FLOATS):
        (a,) = arrays = fill(op, sample, dtype)
        axis = sample.attributes.get("axis", -1) % a.ndim
        length, inner = a.shape[axis], int(np.prod(a.shape[axis + 1 :]))
        out = np.zeros_like(a)
        p = rows([a], out, a.size // max(length, 1), length, inner, 0)
        shim.run(f"{name}_{dtype.name}", p, blocks=2, threads=8)
        check(out, reference(op, sample, arrays)[0], dtype)


def test_softmax_is_nan_where_a_row_has_one_and_survives_large_numbers(shim: Shim) -> None:
    a = np.array([[1000.0, 1000.0, -1000.0], [0.0, np.nan, 1.0]], np.float32)
    out = np.zeros_like(a)
    shim.run("softmax_float32", rows([a], out, 2, 3, 1, 0), threads=8)
    np.testing.assert_array_equal(out, [[0.5, 0.5, 0.0], [np.nan] * 3])


@pytest.mark.parametrize("name", ["layer_norm", "layer_norm_input_grad"])
def test_layer_norm(name: str, shim: Shim) -> None:
    op = OPS[name]
    for sample, dtype in itertools.product(op.samples, FLOATS):
        arrays = fill(op, sample, dtype)
        weight = arrays[op.inputs.index(next(i for i in op.inputs if i.name == "weight"))]
        out = np.zeros_like(arrays[0])
        count = arrays[0].size // weight.size
        p = rows(arrays, out, count, weight.size, 1, sample.attributes.get("eps", 1e-5))
        shim.run(f"{name}_{dtype.name}", p, threads=8)
        near(out, reference(op, sample, arrays)[0], dtype)


def near(got: Array, want: Array, dtype: DType) -> None:
    atol = 2e-2 if dtype.itemsize == 2 else 1e-5
    np.testing.assert_allclose(got.astype(float), want.astype(float), atol=atol, rtol=1e-2)


@pytest.mark.parametrize("splits", [1, 3])
def test_layer_norm_weight_grad(splits: int, shim: Shim) -> None:
    """Three launches; the splits are of rows that they do not divide."""
    op = OPS["layer_norm_weight_grad"]
    wide = Sample(((10, 37), (10, 37), (37,)), {"eps": 0.1})
    for sample, dtype in itertools.product((*op.samples, wide), FLOATS):
        g, a, like = arrays = fill(op, sample, dtype)
        out = np.zeros(like.shape, dtype.numpy)
        p = rows([g, a], out, a.size // out.size, out.size, 1, sample.attributes["eps"])
        moments, partial = np.zeros(2 * p.rows), np.zeros(splits * out.size)
        p.moments, p.partial, p.splits = moments.ctypes.data, partial.ctypes.data, splits
        for p.stage in range(3):
            shim.run(f"layer_norm_weight_grad_{dtype.name}", p, threads=8)
        near(out, reference(op, sample, arrays)[0], dtype)


@pytest.mark.parametrize("name", ["batch_norm", "batch_norm_input_grad", "batch_norm_weight_grad", "channel_moments"])
def test_channels(name: str, shim: Shim) -> None:
    op = OPS[name]
    for sample, dtype in itertools.product(op.samples, FLOATS):
        arrays = fill(op, sample, dtype)
        shape, wanted = arrays[0].shape, reference(op, sample, arrays)
        out = [np.zeros(want.shape, dtype.numpy) for want in wanted]
        inner = int(np.prod(shape[2:]))
        p = Channels(channels=shape[1], inner=inner, length=shape[0] * inner, eps=sample.attributes.get("eps", 1e-5))
        for k, array in enumerate(out):
            p.out[k] = array.ctypes.data
        for k, array in enumerate(arrays):
            p.in_[k] = array.ctypes.data
        shim.run(f"{name}_{dtype.name}", p, threads=8)
        for got, want in zip(out, wanted, strict=True):
            near(got, want, dtype)


def scan(shim: Shim, name: str, a: Array, out: Array, axis: int, **options: int) -> None:
    inner = int(np.prod(a.shape[axis + 1 :]))
    p = Scan(out.ctypes.data, a.ctypes.data, a.size // a.shape[axis], a.shape[axis], inner)
    for option, value in options.items():
        setattr(p, option, value)
    shim.run(name, p, blocks=2, threads=8)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
def test_running_sums_of_rows_longer_than_a_block(reverse: int, exclusive: int, shim: Shim) -> None:
    a = np.random.default_rng(0).integers(1, 4, (3, 37, 2)).astype(np.float64)
    turned = a[:, ::-1] if reverse else a
    sums, products = np.cumsum(turned, 1), np.cumprod(turned, 1)
    if exclusive:
        sums, products = sums - turned, products / turned
    for name, want in (("running_sum", sums), ("running_product", products)):
        out = np.zeros_like(a)
        scan(shim, f"{name}_float64", a, out, 1, reverse=reverse, exclusive=exclusive)
        np.testing.assert_allclose(out, want[:, ::-1] if reverse else want, rtol=1e-12)


def test_running_logsumexp_keeps_infinities_and_nan(shim: Shim) -> None:
    a = np.array([[-np.inf, -np.inf, 800.0, 800.0, -800.0], [np.inf, 0.0, np.inf, np.nan, 1.0]])
    out = np.zeros_like(a)
    scan(shim, "running_logsumexp_float64", a, out, 1)
    both = 800 + np.log(2)
    np.testing.assert_allclose(out, [[-np.inf, -np.inf, 800, both, both], [*[np.inf] * 3, np.nan, np.nan]])


def test_the_last_place_of_equal_extrema_so_far_and_of_nan(shim: Shim) -> None:
    a = np.array([2, 1, 2, 3, 0, 3, np.nan, 9, np.nan, 9, 0, -1], np.float32)
    out = np.zeros(a.size, np.int64)
    scan(shim, "running_extremum_float32", a, out, 0, largest=1)
    assert out.tolist() == [0, 0, 2, 3, 3, 5, 6, 6, 8, 8, 8, 8] == tensor(a).cummax(0).indices.tolist()
    scan(shim, "running_extremum_float32", a, out, 0, largest=0)
    assert out.tolist() == [0, 1, 1, 1, 4, 4, 6, 6, 8, 8, 8, 8] == tensor(a).cummin(0).indices.tolist()


def indexed(values: Array, indices: Array, elements: Array, axis: int, from_end: bool = True) -> tuple[Indexed, Array]:
    """values and indices in one shape; elements in the same but for the axis, along which they are chosen."""
    strides = list(elements.strides)
    step, strides[axis] = strides[axis], 0
    base = np.lib.stride_tricks.as_strided(elements, values.shape, strides)
    wrong = np.zeros(1, np.int32)
    w = walk([values, indices, base])
    made = Indexed(w, elements.shape[axis], step, from_end, indices.itemsize, wrong.ctypes.data)
    return made, wrong


@pytest.mark.parametrize("dtype", REALS, ids=lambda d: d.name)
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_gather(dtype: DType, index_dtype: Any, shim: Shim) -> None:
    a = np.arange(12).reshape(3, 4).astype(dtype.numpy)
    indices = np.array([[3, -1, 0], [2, 2, 1], [0, 1, -4]], index_dtype)
    out = np.zeros((3, 3), dtype.numpy)
    p, wrong = indexed(out, indices, a, 1)
    shim.run(f"take_along_{dtype.name}", p)
    np.testing.assert_array_equal(out, np.take_along_axis(a, indices.astype(np.int64), 1))
    assert not wrong[0]


def test_scatter_add_adds_twice_where_a_place_is_named_twice(shim: Shim) -> None:
    for dtype in TEMPLATES["take_along_grad"].dtypes:
        values = np.arange(6).reshape(2, 3).astype(dtype.numpy)
        indices = np.array([[2, 2, 0], [1, -1, 1]])
        out = np.zeros((2, 3), dtype.numpy)
        p, wrong = indexed(values, indices, out, 1)
        shim.run(f"take_along_grad_{dtype.name}", p)
        np.testing.assert_array_equal(out, [[2, 0, 1], [0, 8, 4]])
        assert not wrong[0]


@pytest.mark.parametrize(("index", "from_end"), [(4, True), (-5, True), (-1, False)])
def test_an_index_out_of_range_is_told_and_reads_nothing(index: int, from_end: bool, shim: Shim) -> None:
    a, out = np.arange(4.0, dtype=np.float32).reshape(1, 4), np.full((1, 2), 7, np.float32)
    p, wrong = indexed(out, np.array([[1, index]]), a, 1, from_end)
    shim.run("take_float32", p)
    assert wrong[0] == 1 and out.tolist() == [[1.0, 7.0]]


def test_copies_change_the_dtype_as_the_core_does(shim: Shim) -> None:
    values = {"b": [0, 1, 1], "i": [0, 1, 100], "f": [0.0, 1.5, 100.25]}
    for source, target in itertools.product(REALS, REALS):
        a = np.array(values[source.kind], source.numpy)
        out = np.zeros(3, target.numpy)
        shim.run(f"copy_{source.name}_{target.name}", Pointwise(walk([out, a])))
        np.testing.assert_array_equal(out, tensor(a).astype(target).numpy(), err_msg=f"{source.name} {target.name}")


# --- updates: as the core's own do them


def update(shim: Shim, name: str, lists: list[list[Array]], dtype: DType, **options: Any) -> Foreach:
    p = Foreach(tensors=len(lists[0]), operands=len(lists), **options)
    for i, end in enumerate(np.cumsum([a.size for a in lists[0]])):
        p.ends[i] = int(end)
        for k, tensors in enumerate(lists):
            p.p[k][i] = tensors[i].ctypes.data
    shim.run(f"{name}_{dtype.name}", p, blocks=2, threads=8)
    return p


def lists_of(count: int, dtype: DType) -> list[list[Array]]:
    random = np.random.default_rng(0)
    return [[np.abs(random.normal(size=s)).astype(dtype.numpy) for s in ((3, 5), (1,), (7,))] for _ in range(count)]


ADAM = {"lr": 0.01 / (1 - 0.9**3), "first": 1 - 0.9, "second": 0.99, "fresh": 1 - 0.99, "eps": 1e-8}
UPDATES = [
    ("sgd", 2, {"lr": 0.1, "decay": 0.2}, lambda t: _core.sgd_step(t, 0.1, 0.0, 0.0, 0.2, False, False, False)),
    ("sgd", 3, {"lr": 0.1, "first": 0.9, "fresh": 0.8, "other_flag": 1, "maximize": 1},
     lambda t: _core.sgd_step(t, 0.1, 0.9, 0.2, 0.0, True, True, False)),
    ("sgd", 3, {"lr": 0.1, "first": 0.9, "fresh": 1.0, "flag": 1},
     lambda t: _core.sgd_step(t, 0.1, 0.9, 0.0, 0.0, False, False, True)),
    ("adam", 4, {**ADAM, "decay": 0.1, "keep": 1.0, "root": (1 - 0.99**3) ** 0.5},
     lambda t: _core.adam_step(t, 3, 0.01, 0.9, 0.99, 1e-8, 0.1, False, False)),
    ("adam", 5, {**ADAM, "keep": 1 - 0.01 * 0.1, "root": (1 - 0.99**3) ** 0.5},
     lambda t: _core.adam_step(t, 3, 0.01, 0.9, 0.99, 1e-8, 0.1, False, True)),
    ("rmsprop", 3, {"lr": 0.1, "second": 0.9, "fresh": 1 - 0.9, "eps": 1e-8},
     lambda t: _core.rmsprop_step(t, 0.1, 0.9, 1e-8, 0.0, 0.0, False, False)),
    ("rmsprop", 4, {"lr": 0.1, "second": 0.9, "fresh": 1 - 0.9, "eps": 1e-8, "first": 0.5},
     lambda t: _core.rmsprop_step(t, 0.1, 0.9, 1e-8, 0.0, 0.5, False, False)),
    ("adagrad", 3, {"lr": 0.1, "eps": 1e-10}, lambda t: _core.adagrad_step(t, 0.1, 1e-10, 0.0, False)),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(UPDATES)))
def test_updates_are_those_of_the_core(case: int, shim: Shim) -> None:
    name, count, options, own = UPDATES[case]
    for dtype in FLOATS:
        lists = lists_of(count, dtype)
        wanted = [[tensor(a) for a in tensors] for tensors in lists]
        own(wanted)
        update(shim, name, lists, dtype, **options)
        for got, want in zip(itertools.chain(*lists), itertools.chain(*wanted), strict=True):
            check(got, want.numpy(), dtype)


def test_centered_rmsprop(shim: Shim) -> None:
    for momentum, count in ((0.0, 4), (0.5, 5)):
        lists = lists_of(count, float64)
        for mean in lists[-1]:
            mean *= 0.1
        for square in lists[2]:
            square += 1
        wanted = [[tensor(a) for a in tensors] for tensors in lists]
        _core.rmsprop_step(wanted, 0.1, 0.9, 1e-8, 0.0, momentum, True, False)
        options = {"lr": 0.1, "second": 0.9, "fresh": 1 - 0.9, "eps": 1e-8, "first": momentum, "flag": 1}
        update(shim, "rmsprop", lists, float64, **options)
        for got, want in zip(itertools.chain(*lists), itertools.chain(*wanted), strict=True):
            np.testing.assert_allclose(got, want.numpy(), rtol=1e-12)


@pytest.mark.parametrize("bad", [None, np.inf, -np.inf, np.nan])
def test_unscaling_tells_of_an_overflow(bad: Any, shim: Shim) -> None:
    grads = [np.full((2, 3), 8, np.float32), np.full(5, 4, np.float32)]
    if bad is not None:
        grads[1][3] = bad
    found = (i32 * 1)()
    p = Foreach(tensors=2, operands=1, first=0.25)
    p.found = ctypes.addressof(found)
    p.ends[0], p.ends[1] = 6, 11
    p.p[0][0], p.p[0][1] = grads[0].ctypes.data, grads[1].ctypes.data
    shim.run(f"unscale_{float32.name}", p)
    assert found[0] == (bad is not None)
    assert (grads[0] == 2).all() and grads[1][0] == 1
