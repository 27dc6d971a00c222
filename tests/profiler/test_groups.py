"""key_averages by every kind of group."""

import pytest

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.averages import OpAverage, key_averages

MAIN, ENGINE, STREAM = Track(1, 1, "main"), Track(1, 2, "engine"), Track(0, 7, "stream 7")


def model() -> Trace:
    """Two steps of 1000 ns: a linear layer of a product and a sum, then its backward pass on another thread."""
    builder = TraceBuilder()
    for number, start in enumerate((0, 1000)):
        batch = 8 if number == 0 else 4
        builder.slice(f"ProfilerStep#{number}", start, 1000, track=MAIN, category="user_annotation")
        layer = {"Module Hierarchy": "Net.fc"}
        builder.slice("linear", start + 100, 300, track=MAIN, category="cpu_op", args=layer)
        shape = {"Input Dims": [[batch, 3], [3, 2]], "Input type": ["float", "float"]}
        mm = builder.slice("mm", start + 150, 100, track=MAIN, category="cpu_op", args=shape | layer)
        builder.slice("gemm", start + 160, 80, track=MAIN, category="kernel")
        builder.slice("add", start + 300, 50, track=MAIN, category="cpu_op", args=layer)
        node = builder.slice("MmBackward0", start + 500, 200, track=ENGINE, category="autograd")
        builder.flow("fwdbwd", mm, node)
        shape = {"Input Dims": [[3, batch], [batch, 2]], "Input type": ["float", "float"]}
        builder.slice("mm", start + 520, 150, track=ENGINE, category="cpu_op", args=shape)
        builder.slice("sgd_step", start + 800, 100, track=MAIN, category="cpu_op")
    builder.slice("after", 2500, 10, track=MAIN, category="cpu_op")
    return builder.build()


def told(trace: Trace, group_by: str) -> dict[str, tuple[int, int, int]]:
    return {row.name: (row.count, row.self_ns, row.total_ns) for row in key_averages(trace, group_by)}  # type: ignore[arg-type]


def test_by_op() -> None:
    assert told(model(), "op") == {
        "linear": (2, 300, 600),
        "mm": (4, 500, 500),
        "add": (2, 100, 100),
        "sgd_step": (2, 200, 200),
        "after": (1, 10, 10),
    }


def test_by_op_and_shape() -> None:
    found = told(model(), "op+shape")
    assert {name: row for name, row in found.items() if name.startswith("mm")} == {
        "mm [8, 3] [3, 2]": (1, 100, 100),
        "mm [4, 3] [3, 2]": (1, 100, 100),
        "mm [3, 8] [8, 2]": (1, 150, 150),
        "mm [3, 4] [4, 2]": (1, 150, 150),
    }
    assert found["add"] == (2, 100, 100)


def test_a_module_owns_its_backward_pass_and_counts_nested_ops_once() -> None:
    assert told(model(), "module") == {"Net.fc": (8, 900, 900), "(none)": (3, 210, 210)}


def test_modules_of_pytorch_are_slices_around() -> None:
    builder = TraceBuilder()
    builder.slice("nn.Module: Net_0", 0, 100, track=MAIN, category="python_function")
    builder.slice("net.py(7): forward", 5, 90, track=MAIN, category="python_function")
    builder.slice("nn.Module: Linear_0", 10, 50, track=MAIN, category="python_function")
    builder.slice("aten::addmm", 20, 30, track=MAIN, category="cpu_op")
    builder.slice("aten::relu", 70, 10, track=MAIN, category="cpu_op")
    assert told(builder.build(), "module") == {"Net_0.Linear_0": (1, 30, 30), "Net_0": (1, 10, 10)}


def test_by_stack() -> None:
    assert told(model(), "stack") == {
        "linear": (2, 300, 600),
        "linear;mm": (2, 200, 200),
        "linear;add": (2, 100, 100),
        "MmBackward0;mm": (2, 300, 300),
        "sgd_step": (2, 200, 200),
        "after": (1, 10, 10),
    }


def test_recursion_counts_once_in_the_total_of_a_stackless_group() -> None:
    builder = TraceBuilder()
    for depth in range(4):
        args = {"Module Hierarchy": "Net"}
        builder.slice("again", depth * 10, 100 - depth * 20, track=MAIN, category="cpu_op", args=args)
    trace = builder.build()
    assert told(trace, "op") == {"again": (4, 100, 280)}
    assert told(trace, "module") == {"Net": (4, 100, 100)}


