"""The graph behind a tensor as text for Graphviz."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core

Tensor = _core.Tensor


def to_dot(tensors: Tensor | Sequence[Tensor], params: Mapping[str, Tensor] | None = None) -> str:
    """The graph as a `digraph`: nodes with what they saved, leaves with their names in `params`, arrows backward.

    tensors: one or several results. params: names of tensors, such as dict(module.named_parameters()). The same graph
    gives the same text. `dot -Tsvg` draws it.
    """
    drawing = _Drawing({id(t): name for name, t in (params or {}).items()})
    for i, tensor in enumerate((tensors,) if isinstance(tensors, Tensor) else tensors):
        drawing.result(i, tensor)
    return "\n".join(["digraph {", "  rankdir=BT", '  node [shape=box, fontname="monospace"]', *drawing.lines, "}", ""])


class _Drawing:
    def __init__(self, names: dict[int, str]) -> None:
        self.names = names
        self.lines: list[str] = []
        self.known: dict[Any, str] = {}  # nodes and leaves, held while their ids are in use

    def result(self, i: int, tensor: Tensor) -> None:
        name = self.names.get(id(tensor), "result" if i == 0 else f"result {i}")
        self._box(f"r{i}", [name, _outside(tensor.dtype, tensor.shape)], "palegreen")
        if tensor.grad_fn is not None:
            self._walk(tensor.grad_fn)
            self._arrow(self.known[tensor.grad_fn], f"r{i}", tensor.output_nr)
        elif tensor.requires_grad:
            self._arrow(self._leaf(tensor), f"r{i}", 0)

    def _walk(self, root: _core.Node) -> None:
        if root in self.known:
            return
        stack = [root]
        self._node(root)
        while stack:
            node = stack.pop()
            for behind, output in node.next_functions:
                if behind is None:
                    continue
                variable = getattr(behind, "variable", None)
                if variable is not None:
                    place = self._leaf(variable)
                elif behind in self.known:
                    place = self.known[behind]
                else:
                    place = self._node(behind)
                    stack.append(behind)
                self._arrow(place, self.known[node], output)

    def _node(self, node: _core.Node) -> str:
        place = self.known[node] = f"n{len(self.known)}"
        saved = [
            f"{_role(which)}: {_outside(dtype, shape)}" + ("" if state == "values" else f", {state}")
            for which, dtype, shape, state in node._saved()
        ]
        self._box(place, [node.name(), *saved], "white")
        return place

    def _leaf(self, tensor: Tensor) -> str:
        if id(tensor) not in self.known:
            place = self.known[id(tensor)] = f"n{len(self.known)}"
            self._box(place, [self.names.get(id(tensor), "leaf"), _outside(tensor.dtype, tensor.shape)], "lightblue")
        return self.known[id(tensor)]

    def _box(self, place: str, lines: list[str], colour: str) -> None:
        text = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
        self.lines.append(f'  {place} [label="{text}", style=filled, fillcolor={colour}]')

    def _arrow(self, behind: str, front: str, output: int) -> None:
        label = f' [label="output {output}"]' if output else ""
        self.lines.append(f"  {behind} -> {front}{label}")


def _outside(dtype: Any, shape: tuple[int, ...]) -> str:
    return f"{dtype.name} {tuple(shape)}"


def _role(which: int | None) -> str:
    if which is None:
        return "saved value"
    return f"saved output {-1 - which}" if which < 0 else f"saved input {which}"
