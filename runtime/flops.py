"""Counting the FLOPs of a piece of code, by module and op."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from . import _core
from ._core import Tensor
from .dispatch import DispatchMode
from .spec import Spec

TOTAL = "Global"


class FlopCounter(DispatchMode):
    """Counts the FLOPs of every op within it, forward and backward, as the ops declare them (spec.py, Cost).

    With a module, counts stand under the paths of its submodules as well, `TOTAL` has everything. What a backward pass
    does stands under the modules whose call made the node that it runs, if that was within the counter.
    """

    def __init__(self, module: Any = None) -> None:
        self._module = module
        self._counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._path: list[str] = []  # of the modules that are being called
        self._since = [0]  # nodes from this number on, up to the next one, ...
        self._made_in: list[tuple[str, ...]] = [()]  # ... were made in calls of these modules
        self._remove: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        if self._module is not None:
            root = type(self._module).__name__
            for path, module in self._module.named_modules():
                name = f"{root}.{path}" if path else root
                self._remove += [
                    module.register_forward_pre_hook(lambda *_, name=name: self._enter(name)).remove,
                    module.register_forward_hook(self._leave, always_call=True).remove,
                ]
        return super().__enter__()

    def _enter(self, name: str) -> None:
        self._path.append(name)
        self._mark(tuple(self._path))

    def _leave(self, *_: Any) -> None:
        self._path.pop()
        self._mark(tuple(self._path))

    def _mark(self, path: tuple[str, ...]) -> None:
        """Nodes that are made from now on belong to these modules."""
        if path != self._made_in[-1]:
            self._since.append(_core.next_node())
            self._made_in.append(path)

    def _modules(self) -> tuple[str, ...]:
        """Those that an op of this moment belongs to: being called, also again by a checkpoint, else by its node."""
        if self._path or not (node := _core.running_node()):
            return tuple(self._path)
        return self._made_in[bisect_right(self._since, node) - 1]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        while self._remove:
            self._remove.pop()()

    def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        modules = self._modules()
        self._mark(modules)  # a backward pass may be recorded itself
        result = op(*args, **kwargs)
        outs = result if isinstance(result, tuple) else (result,)
        inputs = args[0] if op.record.rest is not None else args
        specs = [Spec(x.shape, x.dtype) if isinstance(x, Tensor) else Spec((), outs[0].dtype) for x in inputs]
        flops = op.record.cost(specs, [Spec(out.shape, out.dtype) for out in outs], **kwargs).flops
        for path in {TOTAL, *modules}:
            self._counts[path][op.record.name] += flops
        return result

    def get_total_flops(self) -> int:
        """All of them."""
        return sum(self._counts[TOTAL].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """By path of the module, then by name of the op."""
        return {path: dict(counts) for path, counts in self._counts.items()}

    def get_table(self, depth: int = 2) -> str:
        """The counts as text: for modules up to `depth` levels below the root, and their ops."""
        total = self.get_total_flops()
        rows = []
        for path in sorted(self._counts, key=lambda p: (p != TOTAL, p)):
            level = 0 if path == TOTAL else path.count(".")
            if level > depth:
                continue
            counts = self._counts[path]
            rows.append((" " * level + path, sum(counts.values())))
            rows += [(" " * level + f" - {name}", n) for name, n in counts.items() if n]
        width = max([len("Module"), *(len(name) for name, _ in rows)])
        lines = [f"{'Module':<{width}}  {'FLOP':>14}  % Total"]
        lines += [f"{name:<{width}}  {n:>14,}  {100 * n / max(total, 1):6.2f}%" for name, n in rows]
        return "\n".join(lines)
