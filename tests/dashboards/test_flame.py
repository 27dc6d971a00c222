"""The layout of flame graphs: boxes lie in each other, and a difference loses neither what is new nor what is gone."""

from itertools import pairwise

import numpy as np
import pytest

from perflab.dashboards import flame
from perflab.dashboards.flame import Flame, lay_out
from perflab.profiler.analysis.trees import TimeTree


def tree(nodes: dict[str, int], steps: int = 1) -> TimeTree:
    """A tree of own times by path, outer paths first."""
    paths = list(nodes)
    parent = [paths.index(path.rpartition("/")[0]) if "/" in path else -1 for path in paths]
    total = list(nodes.values())
    for place in reversed(range(len(paths))):
        if parent[place] >= 0:
            total[parent[place]] += total[place]
    return TimeTree(
        names=[path.rpartition("/")[2] for path in paths],
        categories=["cpu_op"] * len(paths),
        parent=parent,
        self_ns=list(nodes.values()),
        total_ns=total,
        count=[steps] * len(paths),
        steps=steps,
    )


def boxes(drawn: Flame) -> dict[str, tuple[float, float]]:
    """Start and width by path."""
    paths: list[str] = []
    for look, parent in zip(drawn.look, drawn.parent, strict=True):
        name = drawn.names[look]
        paths.append(name if parent < 0 else f"{paths[parent]}/{name}")
    return dict(zip(paths, zip(drawn.start, drawn.width, strict=True), strict=True))


def test_the_widest_box_comes_first_and_times_are_of_a_step() -> None:
    drawn = lay_out(tree({"a": 20, "b": 40, "b/d": 10, "b/c": 30}, steps=10))
    assert boxes(drawn) == {"b": (0, 8), "b/c": (0, 3), "b/d": (3, 1), "a": (8, 2)}
    assert (drawn.whole, drawn.left_out, drawn.count) == (10, 0, [1, 1, 1, 1])
    assert drawn.own == [4, 3, 1, 2] and drawn.total == drawn.width
    assert drawn.base_total == []
    assert len({drawn.colours[look] for look in drawn.look}) > 1


def test_a_difference_has_the_mean_of_both_for_width() -> None:
    base = tree({"same": 100, "same/gone": 40})
    head = tree({"same": 100, "same/new": 60, "late": 20})
    drawn = lay_out(head, base)
    assert boxes(drawn) == {"same": (0, 150), "same/new": (0, 30), "same/gone": (30, 20), "late": (150, 10)}
    assert drawn.whole == 160
    assert drawn.total == [160, 60, 0, 20] and drawn.base_total == [140, 0, 40, 0]
    assert drawn.own == [100, 60, 0, 20] and drawn.base_own == [100, 0, 40, 0]
    assert drawn.base_count == [1, 0, 1, 0]


def test_traces_of_different_lengths_are_compared_by_step() -> None:
    drawn = lay_out(tree({"a": 30}, steps=3), tree({"a": 100}, steps=10))
    assert (drawn.total, drawn.base_total, drawn.width) == ([10], [10], [10])


def test_equal_names_of_other_kinds_are_other_boxes() -> None:
    one = tree({"a": 10})
    other = TimeTree(["a"], ["kernel"], [-1], [10], [10], [1], 1)
    assert len(lay_out(one, other).look) == 2


def test_narrow_boxes_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = lay_out(tree({"a": 1_000_000, "a/b": 2, "a/b/c": 3}))
    assert (list(boxes(drawn)), drawn.left_out) == (["a"], 2)
    monkeypatch.setattr(flame, "NODE_LIMIT", 2)
    drawn = lay_out(tree({"a": 10, "a/b": 9, "a/b/c": 8, "d": 5}))
    assert (list(boxes(drawn)), drawn.left_out) == (["a", "a/b"], 2)


@pytest.mark.parametrize("seed", range(8))
def test_boxes_lie_in_their_boxes_and_beside_each_other(seed: int) -> None:
    chance = np.random.default_rng(seed)

    def grown() -> TimeTree:
        nodes: dict[str, int] = {}
        for _ in range(60):
            outer = str(chance.choice(["", *nodes]))
            nodes.setdefault(f"{outer}/{chance.integers(6)}".lstrip("/"), int(chance.integers(0, 1000)))
        return tree({path: nodes[path] for path in sorted(nodes)}, steps=int(chance.integers(1, 9)))

    head, base = grown(), grown()
    drawn = lay_out(head, base)
    ends = np.array(drawn.start) + np.array(drawn.width)
    for node, parent in enumerate(drawn.parent):
        assert parent < node
        if parent >= 0:
            assert drawn.start[parent] - 0.1 <= drawn.start[node] and ends[node] <= ends[parent] + 0.1
    for parent in set(drawn.parent):
        inner = [node for node, up in enumerate(drawn.parent) if up == parent]
        assert all(drawn.start[after] >= ends[before] - 0.1 for before, after in pairwise(inner))
    for column, whole in ((drawn.own, head), (drawn.base_own, base)):
        assert sum(column) == pytest.approx(sum(whole.self_ns) / whole.steps, rel=1e-3)


def test_of_nothing_there_are_no_boxes() -> None:
    drawn = lay_out(tree({}), tree({}))
    assert (drawn.whole, list(drawn.look)) == (0, [])
