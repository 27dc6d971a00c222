"""NVIDIA's libraries: in their wheels, then where the system has them."""

import sys
from pathlib import Path

from .. import _core


def candidates(name: str) -> list[str]:
    """What `dlopen` may be asked for, in this order: "cublas" for libcublas.so.12."""
    places = (f"nvidia/{name}/lib", f"nvidia/cuda_{name}/lib", "nvidia/cu13/lib", "nvidia/cu12/lib")
    wheels = [
        file for root in sys.path for place in places for file in sorted(Path(root, place).glob(f"lib{name}.so.*"))
    ]
    return [*map(str, wheels), *(f"lib{name}.so.{major}" for major in (13, 12))]


def cublas() -> list[str]:
    """Those of cuBLAS that the driver serves."""
    return [file for file in candidates("cublas") if _major(file) <= _core.cuda_version() // 1000]


def _major(file: str) -> int:
    number = file.rpartition(".so.")[2].partition(".")[0]
    return int(number) if number.isdecimal() else sys.maxsize
