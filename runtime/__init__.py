"""perflab's eager runtime: strided tensors, autograd, and ops that the profiler sees.

Names and meanings are PyTorch's where PyTorch has them, and the Python array API standard's for functions.
"""

import glob
import os
from typing import Any

import scipy_openblas32

from . import _core

_core.load_blas(glob.glob(os.path.join(scipy_openblas32.get_lib_dir(), "libscipy_openblas*"))[0])

from . import ops, registry  # noqa: E402, I001
from . import tensor as _methods  # noqa: E402, F401  (before creation.tensor takes the name)
from . import amp, autograd, data, nn, optim, utils  # noqa: E402
from ._core import Tensor, get_num_threads, memory_stats, set_num_threads  # noqa: E402
from .autocast import autocast, get_autocast_dtype, is_autocast_enabled  # noqa: E402
from .autograd import (  # noqa: E402
    Function,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .creation import arange, asarray, empty, from_numpy, full, ones, ones_like, tensor, zeros, zeros_like  # noqa: E402
from .dispatch import DispatchMode, DispatchTable, dispatch_table  # noqa: E402
from .errors import (  # noqa: E402
    ArgumentError,
    AutogradError,
    DTypeError,
    FileFormatError,
    GradcheckError,
    IndexOutOfRange,
    OpError,
    PerflabError,
    ShapeError,
    StateError,
    WorkerError,
)
from .flops import FlopCounter  # noqa: E402
from .random import (  # noqa: E402
    Generator,
    bernoulli,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    seed,
    set_rng_state,
)
from .device import Device as device  # noqa: E402
from .interchange import from_dlpack  # noqa: E402
from .promotion import can_cast, finfo, iinfo, isdtype, promote_types, result_type  # noqa: E402
from .serialization import load, load_metadata, save  # noqa: E402
from .spec import (  # noqa: E402
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .tensor import is_complex, is_floating_point  # noqa: E402

_functions = registry.functions()
globals().update(_functions)


def __getattr__(name: str) -> Any:  # the ops' names, which come from their declarations, for type checkers
    raise AttributeError(f"perflab.runtime has no '{name}'")


__all__ = [
    "ArgumentError",
    "AutogradError",
    "DType",
    "DTypeError",
    "FileFormatError",
    "Function",
    "GradcheckError",
    "Generator",
    "IndexOutOfRange",
    "OpError",
    "PerflabError",
    "ShapeError",
    "StateError",
    "Tensor",
    "WorkerError",
    "amp",
    "arange",
    "asarray",
    "autograd",
    "autocast",
    "get_autocast_dtype",
    "is_autocast_enabled",
    "DispatchMode",
    "DispatchTable",
    "dispatch_table",
    "FlopCounter",
    "bernoulli",
    "bool_",
    "data",
    "default_generator",
    "empty",
    "enable_grad",
    "float32",
    "float64",
    "from_numpy",
    "full",
    "get_num_threads",
    "get_rng_state",
    "initial_seed",
    "int32",
    "int64",
    "inference_mode",
    "is_grad_enabled",
    "load",
    "load_metadata",
    "is_inference_mode_enabled",
    "manual_seed",
    "memory_stats",
    "multinomial",
    "nn",
    "no_grad",
    "normal",
    "ones",
    "ones_like",
    "ops",
    "optim",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "save",
    "seed",
    "set_grad_enabled",
    "set_num_threads",
    "set_rng_state",
    "tensor",
    "utils",
    "zeros",
    "zeros_like",
    "bfloat16",
    "can_cast",
    "complex64",
    "complex128",
    "finfo",
    "float16",
    "get_default_dtype",
    "iinfo",
    "int8",
    "int16",
    "is_complex",
    "is_floating_point",
    "isdtype",
    "promote_types",
    "result_type",
    "set_default_dtype",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "device",
    "from_dlpack",
    *_functions,
]
