"""Whether there is CUDA to compute on and, if not, what is missing. To ask costs a look for the driver, no import."""

import functools
from importlib.util import find_spec

from . import _core

_DRIVER = "libcuda.so.1"


@functools.cache
def missing_for_cuda() -> str:
    """What is missing, in words, with what to do; nothing where tensors can live on a GPU."""
    if wrong := _core.cuda_open(_DRIVER):
        return (
            f"{wrong}: CUDA needs an NVIDIA GPU with its driver, and CuPy: pip install 'perflab[cuda12]', or "
            "'perflab[cuda13]' where nvidia-smi says CUDA 13"
        )
    if find_spec("cupy") is None:
        extra = "cuda13" if _core.cuda_version() >= 13000 else "cuda12"
        return f"there is a GPU, but CuPy is not installed: pip install 'perflab[{extra}]'"
    return ""
