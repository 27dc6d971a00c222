"""The autograd graph of a step as a picture: leaves above, results below, each box with its time in backward."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from perflab.profiler.analysis.graph import AutogradGraph, GraphNode, autograd_graph
from perflab.profiler.trace import Trace

from . import units
from .layers import lay_out
from .timeline import Window

NODE_LIMIT = 150
WIDTH, HEIGHT = 178, 42  # of a box, in pixels
_GAP, _ROW, _MARGIN = 22, 76, 14


@dataclass(frozen=True)
class Box:
    """A node or a leaf. `share` is its time over that of the slowest; `title` says everything about it."""

    x: float
    y: float
    name: str
    detail: str
    time: str
    title: str
    share: float
    leaf: bool


@dataclass(frozen=True)
class Picture:
    """What is drawn, in pixels; `paths` are SVG's. Where nothing is, `note` says why."""

    note: str
    width: int = 0
    height: int = 0
    boxes: Sequence[Box] = ()
    paths: Sequence[str] = ()


def picture(trace: Trace, window: Window) -> Picture:
    """Draw the graph of the backward passes in `window`."""
    graph = autograd_graph(trace, window.start, window.end, NODE_LIMIT)
    if not graph.count:
        return Picture(
            f"No nodes of a backward pass are in {window.label}: perflab.profiler.profile records them with their "
            "edges, torch.profiler names them among the ops and keeps no edges."
        )
    if graph.count > NODE_LIMIT:
        return Picture(
            f"The graph of {window.label} has {units.whole(graph.count)} nodes, and a picture shows at most "
            f"{NODE_LIMIT}. The flame graph of ops has their times; autograd.graph.to_dot(loss) gives it as text for "
            "Graphviz; in SQL it is the flows named next_functions."
        )
    if graph.count > 1 and not graph.edges:
        return Picture(f"The {graph.count} backward nodes of {window.label} were recorded without their edges.")
    return _draw(graph, window.label)


def _draw(graph: AutogradGraph, label: str) -> Picture:
    layout = lay_out(graph.count, graph.edges, _GAP / WIDTH)
    if layout is None:
        return Picture(
            f"The {graph.count} nodes of {label} have too many edges between rows far apart to be read as a picture: "
            "autograd.graph.to_dot(loss) gives them as text for Graphviz."
        )
    slowest = max(node.ns for node in graph.nodes)

    def top(row: int) -> int:
        return _MARGIN + (layout.rows - 1 - row) * _ROW

    boxes = [
        _box(node, _MARGIN + (x - 0.5) * WIDTH, top(row), slowest)
        for node, x, row in zip(graph.nodes, layout.x, layout.row, strict=True)
    ]
    paths = [_path([(_MARGIN + x * WIDTH, top(row)) for x, row in reversed(points)]) for points in layout.paths]
    leaves = sum(node.leaf for node in graph.nodes)
    total = sum(node.ns for node in graph.nodes)
    return Picture(
        note=f"{graph.count - leaves} nodes and {leaves} leaves of {label}, {units.duration(total)} in backward; "
        "leaves above, results below",
        width=round(layout.width * WIDTH) + 2 * _MARGIN,
        height=(layout.rows - 1) * _ROW + HEIGHT + 2 * _MARGIN,
        boxes=boxes,
        paths=paths,
    )


def _path(points: Sequence[tuple[float, int]]) -> str:
    """A line down from box to box: straight through the rows that it passes, curved between them."""
    x, y = points[0]
    parts = [f"M{x:.1f} {y + HEIGHT}"]
    for place, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
        if place:
            parts.append(f"V{y0 + HEIGHT}")
        middle = (y0 + HEIGHT + y1) / 2
        parts.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1}")
    return "".join(parts)


def _box(node: GraphNode, x: float, y: int, slowest: int) -> Box:
    shapes = [f"({', '.join(map(str, shape))})" for shape in node.shapes]
    named = [f"{kind} {shape}" for kind, shape in zip(node.types, shapes, strict=False)]
    time = units.duration(node.ns)
    said = [
        node.name,
        f"made in {node.module}" if node.module else "",
        f"{'of' if node.leaf else 'made from'} {', '.join(named)}" if named else "",
        f"{time} in backward" + (f", {node.runs} runs" if node.runs > 1 else ""),
    ]
    return Box(
        x=round(x, 1),
        y=y,
        name=_shortened(f"leaf {''.join(shapes)}" if node.leaf else node.name, 24),
        detail=_shortened(", ".join(node.types) if node.leaf else node.module, 16),
        time=time,
        title="\n".join(line for line in said if line),
        share=round(node.ns / slowest, 3) if slowest else 0.0,
        leaf=node.leaf,
    )


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"…{text[1 - limit :]}"
