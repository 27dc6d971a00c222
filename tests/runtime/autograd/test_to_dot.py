"""to_dot: the graph as text."""

from perflab import runtime as rt
from perflab.runtime.autograd.graph import to_dot


def test_names_shapes_and_saved_tensors() -> None:
    w, x = rt.ones((2, 3), requires_grad=True), rt.ones((3, 1), requires_grad=True)
    y = (w @ x).exp()
    text = to_dot(y, params={"weight": w})
    assert text == to_dot(y, params={"weight": w})
    assert text.splitlines() == [
        "digraph {",
        "  rankdir=BT",
        '  node [shape=box, fontname="monospace"]',
        '  r0 [label="result\\nfloat32 (2, 1)", style=filled, fillcolor=palegreen]',
        '  n0 [label="ExpBackward0\\nsaved output 0: float32 (2, 1)", style=filled, fillcolor=white]',
        '  n1 [label="MatmulBackward0\\nsaved input 0: float32 (2, 3)\\nsaved input 1: float32 (3, 1)", '
        "style=filled, fillcolor=white]",
        "  n1 -> n0",
        '  n2 [label="weight\\nfloat32 (2, 3)", style=filled, fillcolor=lightblue]',
        "  n2 -> n1",
        '  n3 [label="leaf\\nfloat32 (3, 1)", style=filled, fillcolor=lightblue]',
        "  n3 -> n1",
        "  n0 -> r0",
        "}",
    ]


def test_a_node_stands_once_and_outputs_are_numbered() -> None:
    x = rt.ones((4,), requires_grad=True)
    first, second = rt.split(x * 2.0, 2)
    text = to_dot([first * second, second])
    assert text.count("SplitEveryBackward0") == 1 and text.count("leaf") == 1
    assert text.count('[label="output 1"]') == 2 and 'label="result 1\\n' in text


def test_freed_values_and_shapes_alone_are_marked() -> None:
    x = rt.ones((2,), requires_grad=True)
    y = x.exp()
    z = y.sum()
    assert "saved input 0: float32 (2,), shape" in to_dot(z)
    z.backward()
    assert "saved output 0: float32 (2,), freed" in to_dot(y)


def test_a_leaf_and_a_quoted_name() -> None:
    x = rt.ones((2,), requires_grad=True)
    assert 'label="a\\"b\\n' in to_dot(x, params={'a"b': x})
