"""The ops of two traces as one tree, against trees that are added up by hand."""

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.diff import diff
from perflab.profiler.analysis.op_tree import NODES, OpNode, op_tree

MAIN = Track(1, 1, "main", "python")


def sums(calls: float, ns: float, size: float = 0.0) -> tuple[float, float, float, float, float]:
    return calls, ns, size, 0.0, 0.0


def test_equal_paths_are_one_node_with_all_that_is_in_it() -> None:
    base = {("linear",): sums(2, 10), ("linear", "mm"): sums(2, 30, 64), ("add",): sums(1, 5)}
    head = {("linear",): sums(2, 12), ("linear", "mm"): sums(4, 60, 128), ("linear", "copy_"): sums(1, 8)}
    tree = op_tree(base, head)
    assert tree.nodes == (
        OpNode("linear", 1, -1, 2, 2, 10, 12, 40, 80, 64, 128),
        OpNode("mm", 2, 0, 2, 4, 30, 60, 30, 60, 64, 128),
        OpNode("copy_", 2, 0, 0, 1, 0, 8, 0, 8, 0, 0),
        OpNode("add", 1, -1, 1, 0, 5, 0, 5, 0, 0, 0),
    )
    assert [(node.self_ns, node.total_ns, node.bytes) for node in tree.nodes[:2]] == [(2, 40, 64), (30, 30, 64)]
    assert tree.left_out == 0


def test_an_op_of_which_only_the_inside_is_known_is_there() -> None:
    tree = op_tree({}, {("step", "linear", "mm"): sums(1, 7)})
    assert [(node.name, node.level, node.parent, node.head_count) for node in tree.nodes] == [
        ("step", 1, -1, 0),
        ("linear", 2, 0, 0),
        ("mm", 3, 1, 1),
    ]
    assert {node.head_total_ns for node in tree.nodes} == {7}


def test_the_smallest_are_left_out_and_stay_in_the_time_around_them() -> None:
    inside = {("all", f"op{place}"): sums(1, place) for place in range(1, NODES + 9)}
    tree = op_tree({}, inside)
    assert (len(tree.nodes), tree.left_out) == (NODES, 9)
    assert [node.name for node in tree.nodes[:3]] == ["all", f"op{NODES + 8}", f"op{NODES + 7}"]
    assert tree.nodes[-1].name == "op10"
    assert tree.nodes[0].head_total_ns == sum(range(1, NODES + 9))


def test_a_deep_path_is_a_chain() -> None:
    deep = tuple(f"f{level}" for level in range(3 * NODES))
    tree = op_tree({deep: sums(1, 4)}, {})
    assert [node.parent for node in tree.nodes] == list(range(-1, NODES - 1))
    assert tree.nodes[-1].base_total_ns == 4 and tree.left_out == 2 * NODES


def test_the_top_and_what_no_op_owns_add_up_to_the_step() -> None:
    def loop(copies: int) -> Trace:
        builder = TraceBuilder()
        for number in (0, 1):
            start = number * 1000
            builder.slice(f"ProfilerStep#{number}", start, 400 + 50 * copies, track=MAIN, category="user_annotation")
            builder.slice("linear", start + 10, 200, track=MAIN, category="cpu_op")
            builder.slice("mm", start + 20, 120, track=MAIN, category="cpu_op")
            for copy in range(copies):
                builder.slice("copy_", start + 300 + 50 * copy, 40, track=MAIN, category="cpu_op")
        return builder.build()

    change = diff(loop(1), loop(3))
    top = [node for node in change.tree.nodes if node.parent < 0]
    assert [(node.name, node.base_total_ns, node.head_total_ns) for node in top] == [
        ("linear", 200, 200),
        ("copy_", 40, 120),
    ]
    assert [(node.name, node.level, node.base_self_ns) for node in change.tree.nodes if node.parent == 0] == [
        ("mm", 2, 120)
    ]
    beside = sum(line.ns for line in change.beside)
    assert sum(node.total_ns for node in top) + beside == change.step_ns == 100
