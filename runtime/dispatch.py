"""Dispatch modes: Python that sees, and may replace, every call of an op. The table of what computes what."""

from types import TracebackType
from typing import Any, Self

from . import _core, registry
from .cuda.sources import native_dtypes
from .errors import OpError
from .spec import DTYPES


class DispatchMode:
    """A context manager under which every call of an op on this thread goes through `__dispatch__`.

    A subclass defines it; calling `op(*args, **kwargs)` there runs the op. Modes nest: the innermost is called, and
    what it calls is seen by the next outer one, never by itself. The ops of a backward pass are seen as well, and
    in-place ops (`add_`), whose result is the tensor that they changed. A composite is seen as its parts.
    """

    def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Give what stands for op(*args, **kwargs): a Tensor, or a tuple of as many as the op gives.

        op: the function (`rt.add`), op.record its declaration; args: its tensors and numbers, of an op on a list the
        tuple of tensors alone; kwargs: all its attributes.
        """
        return op(*args, **kwargs)

    def __enter__(self) -> Self:
        _core.push_dispatch_mode(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.pop_dispatch_mode()


class DispatchTable(dict[str, dict[str, str]]):
    """For each backend and dtype what computes the op: "native", "python" (its body, over NumPy or CuPy) or "none".

    Prints itself. A simulated device computes as the CPU does.
    """

    def __init__(self, op: str) -> None:
        record = registry.OPS.get(op)
        if record is None:
            raise OpError(f"dispatch_table: there is no op called {op!r}")
        self.op = op
        native = {"cpu": set(_core.native_dtypes(op)), "cuda": {d.name for d in native_dtypes(record)}}
        super().__init__(
            (
                backend,
                {d.name: "native" if d.name in own else "python" if d.kind in record.kinds else "none" for d in DTYPES},
            )
            for backend, own in native.items()
        )

    def __str__(self) -> str:
        width = max(len(d.name) for d in DTYPES)
        head = f"{self.op:<{width}}  " + "  ".join(f"{backend:<6}" for backend in self)
        rows = [f"{d.name:<{width}}  " + "  ".join(f"{row[d.name]:<6}" for row in self.values()) for d in DTYPES]
        return "\n".join(line.rstrip() for line in (head, *rows))


def dispatch_table(op: str) -> DispatchTable:
    """What computes the op called `op`, by backend and dtype of the computation. OpError when there is none."""
    return DispatchTable(op)
