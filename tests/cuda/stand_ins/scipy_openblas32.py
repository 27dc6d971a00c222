"""The OpenBLAS that SciPy's wheels carry: the same library, with the same names."""

from pathlib import Path

import scipy


def get_lib_dir() -> str:
    """The folder with libscipy_openblas."""
    folder = Path(scipy.__file__).parents[1] / "scipy.libs"
    if not list(folder.glob("libscipy_openblas*")):
        raise ImportError(f"SciPy brings no OpenBLAS in {folder}: install scipy-openblas32")
    return str(folder)
