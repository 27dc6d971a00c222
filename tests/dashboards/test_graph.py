"""The picture of the autograd graph: where boxes and lines lie."""

from itertools import combinations
from random import Random

import pytest

from perflab.dashboards import graph
from perflab.dashboards.graph import HEIGHT, NODE_LIMIT, WIDTH, picture
from perflab.dashboards.layers import lay_out
from perflab.dashboards.timeline import Window
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Trace, Track

TRACK = Track(1, 1)
STEP = Window(0, 1_000_000, "step 4")


def backward_of_square_plus(nodes: int = 0) -> Trace:
    """Backward of sum(x * x + b) with leaves x (2, 3) and b (3), and `nodes` more that stand alone."""
    builder = TraceBuilder()

    def run(name: str, start: int, duration: int, **args: object) -> int:
        return builder.slice(name, start, duration, track=TRACK, category="autograd", args=args)

    made_from = {"Input Dims": [[2, 3], [2, 3]], "Input type": ["float", "float"]}
    made_in = {"Module Hierarchy": "Model.encoder.layers.0"}
    op = builder.slice("mul", 0, 5, track=TRACK, category="cpu_op", args=made_from | made_in)
    of_sum = run("SumBackward0", 10, 10, **{"Sequence number": 30})
    of_add = run("AddBackward0", 20, 40, **{"Sequence number": 20})
    b = run("AccumulateGrad", 60, 5, Leaf=8, **{"Input Dims": [[3]], "Input type": ["float"]})
    of_mul = run("MulBackward0", 70, 20, **{"Sequence number": 10})
    x = [run("AccumulateGrad", 90 + 5 * k, 5, Leaf=9, **{"Input Dims": [[2, 3]]}) for k in range(2)]
    builder.flow("fwdbwd", op, of_mul)
    for front, behind in ((of_sum, of_add), (of_add, of_mul), (of_add, b), (of_mul, x[0]), (of_mul, x[1])):
        builder.flow("next_functions", front, behind)
    for number in range(nodes):
        run("NegBackward0", 200 + number, 1, **{"Sequence number": 100 + number})
    return builder.build()


def test_boxes_stand_in_rows_from_the_result_up_to_the_leaves() -> None:
    drawn = picture(backward_of_square_plus(), STEP)
    assert [(box.name, box.leaf) for box in drawn.boxes] == [
        ("SumBackward0", False),
        ("AddBackward0", False),
        ("MulBackward0", False),
        ("leaf (3)", True),
        ("leaf (2, 3)", True),
    ]
    of_sum, of_add, of_mul, b, x = drawn.boxes
    assert of_sum.y - of_add.y == of_add.y - of_mul.y == of_mul.y - x.y > HEIGHT
    assert b.y == of_mul.y and abs(b.x - of_mul.x) > WIDTH
    assert [box.share for box in drawn.boxes] == [0.25, 1.0, 0.5, 0.125, 0.25]
    assert of_mul.detail == "…ncoder.layers.0" and of_mul.time == "20 ns"
    assert of_mul.title.splitlines() == [
        "MulBackward0",
        "made in Model.encoder.layers.0",
        "made from float (2, 3), float (2, 3)",
        "20 ns in backward",
    ]
    assert x.title.splitlines()[-1] == "10 ns in backward, 2 runs"
    assert drawn.note.startswith("3 nodes and 2 leaves of step 4, 85 ns in backward")
    assert len(drawn.paths) == 4
    middle = of_mul.x + WIDTH / 2
    assert f"M{middle:.1f} {of_mul.y + HEIGHT}C" in "".join(drawn.paths)


def test_a_graph_that_is_too_large_or_not_there_gets_a_sentence() -> None:
    large = picture(backward_of_square_plus(NODE_LIMIT - 4), STEP)
    assert not large.boxes and "to_dot" in large.note
    assert large.note.startswith("The graph of step 4 has 151 nodes, and a picture shows at most 150")
    assert picture(backward_of_square_plus(NODE_LIMIT - 5), STEP).boxes
    empty = picture(TraceBuilder().build(), STEP)
    assert empty == graph.Picture(empty.note) and empty.note.startswith("No nodes of a backward pass are in step 4:")


def test_backward_without_edges_is_no_graph() -> None:
    builder = TraceBuilder()
    for start in (0, 10):
        builder.slice("AddBackward0", start, 5, track=TRACK, category="autograd")
    assert picture(builder.build(), STEP).note == "The 2 backward nodes of step 4 were recorded without their edges."


@pytest.mark.parametrize("seed", range(6))
def test_boxes_never_overlap_and_edges_go_up_row_by_row(seed: int) -> None:
    random = Random(seed)
    count = random.randint(1, 60)
    edges = sorted({(random.randrange(b), b) for b in range(1, count) for _ in range(random.randint(0, 3))})
    layout = lay_out(count, edges, gap=0.2)
    assert layout is not None
    for a, b in combinations(range(count), 2):
        assert layout.row[a] != layout.row[b] or abs(layout.x[a] - layout.x[b]) > 1.2 - 1e-9
    for (source, target), path in zip(edges, layout.paths, strict=True):
        assert [row for _, row in path] == list(range(layout.row[source], layout.row[target] + 1))
        assert (path[0][0], path[-1][0]) == (layout.x[source], layout.x[target])
    assert layout.rows == max(layout.row) + 1
    assert min(layout.x) >= 0.5 - 1e-9 and max(layout.x) <= layout.width - 0.5 + 1e-9


def test_a_tree_is_drawn_without_crossings_and_a_chain_straight() -> None:
    tree = lay_out(7, [(0, 1), (0, 2), (2, 3), (1, 4), (2, 5), (1, 6)], gap=0.1)
    assert tree is not None
    children = {parent: sorted(tree.x[child] for child in pair) for parent, pair in ((1, (4, 6)), (2, (3, 5)))}
    left, right = sorted((1, 2), key=lambda box: tree.x[box])
    assert children[left][1] < children[right][0]
    assert tree.x[0] == pytest.approx((tree.x[1] + tree.x[2]) / 2)
    chain = lay_out(4, [(0, 1), (1, 2), (2, 3)], gap=0.1)
    assert chain is not None and chain.x == [0.5] * 4


def test_a_graph_of_long_edges_is_not_laid_out() -> None:
    dense = [(front, behind) for behind in range(60) for front in range(behind)]
    assert lay_out(60, dense, gap=0.1) is None
    builder = TraceBuilder()
    runs = [
        builder.slice("AddBackward0", at, 1, track=TRACK, category="autograd", args={"Sequence number": 99 - at})
        for at in range(60)
    ]
    for front, behind in dense:
        builder.flow("next_functions", runs[front], runs[behind])
    drawn = picture(builder.build(), STEP)
    assert not drawn.boxes and drawn.note.startswith("The 60 nodes of step 4 have too many edges")
