"""The C expressions of pointwise ops give what their kernels give."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab.runtime.op import Op
from perflab.runtime.registry import OPS


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """The ops' C expressions, compiled: one function of doubles (and ints for masks) each."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler to compile the ops' expressions with")
    folder: Path = tmp_path_factory.mktemp("sources")
    lines = ["#include <math.h>"]
    for op in OPS.values():
        if op.source:
            parameters = ", ".join(f"{'double' if i.cast else 'int'} {i.name}" for i in op.inputs)
            expression = op.source.format(**{i.name: i.name for i in op.inputs})
            lines.append(f"double {op.name}_({parameters}) {{ return {expression}; }}")
    (folder / "ops.c").write_text("\n".join(lines))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "ops.so", "ops.c", "-lm"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "ops.so"))

    def function(name: str) -> Any:
        found = library[f"{name}_"]
        found.restype = ctypes.c_double
        found.argtypes = [ctypes.c_double if i.cast else ctypes.c_int for i in OPS[name].inputs]
        return found

    return function


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.source], ids=lambda op: op.name)
def test_the_c_expression_gives_what_the_kernel_gives(op: Op, sources: Callable[[str], Any]) -> None:
    special = [0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan]
    compiled = sources(op.name)
    for values in np.stack([g.reshape(-1) for g in np.meshgrid(*[special] * len(op.inputs))], axis=1):
        arrays = [np.asarray([v if i.cast else v > 0]) for v, i in zip(values, op.inputs, strict=True)]
        with np.errstate(all="ignore"):
            want = float(op.body(np, *arrays).item())
        np.testing.assert_allclose(compiled(*[a.item() for a in arrays]), want, rtol=1e-14, err_msg=str(arrays))
