"""The memory behind tensors, as bytes."""

from . import _core
from ._core import Tensor


class UntypedStorage:
    """The memory that a tensor, its base and its views share. It lives while this object or one of them does."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor.detach()

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return _core.storage(self._tensor)[0]

    def nbytes(self) -> int:
        """The size, in bytes."""
        return _core.storage(self._tensor)[1]

    size = __len__ = nbytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    def __repr__(self) -> str:
        return f"<UntypedStorage of {self.nbytes()} bytes>"
