"""perflab's eager runtime: strided tensors, autograd, and ops that the profiler sees.

Names and meanings are PyTorch's where PyTorch has them, and the Python array API standard's for functions.
"""

import glob
import math
import os
from typing import Any

import scipy_openblas32

from . import _core
from .alloc_conf import OPTIONS

_core.set_allocator_options(OPTIONS)
_core.load_blas(glob.glob(os.path.join(scipy_openblas32.get_lib_dir(), "libscipy_openblas*"))[0])

from . import ops, registry  # noqa: E402, I001
from . import tensor as _methods  # noqa: E402, F401  (before creation.tensor takes the name)
from . import amp, autograd, backends, cuda, data, fft, library, linalg, memory, nn, optim, sim, testing, utils  # noqa: E402
from ._core import Tensor, get_num_threads, set_num_threads  # noqa: E402
from .autocast import autocast, get_autocast_dtype, is_autocast_enabled  # noqa: E402
from .backends import get_float32_matmul_precision, set_float32_matmul_precision  # noqa: E402
from .autograd import (  # noqa: E402
    Function,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .dispatch import DispatchMode, DispatchTable, dispatch_table  # noqa: E402
from .creation import (  # noqa: E402
    arange,
    as_tensor,
    asarray,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    logspace,
    ones,
    ones_like,
    tensor,
    zeros,
    zeros_like,
)
from .errors import (  # noqa: E402
    ArgumentError,
    AutogradError,
    AxisError,
    DeviceError,
    DTypeError,
    FileFormatError,
    GradcheckError,
    IndexOutOfRange,
    OpError,
    OutOfMemoryError,
    PerflabError,
    ShapeError,
    StateError,
    WorkerError,
)
from .flops import FlopCounter  # noqa: E402
from .generator import Generator, default_generator  # noqa: E402
from .random import (  # noqa: E402
    bernoulli,
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
from .info import __array_namespace_info__  # noqa: E402
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
from .tensor import is_complex, is_floating_point, is_tensor, numel  # noqa: E402
from .text import set_printoptions  # noqa: E402

bool = bool_
half, float, double, cfloat, cdouble = float16, float32, float64, complex64, complex128  # PyTorch's other names
short, int, long = int16, int32, int64  # int and float are not in __all__: what imports * keeps Python's
__array_api_version__ = "2024.12"
e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

_functions = registry.functions()
globals().update(_functions)
globals().update(registry.in_place_functions())


def __getattr__(name: str) -> Any:  # the ops' names, which come from their declarations, for type checkers
    raise AttributeError(f"perflab.runtime has no '{name}'")


__all__ = [
    "ArgumentError",
    "AutogradError",
    "AxisError",
    "DeviceError",
    "DType",
    "DTypeError",
    "DispatchMode",
    "DispatchTable",
    "FileFormatError",
    "FlopCounter",
    "Function",
    "Generator",
    "GradcheckError",
    "IndexOutOfRange",
    "OpError",
    "OutOfMemoryError",
    "PerflabError",
    "ShapeError",
    "StateError",
    "Tensor",
    "WorkerError",
    "__array_api_version__",
    "__array_namespace_info__",
    "amp",
    "arange",
    "as_tensor",
    "asarray",
    "autocast",
    "autograd",
    "backends",
    "bernoulli",
    "bfloat16",
    "bool",
    "bool_",
    "can_cast",
    "cdouble",
    "cfloat",
    "complex128",
    "complex64",
    "cuda",
    "data",
    "default_generator",
    "device",
    "dispatch_table",
    "double",
    "e",
    "empty",
    "empty_like",
    "enable_grad",
    "eye",
    "fft",
    "finfo",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "get_autocast_dtype",
    "get_default_dtype",
    "get_float32_matmul_precision",
    "get_num_threads",
    "get_rng_state",
    "half",
    "iinfo",
    "inf",
    "inference_mode",
    "initial_seed",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_autocast_enabled",
    "is_complex",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_tensor",
    "isdtype",
    "library",
    "linalg",
    "linspace",
    "logspace",
    "load",
    "load_metadata",
    "long",
    "manual_seed",
    "memory",
    "multinomial",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "normal",
    "numel",
    "ones",
    "ones_like",
    "ops",
    "optim",
    "sim",
    "pi",
    "promote_types",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "result_type",
    "save",
    "seed",
    "set_default_dtype",
    "set_float32_matmul_precision",
    "set_grad_enabled",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "short",
    "tensor",
    "testing",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "utils",
    "zeros",
    "zeros_like",
    *_functions,
]
