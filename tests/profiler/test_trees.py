"""Trees of time: what is below what, and that no ns of the steps is lost or counted twice."""

import numpy as np
import pytest

from perflab.profiler.analysis.trees import TimeTree, time_tree
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Trace, Track

MAIN, PYTHON, STREAM = Track(1, 1, "main"), Track(1, "python", "main: Python"), Track(0, "stream 7", "stream 7")


def two_steps() -> Trace:
    """Steps of 1,000 ns from 0 and 2,000 on: linear [matmul [kernel], add], Python beside it, a device; and more of
    the same outside of the steps."""
    builder = TraceBuilder()
    for number, start in enumerate((0, 2_000)):
        builder.slice(f"ProfilerStep#{number}", start, 1_000, track=MAIN, category="user_annotation")
        builder.slice("linear", start, 600, track=MAIN, category="cpu_op", args={"Module Hierarchy": "net.fc"})
        builder.slice("matmul", start + 100, 300 + 100 * number, track=MAIN, category="cpu_op")
        builder.slice("gemm", start + 150, 200, track=MAIN, category="kernel")
        builder.slice("add", start + 500, 50, track=MAIN, category="cpu_op")
        builder.slice("add", start + 700, 100, track=MAIN, category="cpu_op", args={"Module Hierarchy": "net"})
        builder.slice("gemm", start + 200, 700, track=STREAM, category="kernel")
    builder.slice("matmul", 1_200, 500, track=MAIN, category="cpu_op")
    builder.slice("run", -500, 4_000, track=PYTHON, category="python_function")
    builder.slice("step", 100, 800, track=PYTHON, category="python_function")
    builder.slice("save", 1_500, 200, track=PYTHON, category="python_function")
    return builder.build()


def paths(tree: TimeTree) -> dict[str, tuple[int, int, int]]:
    """Total, own and count by path."""
    names: list[str] = []
    for name, parent in zip(tree.names, tree.parent, strict=True):
        names.append(name if parent < 0 else f"{names[parent]}/{name}")
    return dict(zip(names, zip(tree.total_ns, tree.self_ns, tree.count, strict=True), strict=True))


def test_ops_lie_in_each_other_without_steps_and_devices() -> None:
    tree = time_tree(two_steps(), "ops")
    assert tree.steps == 2
    assert paths(tree) == {
        "linear": (1_200, 400, 2),
        "linear/matmul": (700, 300, 2),
        "linear/matmul/gemm": (400, 400, 2),
        "linear/add": (100, 100, 2),
        "add": (200, 200, 2),
    }


def test_one_step_alone() -> None:
    tree = time_tree(two_steps(), "ops", step=1)
    assert tree.steps == 1
    assert paths(tree)["linear/matmul"] == (400, 200, 1)


def test_a_step_that_something_held_up_is_left_out() -> None:
    builder = TraceBuilder()
    for number in range(6):
        length = 9_000 if number == 5 else 1_000
        builder.slice(f"ProfilerStep#{number}", number * 10_000, length, track=MAIN, category="user_annotation")
        builder.slice("add", number * 10_000, length, track=MAIN, category="cpu_op")
    trace = builder.build()
    tree = time_tree(trace, "ops")
    assert (tree.steps, paths(tree)) == (5, {"add": (5_000, 5_000, 5)})
    assert paths(time_tree(trace, "ops", step=5)) == {"add": (9_000, 9_000, 1)}


def test_functions_count_as_far_as_they_lie_in_steps() -> None:
    # `run` begins before the first step, and `save` lies between the two.
    assert paths(time_tree(two_steps(), "stacks")) == {"run": (2_000, 1_200, 0), "run/step": (800, 800, 1)}


def test_modules_hold_their_modules_and_ops() -> None:
    assert paths(time_tree(two_steps(), "modules")) == {
        "net": (1_400, 0, 0),
        "net/fc": (1_200, 0, 0),
        "net/add": (200, 200, 2),
        "net/fc/linear": (400, 400, 2),
        "net/fc/matmul": (700, 700, 2),
        "net/fc/add": (100, 100, 2),
    }


def test_without_steps_the_whole_trace_counts() -> None:
    builder = TraceBuilder()
    builder.slice("outer", 0, 100, track=MAIN, category="cpu_op")
    builder.slice("inner", 10, 30, track=MAIN, category="cpu_op")
    tree = time_tree(builder.build(), "ops")
    assert (tree.steps, paths(tree)) == (1, {"outer": (100, 70, 1), "outer/inner": (30, 30, 1)})


@pytest.mark.parametrize("seed", range(8))
def test_own_times_add_up_to_the_time_of_the_outermost(seed: int) -> None:
    chance = np.random.default_rng(seed)
    builder = TraceBuilder()

    def fill(start: int, end: int, depth: int) -> None:
        while end - start > 20 and depth < 5:
            length = int(chance.integers(10, end - start))
            category = ("cpu_op", "autograd", "user_annotation")[int(chance.integers(3))]
            builder.slice(f"op {chance.integers(4)}", start, length, track=MAIN, category=category)
            fill(start + 1, start + length - 1, depth + 1)
            start += length + int(chance.integers(5))

    fill(0, 5_000, 0)
    trace = builder.build()
    tree = time_tree(trace, "ops")
    outer = trace.slices.duration[trace.slices.parent < 0].sum()
    assert sum(tree.self_ns) == outer == sum(ns for ns, up in zip(tree.total_ns, tree.parent, strict=True) if up < 0)
    assert sum(tree.count) == len(trace.slices)
    assert all(parent < node for node, parent in enumerate(tree.parent))
    assert len(paths(tree)) == len(tree)


def test_what_only_frames_of_python_kept_apart_lies_in_each_other() -> None:
    # A frame that crosses the annotation puts it on a lane of its own; the op in both is in the annotation.
    lane = Track(1, 1, "main", lane=1)
    builder = TraceBuilder()
    builder.slice("frame", 0, 500, track=MAIN, category="python_function")
    builder.slice("forward", 100, 800, track=lane, category="user_annotation")
    builder.slice("mm", 200, 100, track=MAIN, category="cpu_op")
    builder.slice("mm", 600, 100, track=MAIN, category="cpu_op")
    assert paths(time_tree(builder.build(), "ops")) == {"forward": (800, 600, 1), "forward/mm": (200, 200, 2)}


def test_slices_that_cross_stay_on_their_lanes() -> None:
    lane = Track(1, 1, "main", lane=1)
    builder = TraceBuilder()
    builder.slice("one", 0, 500, track=MAIN, category="cpu_op")
    builder.slice("in one", 10, 20, track=MAIN, category="cpu_op")
    builder.slice("other", 300, 500, track=lane, category="cpu_op")
    builder.slice("in other", 600, 50, track=lane, category="cpu_op")
    assert paths(time_tree(builder.build(), "ops")) == {
        "one": (500, 480, 1),
        "one/in one": (20, 20, 1),
        "other": (500, 450, 1),
        "other/in other": (50, 50, 1),
    }


def test_nothing_and_unknown_trees() -> None:
    empty = TraceBuilder().build()
    assert [len(time_tree(empty, of)) for of in ("ops", "stacks", "modules")] == [0, 0, 0]
    with pytest.raises(ValueError, match="there is no tree of 'threads'; it is one of ops, stacks, modules"):
        time_tree(empty, "threads")  # type: ignore[arg-type]
