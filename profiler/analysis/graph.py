"""The autograd graph that the backward passes of a stretch of time went through."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..trace import Int64s, Json, Trace

EDGE_FLOW = "next_functions"  # from a node to what it passed gradients on to
ACCUMULATE = "AccumulateGrad"  # the slice in which a leaf's gradient grows
FORWARD_FLOW = "fwdbwd"  # from the op that made a node
LEAF_ARG = "Leaf"  # which leaf: the same number for the same one

_ALONE, _NODE, _LEAF = range(3)  # kinds of slices; one alone has no number


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node, or a leaf: the sums into its gradient. `ns` is the time of its `runs` together.

    Module, shapes and types are those of the op that made the node, or the shape of the leaf; empty where not known.
    """

    name: str
    leaf: bool
    ns: int
    runs: int
    module: str
    shapes: Sequence[Sequence[int]]
    types: Sequence[str]


@dataclass(frozen=True, slots=True)
class AutogradGraph:
    """Nodes as a backward pass goes through them, then leaves; and edges, from a place in `nodes` to a later one.

    `count` is how many nodes there are; when they are more than was asked for, `nodes` and `edges` are empty.
    """

    count: int
    nodes: Sequence[GraphNode] = ()
    edges: Sequence[tuple[int, int]] = ()


def autograd_graph(trace: Trace, start: int, end: int, limit: int) -> AutogradGraph:
    """The graph of the backward slices that begin in [start, end) ns, with at most `limit` nodes."""
    slices = trace.slices
    rows = trace.select(category="autograd")
    rows = rows[(slices.start[rows] >= start) & (slices.start[rows] < end)]
    identity, first, node = np.unique(_identity(trace, rows), axis=1, return_index=True, return_inverse=True)
    if not len(first) or len(first) > limit:
        return AutogradGraph(len(first))
    kind, number = identity
    order = np.lexsort((first, np.where(kind == _NODE, -number, 0), kind != _NODE))
    node = np.argsort(order)[node]
    nodes = [_node(trace, rows[node == place], kind[order[place]] == _LEAF) for place in range(len(first))]
    return AutogradGraph(len(nodes), nodes, _edges(trace, rows, node))


def _identity(trace: Trace, rows: Int64s) -> Int64s:
    """Kind and number of each slice, the same for all runs of a node or leaf."""
    kind, number = np.full_like(rows, _ALONE), rows
    for of_kind, key in ((_NODE, "Sequence number"), (_LEAF, LEAF_ARG)):
        if key in trace.slice_args:
            found = trace.slice_args[key].dense(len(trace.slices))[rows]
            kind, number = np.where(found > 0, of_kind, kind), np.where(found > 0, found, number)
    return np.array([kind, number])


def _edges(trace: Trace, rows: Int64s, node: Int64s) -> list[tuple[int, int]]:
    flows = trace.flows
    place = np.full(len(trace.slices), -1, dtype=np.int64)
    place[rows] = node
    arrows = flows.name == trace.string_id(EDGE_FLOW)
    source, target = place[flows.source[arrows]], place[flows.target[arrows]]
    known = (source >= 0) & (target > source)
    return sorted(set(zip(source[known].tolist(), target[known].tolist(), strict=True)))


def _node(trace: Trace, runs: Int64s, leaf: bool) -> GraphNode:
    slices, flows = trace.slices, trace.flows
    row = int(runs[0])
    made_by = np.flatnonzero((flows.target == row) & (flows.name == trace.string_id(FORWARD_FLOW)))
    described = int(flows.source[made_by[0]]) if len(made_by) else row

    def arg(key: str) -> Json:
        column = trace.slice_args.get(key)
        return None if column is None else column.at(described)

    module, shapes, types = arg("Module Hierarchy"), arg("Input Dims"), arg("Input type")

    return GraphNode(
        name=trace.strings[slices.name[row]],
        leaf=bool(leaf),
        ns=int(slices.duration[runs].sum()),
        runs=len(runs),
        module=module if isinstance(module, str) else "",
        shapes=shapes if _is_list(shapes) and all(map(_is_list, shapes)) else (),
        types=[str(kind) for kind in types] if _is_list(types) else (),
    )


def _is_list(value: Json) -> bool:
    return isinstance(value, list)