def test_by_step() -> None:
    assert told(model(), "step") == {
        "ProfilerStep#0": (5, 550, 550),
        "ProfilerStep#1": (5, 550, 550),
        "(none)": (1, 10, 10),
    }


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot group by 'line'; group_by is one of op, "):
        told(model(), "line")
    assert told(TraceBuilder().build(), "module") == {}


def test_costs_of_pytorchs_ops_follow_from_their_shapes() -> None:
    builder = TraceBuilder()

    def op(name: str, start: int, duration: int, dims: list[object], concrete: list[str] | None = None) -> int:
        args = {"Input Dims": dims, "Input type": ["float"] * len(dims), "Concrete Inputs": concrete or []}
        return builder.slice(f"aten::{name}", start, duration, track=MAIN, category="cpu_op", args=args)  # type: ignore[arg-type]

    op("mm", 0, 10, [[4, 3], [3, 5]])
    op("baddbmm", 100, 20, [[2, 4, 5], [2, 4, 3], [2, 3, 5]])
    op(
        "mkldnn_convolution",
        200,
        40,
        [[2, 3, 8, 8], [6, 3, 3, 3], [6]],
        ["", "", "", "[1, 1]", "[2, 2]", "[1, 1]", "1"],
    )
    op("convolution_backward", 300, 50, [[2, 6, 4, 4], [2, 3, 8, 8], [6, 3, 3, 3]])
    op("_scaled_dot_product_flash_attention", 400, 60, [[1, 2, 7, 4], [1, 2, 9, 4], [1, 2, 9, 4]])
    op("mul_", 500, 5, [[10], [10]])
    op("embedding", 600, 5, [[1000, 8], [4]])
    op("view", 700, 5, [[10]])
    builder.instant("[memory]", 603, track=MAIN, args={"Bytes": 128})
    found = {row.name.removeprefix("aten::"): row for row in key_averages(builder.build())}
    assert {name: row.flops for name, row in found.items()} == {
        "mm": 2 * 4 * 3 * 5,
        "baddbmm": 2 * 2 * 4 * 3 * 5,
        "mkldnn_convolution": 2 * (2 * 6 * 4 * 4) * (3 * 3 * 3),
        "convolution_backward": 2 * 2 * (2 * 6 * 4 * 4) * (3 * 3 * 3),
        "_scaled_dot_product_flash_attention": 2 * (2 * 7 * 9 * 4) * 2,
        "mul_": 0,
        "embedding": 0,
        "view": 0,
    }
    assert found["mm"].moved_bytes == 4 * (12 + 15)
    assert found["mul_"].moved_bytes == 4 * 30, "two read, one written"
    assert found["embedding"].moved_bytes == 4 * 4 + 128, "not the whole table"
    assert found["view"].moved_bytes == 0
    assert found["mm"].flops_per_s == pytest.approx(12e9)
    assert found["mul_"].bytes_per_s == pytest.approx(24e9)


def test_costs_are_of_kernels_where_a_trace_has_them() -> None:
    builder = TraceBuilder()
    args = {"Input Dims": [[4, 3], [3, 5]], "Input type": ["float", "float"]}
    builder.slice("aten::mm", 0, 100, track=MAIN, category="cpu_op", args=args)
    launch = builder.slice("cudaLaunchKernel", 10, 10, track=MAIN, category="cuda_runtime")
    builder.flow("ac2g", launch, builder.slice("gemm", 200, 20, track=STREAM, category="kernel"))
    builder.slice("aten::mm", 300, 100, track=MAIN, category="cpu_op", args=args)
    (row,) = key_averages(builder.build())
    assert (row.count, row.kernels, row.flops, row.costed_ns) == (2, 1, 120, 20)
    assert row == OpAverage("aten::mm", 2, 200, 200, 20, 0, 0, 1, 120, 108, 20)


def test_costs_that_a_trace_tells_come_first() -> None:
    shapes = [[4, 3], [3, 5]]
    builder = TraceBuilder(
        {"costs": [["matmul", shapes, ["float", "float"], 1000, 500], "no row", ["relu", [], [], -1, 5]]}
    )
    args = {"Input Dims": shapes, "Input type": ["float", "float"]}
    builder.slice("matmul", 0, 100, track=MAIN, category="cpu_op", args=args)
    builder.slice("relu", 200, 100, track=MAIN, category="cpu_op", args={"Input Dims": [], "Input type": []})
    found = {row.name: (row.flops, row.moved_bytes, row.costed_ns) for row in key_averages(builder.build())}
    assert found == {"matmul": (1000, 500, 100), "relu": (0, 0, 0)}
