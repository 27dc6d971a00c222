"""Without a GPU: nothing is imported for CUDA, questions have answers, and errors say what is missing."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import _core, presence

MISSING = "no NVIDIA driver was found"


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine without one, wherever the tests run."""
    presence.missing_for_cuda.cache_clear()
    monkeypatch.setattr(_core, "cuda_open", lambda library: f"{MISSING} ({library})")
    yield
    presence.missing_for_cuda.cache_clear()


def test_importing_perflab_imports_nothing_for_cuda() -> None:
    program = (
        "import sys; from perflab import runtime as rt, profiler; rt.cuda.is_available(); "
        "print([m for m in sys.modules if m.split('.')[0] in ('cupy', 'cupti', 'cuda', 'nvidia')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_questions_have_answers(no_driver: None) -> None:
    assert rt.cuda.is_available() is False and rt.cuda.device_count() == 0


@pytest.mark.parametrize(
    "call",
    [
        rt.cuda.current_device, rt.cuda.current_stream, rt.cuda.synchronize, rt.cuda.Stream, rt.cuda.Event,
        rt.cuda.get_device_name, rt.cuda.mem_get_info, lambda: rt.cuda.set_device(0), rt.cuda.default_stream,
        rt.cuda.memory_allocated, rt.cuda.empty_cache,
    ],
)  # fmt: skip
def test_what_needs_a_gpu_says_what_is_missing(call: Callable[[], Any], no_driver: None) -> None:
    with pytest.raises(rt.DeviceError, match=rf"CUDA is not there: {MISSING} \(libcuda.so.1\): .*perflab\[cuda12\]"):
        call()


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:3"])
def test_making_a_tensor_on_cuda_says_what_is_missing(device: str, no_driver: None) -> None:
    words = rf"device '{device}' is not there: {MISSING}.*NVIDIA GPU with its driver, and CuPy: pip install"
    for make in (lambda: rt.zeros(3, device=device), lambda: rt.ones(3).to(device), lambda: rt.device(device)):
        with pytest.raises(rt.ArgumentError, match=words):
            make()


def test_a_gpu_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "cuda_open", lambda library: "")
    monkeypatch.setattr(presence, "find_spec", lambda name: None)
    for version, extra in ((12090, "cuda12"), (13000, "cuda13")):
        presence.missing_for_cuda.cache_clear()
        monkeypatch.setattr(_core, "cuda_version", lambda: version)  # noqa: B023
        words = f"there is a GPU, but CuPy is not installed: pip install 'perflab[{extra}]'"
        assert presence.missing_for_cuda() == words
        assert not rt.cuda.is_available()
    presence.missing_for_cuda.cache_clear()


@pytest.mark.parametrize(
    ("devices", "words"),
    [("0", "sees no GPU"), ("-1", r"does not start \(CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\)")],
)
def test_a_driver_without_a_gpu(devices: str, words: str, fake_driver: Path) -> None:
    program = f"from perflab.runtime import _core; print(_core.cuda_open({str(fake_driver)!r}))"
    environment = os.environ | {"FAKE_CUDA_DEVICES": devices}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert re.search(words, done.stdout), done.stdout


def test_a_driver_that_lacks_a_function() -> None:
    program = "from perflab.runtime import _core; print(_core.cuda_open('libm.so.6'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("the NVIDIA driver is too old: it has no cuInit (libm.so.6)")
