"""Kernels compiled when they are wanted first, and kept on disk: the next process loads them."""

import functools
import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from .. import _core
from . import nvrtc
from .devices import get_device_capability
from .sources import Kernel, all_kernels, unit


def folder() -> Path:
    """Where compiled kernels are kept: PERFLAB_CACHE, or perflab in the user's folder of caches."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("PERFLAB_CACHE") or Path(caches) / "perflab") / "kernels"


@functools.cache
def _by_name() -> dict[str, Kernel]:
    return {kernel.name: kernel for kernel in all_kernels()}


def function(index: int, name: str) -> int:
    """A handle of the kernel of that name on a device, for the core; 0: there is none."""
    kernel = _by_name().get(name)
    if kernel is None:
        return 0
    return _core.cuda_load_function(index, machine_code(kernel, architecture(*get_device_capability(index))), name)


def architecture(major: int, minor: int) -> str:
    """What to compile for: the device's own machine code, or PTX where it is newer than the compiler."""
    wanted, known = 10 * major + minor, nvrtc.architectures()
    return f"sm_{wanted}" if wanted in known else f"compute_{max(k for k in known if k <= wanted)}"


def machine_code(kernel: Kernel, arch: str) -> bytes:
    """The kernel for an architecture, from the disk if it was compiled before by the same compiler."""
    text = unit([kernel])
    key = hashlib.sha256("\0".join([text, arch, str(nvrtc.version())]).encode()).hexdigest()
    kept = folder() / f"{kernel.name}-{key[:32]}"
    with suppress(OSError):
        return kept.read_bytes()
    code = nvrtc.compile(text, arch)
    with suppress(OSError):  # a cache that cannot be written is none
        _write(kept, code)
    return code


def _write(target: Path, code: bytes) -> None:
    """All of it or nothing, whoever else writes the same."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(code)
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
