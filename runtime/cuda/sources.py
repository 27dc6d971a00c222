"""The text of CUDA kernels: of pointwise ops from their declaration's `source`, of others from templates in kernels/.

A kernel is named by its op and the dtype that it computes in, as `exp_float32`.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import OpError
from ..op import Op
from ..registry import OPS
from ..spec import DTYPES, DType, bool_, float32, float64, int32, int64, uint64

_FOLDER = Path(__file__).parent / "kernels"
_TYPES = {
    "bool": "bool", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "float16": "f16", "bfloat16": "bf16", "float32": "float", "float64": "double",
}  # fmt: skip
REALS = tuple(d for d in DTYPES if d.kind != "c")
FLOATS = tuple(d for d in DTYPES if d.kind == "f")
_SUMMED = (int32, int64, uint64, *FLOATS)
_ADDED = (int32, int64, float32, float64)  # what atomicAdd takes
_CALL = re.compile(r"\b[a-z_]\w*\(")
_FRACTION = re.compile(r"\b\d+\.\d*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Kernel:
    """parameters: the struct that it takes; body: what it does with p; template: the file with both, or ""."""

    name: str
    parameters: str
    body: str
    template: str = ""

    @property
    def text(self) -> str:
        return f"KERNEL({self.name}, {self.parameters}) {{ {self.body} }}\n"


@dataclass(frozen=True)
class Template:
    """One of a file in kernels/, joined to the op of that name. call: what the kernel calls, T for its type."""

    file: str
    parameters: str
    call: str
    dtypes: tuple[DType, ...]


def _reduction(fold: str, dtypes: tuple[DType, ...]) -> Template:
    return Template("reduce", "Reduce", f"reduce<T, {fold}>(p)", dtypes)


TEMPLATES = {
    "sum": _reduction("Sum<T>", _SUMMED),
    "unbroadcast": _reduction("Sum<T>", _SUMMED),
    "prod": _reduction("Product<T>", _SUMMED),
    "all": _reduction("Truth<T, true>", REALS),
    "any": _reduction("Truth<T, false>", REALS),
    "amax": _reduction("Extremum<T, true, false>", REALS),
    "amin": _reduction("Extremum<T, false, false>", REALS),
    "argmax": _reduction("Extremum<T, true, true>", REALS),
    "argmin": _reduction("Extremum<T, false, true>", REALS),
    "softmax": Template("rows", "Rows", "softmax<T, false>(p)", FLOATS),
    "log_softmax": Template("rows", "Rows", "softmax<T, true>(p)", FLOATS),
    "layer_norm": Template("rows", "Rows", "layer_norm<T>(p)", FLOATS),
    "layer_norm_input_grad": Template("rows", "Rows", "layer_norm_input_grad<T>(p)", FLOATS),
    "layer_norm_weight_grad": Template("rows", "Rows", "layer_norm_weight_grad<T>(p)", FLOATS),
    **{
        name: Template("channels", "Channels", f"{name}<T>(p)", FLOATS)
        for name in ("batch_norm", "batch_norm_input_grad", "batch_norm_weight_grad", "channel_moments")
    },
    "channel_affine": Template("channels", "Pointwise", "channel_affine<T>(p)", FLOATS),
    "softmax_nll": Template("nll", "Classes", "softmax_nll<T>(p)", FLOATS),
    "softmax_nll_grad": Template("nll", "Classes", "softmax_nll_grad<T>(p)", FLOATS),
    "running_sum": Template("scan", "Scan", "running<T, RunningSum>(p)", _SUMMED),
    "running_product": Template("scan", "Scan", "running<T, RunningProduct>(p)", _SUMMED),
    "running_logsumexp": Template("scan", "Scan", "running<T, RunningLogSum>(p)", FLOATS),
    "running_extremum": Template("scan", "Scan", "running_extremum<T>(p)", REALS),
    "erfinv": Template("special", "Pointwise", "inverse_erf<T>(p)", FLOATS),
    "take": Template("index", "Indexed", "gather<T>(p)", REALS),
    "take_along": Template("index", "Indexed", "gather<T>(p)", REALS),
    "take_grad": Template("index", "Indexed", "scatter_add<T>(p)", _ADDED),
    "take_along_grad": Template("index", "Indexed", "scatter_add<T>(p)", _ADDED),
}
# Of the optimizers (core/kernels/optimizer.h) and GradScaler.
UPDATES = {
    name: Template("foreach", "Foreach", f"{name}<T>(p)", FLOATS)
    for name in ("sgd", "adam", "rmsprop", "adagrad", "unscale")
}
# Random numbers (core/kernels/random.h).
RANDOM = {
    name: Template("random", "Random", f"{name}<T>(p)", dtypes)
    for name, dtypes in {
        "random_uniform": (float32, float64),
        "random_normal": (float32, float64),
        "random_exponential": (float32, float64),
        "random_bernoulli": (bool_, float32, float64),
        "random_integers": (int64,),
    }.items()
}
_TEMPLATES = TEMPLATES | UPDATES | RANDOM


def expression_dtypes(op: Op) -> tuple[DType, ...]:
    """The dtypes for which the op's `source` serves.

    It speaks of floats; with operators alone it says the same of ints and bools. Not of complex numbers.
    """
    if not op.source or not op.pointwise:
        return ()
    floats = FLOATS if "f" in op.kinds else ()
    exact = op.dtype != "float" and not _CALL.search(op.source) and not op.attributes
    others = [d for d in REALS if d.kind in op.kinds and d.kind in "bi"] if exact else ()
    return tuple(d for d in REALS if d in floats or d in others)


def native_dtypes(op: Op) -> tuple[DType, ...]:
    """The dtypes in which a kernel of ours computes the op."""
    if op.name in ("cast", "assign"):
        return REALS
    return TEMPLATES[op.name].dtypes if op.name in TEMPLATES else expression_dtypes(op)


def _computed(dtype: DType) -> str:
    return "float" if dtype.itemsize == 2 and dtype.kind == "f" else _TYPES[dtype.name]


def pointwise_kernel(op: Op, dtype: DType) -> Kernel:
    """The kernel of a pointwise op from its `source`: inputs that are cast have `dtype`, others are bools.

    Operand 0 of the walk is the output, the others are the inputs; the attributes' words stand in `attributes`.
    """
    if dtype not in expression_dtypes(op):
        raise OpError(f"{op.name}: its source says nothing of {dtype.name}")
    assert op.source
    computed, source = _computed(dtype), op.source
    if dtype is bool_:
        source = source.replace("~", "!")  # as NumPy reads it
    if computed == "float":
        source = _FRACTION.sub(r"\g<0>f", source)
    names = {i.name: f"{i.name}_" for i in op.inputs} | {a.name: f"{a.name}_" for a in op.attributes}
    lines = [
        f"const auto {names[i.name]} = operand<{_TYPES[dtype.name] if i.cast else 'bool'}>(p.w, {k}, at);"
        for k, i in enumerate(op.inputs, 1)
    ] + [
        f"const {computed if a.kind == 'f' else 'bool'} {names[a.name]} = p.attributes[{k}];"
        for k, a in enumerate(op.attributes)
    ]
    result = "bool" if op.dtype == "bool" else _TYPES[dtype.name]
    lines.append(f"Store<{result}>::to(place(p.w, 0, at), {source.format(**names)});")
    body = f"each<{1 + len(op.inputs)}>(p.w, [&](const i64* at) {{ {' '.join(lines)} }});"
    return Kernel(f"{op.name}_{dtype.name}", "Pointwise", body)


def copy_kernel(source: DType, target: DType) -> Kernel:
    """Copying with a change of dtype, any strides on both sides."""
    to = f"Store<{_TYPES[target.name]}>::to(place(p.w, 0, at), operand<{_TYPES[source.name]}>(p.w, 1, at));"
    body = f"each<2>(p.w, [&](const i64* at) {{ {to} }});"
    return Kernel(f"copy_{source.name}_{target.name}", "Pointwise", body)


def template_kernel(name: str, dtype: DType) -> Kernel:
    """The kernel of an op, of an optimizer's update, or of random numbers, that has a template."""
    template = _TEMPLATES[name]
    if dtype not in template.dtypes:
        raise OpError(f"{name}: no CUDA kernel computes in {dtype.name}")
    body = f"typedef {_TYPES[dtype.name]} T; {template.call};"
    return Kernel(f"{name}_{dtype.name}", template.parameters, body, template.file)


def kernel_of(name: str, dtype: DType) -> Kernel | None:
    """The kernel of an op in a dtype; None where there is none of ours, and CuPy computes."""
    if name in TEMPLATES:
        return template_kernel(name, dtype) if dtype in TEMPLATES[name].dtypes else None
    op = OPS[name]
    return pointwise_kernel(op, dtype) if dtype in expression_dtypes(op) else None


def all_kernels() -> Iterator[Kernel]:
    """Every kernel that can be asked for."""
    for op in OPS.values():
        for dtype in expression_dtypes(op):
            yield pointwise_kernel(op, dtype)
    for name, template in _TEMPLATES.items():
        for dtype in template.dtypes:
            yield template_kernel(name, dtype)
    for source in REALS:
        for target in REALS:
            yield copy_kernel(source, target)


@functools.cache
def _file(name: str) -> str:
    return (_FOLDER / f"{name}.cuh").read_text(encoding="utf-8").replace("#pragma once\n", "")


def unit(kernels: list[Kernel]) -> str:
    """One text to compile, with everything that the kernels need."""
    files = ["parameters", "prelude", *sorted({k.template for k in kernels} - {""})]
    return "\n".join([*map(_file, files), *(k.text for k in kernels)])
