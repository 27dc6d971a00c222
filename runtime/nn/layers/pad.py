"""Layers that lengthen the last axes at both ends. The axes before them, of batch and channels, stay."""

from ..._core import Tensor
from .. import functional as F
from ..functional.conv import Size
from ..module import Module


class _Pad(Module):
    _axes: int
    _mode: str
    _value: float | None = None

    def __init__(self, padding: Size) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self._axes) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode, self._value)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_Pad):
    """`value` before and after the last axis. padding: one number, or (left, right)."""

    _axes, _mode = 1, "constant"

    def __init__(self, padding: Size, value: float) -> None:
        super().__init__(padding)
        self.value = self._value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """`value` around the planes. padding: one number, or (left, right, top, bottom)."""

    _axes = 2


class ZeroPad1d(_Pad):
    """Zeros before and after the last axis. padding: one number, or (left, right)."""

    _axes, _mode = 1, "constant"


class ZeroPad2d(_Pad):
    """Zeros around the planes. padding: one number, or (left, right, top, bottom)."""

    _axes, _mode = 2, "constant"


class ReflectionPad1d(_Pad):
    """The last axis mirrored at its first and last element. padding: one number, or (left, right)."""

    _axes, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Planes mirrored at their edges. padding: one number, or (left, right, top, bottom)."""

    _axes, _mode = 2, "reflect"


class ReplicationPad1d(_Pad):
    """The first and last element of the last axis repeated. padding: one number, or (left, right)."""

    _axes, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The edges of planes repeated. padding: one number, or (left, right, top, bottom)."""

    _axes, _mode = 2, "replicate"


class CircularPad1d(_Pad):
    """The last axis goes on with its other end. padding: one number, or (left, right)."""

    _axes, _mode = 1, "circular"


class CircularPad2d(_Pad):
    """Planes go on with their other edge. padding: one number, or (left, right, top, bottom)."""

    _axes, _mode = 2, "circular"
