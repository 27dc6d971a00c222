"""How libraries compute, with PyTorch's names: `backends.cuda.matmul.allow_tf32` and `set_float32_matmul_precision`.

Tensor cores multiply float32 as TF32, of which 10 bits of the mantissa are left, several times as fast. That is off
until it is asked for, and GPUs before compute capability 8.0 have no TF32: there nothing changes. The CPU computes
in float32 always.
"""

from . import _core
from .errors import ArgumentError

PRECISIONS = ("highest", "high", "medium")


class _Matmul:
    """Of matrix products on CUDA devices, in the whole process."""

    def __init__(self) -> None:
        self._precision = "highest"

    @property
    def precision(self) -> str:
        return self._precision

    @precision.setter
    def precision(self, precision: str) -> None:
        self._precision = precision
        _core.cuda_allow_tf32(self.allow_tf32)

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 may be computed in TF32."""
        return self.precision != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allow: bool) -> None:
        self.precision = "high" if allow else "highest"


class _Cuda:
    matmul = _Matmul()


cuda = _Cuda()


def set_float32_matmul_precision(precision: str) -> None:
    """Choose how products of float32 are computed: "highest" in float32, "high" and "medium" in TF32 where there is
    one. Raises ArgumentError for any other word.
    """
    if precision not in PRECISIONS:
        raise ArgumentError(
            f"set_float32_matmul_precision: there are {', '.join(map(repr, PRECISIONS))}, and {precision!r} came"
        )
    cuda.matmul.precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` chose, "highest" at first."""
    return cuda.matmul.precision
