"""The ops of two traces side by side, as a tree whose rows open and close."""

from collections.abc import Sequence
from dataclasses import dataclass

from perflab.profiler.analysis.diff import TraceDiff
from perflab.profiler.analysis.op_tree import OpNode

from .compare import NOTICEABLE, share, tone

# Of what the step changed: what changed by more is to be seen at once.
WORTH_OPENING = 0.05


@dataclass(frozen=True)
class TreeRow:
    """One op in the ops around it, per step. Its bars are in percent of the longer step; `share` is the part of the
    step's change, None where the signs differ. `inner` says that there are rows in it, `open` that they are shown, and
    `hidden` that a row around this one is closed."""

    node: OpNode
    inner: bool
    open: bool
    hidden: bool
    base_width: float
    head_width: float
    share: float | None
    tone: str

    @property
    def status(self) -> str:
        """`new` where only head has the op here, `gone` where only base has it, else empty."""
        if self.node.base_count == 0:
            return "new" if self.node.head_count else ""
        return "" if self.node.head_count else "gone"


def rows(diff: TraceDiff) -> list[TreeRow]:
    """Every node of the tree, then at the top what no op owns, so that the rows at the top add up to the step."""
    nodes = diff.tree.nodes
    opened = _opened(nodes, max(WORTH_OPENING * abs(diff.step_ns), NOTICEABLE * diff.base_step_ns))
    inner = {node.parent for node in nodes}
    longer = max(diff.base_step_ns, diff.head_step_ns) or 1
    hidden: list[bool] = []
    for node in nodes:
        hidden.append(node.parent >= 0 and (hidden[node.parent] or not opened[node.parent]))
    beside = [
        OpNode(line.name, 1, -1, 0, 0, line.base_ns, line.base_ns + line.ns, line.base_ns, line.base_ns + line.ns, 0, 0)
        for line in diff.beside
    ]
    return [
        TreeRow(
            node=node,
            inner=at in inner,
            open=at < len(nodes) and opened[at],
            hidden=at < len(nodes) and hidden[at],
            base_width=round(100 * node.base_total_ns / longer, 2),
            head_width=round(100 * node.head_total_ns / longer, 2),
            share=share(node.total_ns, diff),
            tone=tone(node.total_ns, diff),
        )
        for at, node in enumerate((*nodes, *beside))
    ]


def _opened(nodes: Sequence[OpNode], least: float) -> list[bool]:
    """Which nodes have one in them whose own time changed by more than `least`."""
    opened = [False] * len(nodes)
    for node in nodes:
        if abs(node.self_ns) > least:
            at = node.parent
            while at >= 0 and not opened[at]:
                opened[at] = True
                at = nodes[at].parent
    return opened
