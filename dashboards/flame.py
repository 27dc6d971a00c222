"""The flame graph: a tree of time, or two of them, laid out as boxes in rows.

It is drawn by static/flame/main.js wherever a page says `flame.graph(address, label)` (templates/flame.html), with the
address of `/api/v1/traces/{id}/flame?of=ops`; with `&base={other id}` it is the difference of two traces.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from perflab.profiler.analysis.trees import TimeTree

from . import theme

NODE_LIMIT = 20_000
_LEAST = 2e-5  # of the whole: a narrower box is left out, with all in it


@dataclass(frozen=True, slots=True)
class Flame:
    """Boxes as columns, each behind the one that it lies in; times are ns of a step (of the trace without steps).

    A box reaches from `start` on for `width`. Of one tree `width` is the total time. Of two it is the mean of their
    total times, so that neither what is new nor what is gone is lost; `base_total`, `base_own` and `base_count` are of
    the other tree, empty where there is one alone. `look` is a place in `names`, `words` (what the category is called)
    and `colours`. `whole` is the width of all; `left_out` counts the paths that are too narrow to be drawn.
    """

    whole: float
    left_out: int
    names: Sequence[str]
    words: Sequence[str]
    colours: Sequence[str]
    look: Sequence[int]
    parent: Sequence[int]  # -1 at the top
    start: Sequence[float]
    width: Sequence[float]
    total: Sequence[float]
    own: Sequence[float]
    count: Sequence[float]
    base_total: Sequence[float] = ()
    base_own: Sequence[float] = ()
    base_count: Sequence[float] = ()


_Sums = tuple[float, float, float]  # total, own and count of a step


@dataclass(slots=True)
class _Node:
    name: str = ""
    category: str = ""
    head: _Sums = (0.0, 0.0, 0.0)
    base: _Sums = (0.0, 0.0, 0.0)
    inner: dict[tuple[str, str], "_Node"] = field(default_factory=dict)

    def __len__(self) -> int:
        """Itself and all in it."""
        count, waiting = 0, [self]
        while waiting:
            count += 1
            waiting.extend(waiting.pop().inner.values())
        return count


@dataclass(frozen=True, slots=True)
class _Box:
    node: _Node
    parent: int
    start: float


def lay_out(head: TimeTree, base: TimeTree | None = None) -> Flame:
    """Lay out a tree, or two whose equal paths are one box. Of the boxes in one the widest comes first."""
    root = _Node()
    for node, sums in _grown(root, head):
        node.head = sums
    for node, sums in _grown(root, base) if base is not None else ():
        node.base = sums

    def width(node: _Node) -> float:
        return node.head[0] if base is None else (node.head[0] + node.base[0]) / 2

    whole = sum(map(width, root.inner.values()))
    boxes, left_out = _boxes(root, width, _LEAST * whole)
    keys = [(box.node.category, box.node.name) for box in boxes]
    looks = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    kinds = [theme.category(category) for category, _ in looks]
    total, own, count = ([round(box.node.head[at], 2) for box in boxes] for at in range(3))
    of_base = ([round(box.node.base[at], 2) for box in boxes if base is not None] for at in range(3))
    return Flame(
        whole,
        left_out,
        names=[name for _, name in looks],
        words=[kind.word for kind in kinds],
        colours=[theme.slice_colour(kind, name) for kind, (_, name) in zip(kinds, looks, strict=True)],
        look=[looks[key] for key in keys],
        parent=[box.parent for box in boxes],
        start=[round(box.start, 2) for box in boxes],
        width=[round(width(box.node), 2) for box in boxes],
        total=total,
        own=own,
        count=count,
        **dict(zip(("base_total", "base_own", "base_count"), of_base, strict=True)),
    )


def _grown(root: _Node, tree: TimeTree) -> Iterable[tuple[_Node, _Sums]]:
    """The node of each path of a tree, with its sums; those that are not there yet are made."""
    nodes: list[_Node] = []
    columns = (tree.names, tree.categories, tree.parent, tree.total_ns, tree.self_ns, tree.count)
    for name, category, parent, *sums in zip(*columns, strict=True):
        inner = nodes[parent].inner if parent >= 0 else root.inner
        node = inner.setdefault((name, category), _Node(name, category))
        nodes.append(node)
        total, own, count = (value / tree.steps for value in sums)
        yield node, (total, own, count)


def _boxes(root: _Node, width: Callable[[_Node], float], least: float) -> tuple[list[_Box], int]:
    """The boxes in `root` that are wide enough, and how many are not."""
    boxes: list[_Box] = []
    left_out = 0
    waiting = _beside(root, -1, 0.0, width)
    while waiting:
        box = waiting.pop()
        if width(box.node) < least or len(boxes) == NODE_LIMIT:
            left_out += len(box.node)
            continue
        waiting.extend(_beside(box.node, len(boxes), box.start, width))
        boxes.append(box)
    return boxes, left_out


def _beside(node: _Node, number: int, start: float, width: Callable[[_Node], float]) -> list[_Box]:
    """The boxes in one, the first last."""
    found = []
    for inner in sorted(node.inner.values(), key=lambda each: (-width(each), each.name)):
        found.append(_Box(inner, number, start))
        start += width(inner)
    return found[::-1]
