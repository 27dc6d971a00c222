"""What Python sees of the graph: its nodes, and the ends at its leaves."""

from typing import Any

from .. import _core


class AccumulateGrad:
    """The end of a graph: what adds into the `grad` of a leaf, `variable`."""

    def __init__(self, variable: _core.Tensor) -> None:
        self.variable = variable

    def name(self) -> str:
        return "AccumulateGrad"

    @property
    def next_functions(self) -> tuple[()]:
        return ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return hash((AccumulateGrad, id(self.variable)))

    def __repr__(self) -> str:
        return f"<AccumulateGrad of {tuple(self.variable.shape)}>"


def _next_functions(node: _core.Node) -> tuple[tuple[Any, int], ...]:
    """The nodes behind this one, one pair (node, output number) for each input that needs a gradient."""
    return tuple((AccumulateGrad(to) if isinstance(to, _core.Tensor) else to, output) for to, output in node._edges())


_core.Node.next_functions = property(_next_functions)
