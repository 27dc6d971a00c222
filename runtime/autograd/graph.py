"""What Python sees of the graph: its nodes, and the ends at its leaves."""

import weakref
from collections.abc import Callable
from typing import Any

from .. import _core
from .dot import to_dot
from .hooks import RemovableHandle, hooks_of_leaf, register_multi_grad_hook
from .saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "AccumulateGrad",
    "disable_saved_tensors_hooks",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "to_dot",
]


class AccumulateGrad:
    """The end of a graph: what adds into the `grad` of a leaf, `variable`. There is one for each leaf."""

    def __init__(self, variable: _core.Tensor) -> None:
        self.variable = variable
        self.metadata: dict[Any, Any] = {}

    @classmethod
    def of(cls, variable: _core.Tensor) -> "AccumulateGrad":
        """The leaf's own, as long as somebody holds it."""
        known = variable.__dict__.get("_accumulate_grad")
        found: AccumulateGrad | None = known() if known else None
        if found is None:
            found = cls(variable)
            variable._accumulate_grad = weakref.ref(found)
        return found

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)`, of which the first is empty, after a gradient was accumulated."""
        return RemovableHandle(hooks_of_leaf(self.variable).after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before a gradient is accumulated; what it returns takes its place."""
        return RemovableHandle(hooks_of_leaf(self.variable).before, hook)

    def _sequence_nr(self) -> int:
        """The highest number that there is: a gradient is accumulated as soon as it is complete."""
        return (1 << 64) - 1

    def name(self) -> str:
        return "AccumulateGrad"

    @property
    def next_functions(self) -> tuple[()]:
        return ()

    def __repr__(self) -> str:
        return f"<AccumulateGrad of {tuple(self.variable.shape)}>"


def _next_functions(node: _core.Node) -> tuple[tuple[Any, int], ...]:
    """The nodes behind this one, a pair (node, output number) for each input; (None, 0) where it needs no gradient."""
    return tuple(
        (AccumulateGrad.of(to) if isinstance(to, _core.Tensor) else to, output) for to, output in node._edges()
    )


_core.Node.next_functions = property(_next_functions)
