"""NVRTC, NVIDIA's compiler as a library: kernels' texts to PTX or machine code. It needs no GPU."""

import ctypes
import functools
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p

from ..errors import DeviceError
from .libraries import candidates


@functools.cache
def _library() -> ctypes.CDLL:
    for name in candidates("nvrtc"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise DeviceError(
        "NVRTC, which compiles CUDA kernels, was not found: pip install nvidia-cuda-nvrtc-cu12 (with CUDA 13: "
        "nvidia-cuda-nvrtc)"
    )


def is_available() -> bool:
    """Whether there is an NVRTC to compile with."""
    try:
        _library()
    except DeviceError:
        return False
    return True


def version() -> tuple[int, int]:
    """Of the NVRTC that is used, as (12, 9)."""
    major, minor = c_int(), c_int()
    _check(_library().nvrtcVersion(byref(major), byref(minor)), "nvrtcVersion")
    return major.value, minor.value


def architectures() -> list[int]:
    """What it compiles machine code for: 90 is compute capability 9.0."""
    count = c_int()
    _check(_library().nvrtcGetNumSupportedArchs(byref(count)), "nvrtcGetNumSupportedArchs")
    found = (c_int * count.value)()
    _check(_library().nvrtcGetSupportedArchs(found), "nvrtcGetSupportedArchs")
    return list(found)


def _check(result: int, call: str, log: str = "") -> None:
    if result:
        explain = _library().nvrtcGetErrorString
        explain.restype = c_char_p
        raise DeviceError(f"{call} failed: {explain(result).decode()}" + (f"\n{log}" if log else ""))


def compile(text: str, arch: str) -> bytes:
    """The machine code for an architecture such as "sm_90", or the PTX for "compute_75", which ends with a 0.

    Raises DeviceError with the compiler's words.
    """
    nvrtc = _library()
    program = c_void_p()
    _check(nvrtc.nvrtcCreateProgram(byref(program), text.encode(), b"perflab.cu", 0, None, None), "nvrtcCreateProgram")
    try:
        options = [b"--std=c++17", f"--gpu-architecture={arch}".encode()]
        failed = nvrtc.nvrtcCompileProgram(program, len(options), (c_char_p * len(options))(*options))
        if failed:
            _check(failed, "nvrtcCompileProgram", _text(program, "ProgramLog").decode(errors="replace"))
        return _text(program, "CUBIN" if arch.startswith("sm_") else "PTX")
    finally:
        nvrtc.nvrtcDestroyProgram(byref(program))


def _text(program: c_void_p, what: str) -> bytes:
    nvrtc = _library()
    size = c_size_t()
    _check(getattr(nvrtc, f"nvrtcGet{what}Size")(program, byref(size)), f"nvrtcGet{what}Size")
    room = ctypes.create_string_buffer(size.value)
    _check(getattr(nvrtc, f"nvrtcGet{what}")(program, room), f"nvrtcGet{what}")
    return room.raw
