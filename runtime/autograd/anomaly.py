"""Finding the op behind a NaN in a gradient, or behind a failure of backward."""

import traceback
import warnings
from types import TracebackType
from typing import Any

from .. import _core
from ..errors import AutogradError
from .hooks import hooks_of_node
from .modes import Mode

_STACK = "forward stack"  # in a node's metadata


def _made(node: _core.Node) -> None:
    hooks_of_node(node).metadata[_STACK] = "".join(traceback.format_stack()[:-1])


def _found(node: _core.Node, gradient: int) -> None:
    stack = hooks_of_node(node).metadata.get(_STACK)
    made = f"It was made here, in forward:\n{stack}" if stack else "It was made outside of detect_anomaly."
    if gradient < 0:
        warnings.warn(f"backward failed in {node.name()}. {made}", stacklevel=2)
        return
    raise AutogradError(f"{node.name()} returned nan values in its gradient {gradient}. {made}")


class set_detect_anomaly(Mode):
    """Turns anomaly detection on or off for this thread: at once, and as a context manager until its end.

    While it is on, every node keeps the Python stack of the op that made it. With check_nan a NaN in a gradient raises
    AutogradError with the node's name and that stack; when backward fails otherwise, a warning shows them. It makes
    every op slow: for debugging alone.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._arguments: tuple[Any, ...] = (mode, check_nan)
        made, found = (_made, _found) if mode else (None, None)
        self._before = _core.set_anomaly(made, found, mode and check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.set_anomaly(*self._before)

    def fresh(self) -> "set_detect_anomaly":
        return set_detect_anomaly(*self._arguments)


class detect_anomaly(Mode):
    """set_detect_anomaly(True, check_nan) from the begin of the block to its end."""

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan

    def __enter__(self) -> None:
        self._on = set_detect_anomaly(True, self._check_nan)

    def __exit__(self, *error: Any) -> None:
        self._on.__exit__(*error)

    def fresh(self) -> "detect_anomaly":
        return detect_anomaly(self._check_nan)
