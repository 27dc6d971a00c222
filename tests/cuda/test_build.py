"""Kernels are compiled once and kept on disk."""

from pathlib import Path

import pytest

from perflab.runtime.cuda import build, nvrtc
from perflab.runtime.cuda.sources import copy_kernel
from perflab.runtime.spec import float32, int32

KERNEL = copy_kernel(int32, float32)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The architectures that were compiled for, by a compiler that gives their names."""
    found: list[str] = []

    def compile(text: str, arch: str) -> bytes:
        assert "copy_int32_float32" in text
        found.append(arch)
        return arch.encode()

    monkeypatch.setattr(nvrtc, "compile", compile)
    monkeypatch.setattr(nvrtc, "version", lambda: (12, 9))
    monkeypatch.setattr(nvrtc, "architectures", lambda: [75, 80, 90])
    monkeypatch.setenv("PERFLAB_CACHE", str(tmp_path))
    return found


def test_a_kernel_is_compiled_once_for_each_architecture_and_compiler(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [build.machine_code(KERNEL, arch) for arch in ("sm_80", "sm_90", "sm_80")] == [b"sm_80", b"sm_90", b"sm_80"]
    assert compiled == ["sm_80", "sm_90"]
    kept = sorted(path.name for path in build.folder().iterdir())
    assert len(kept) == 2 and all(name.startswith("copy_int32_float32-") for name in kept)
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    build.machine_code(KERNEL, "sm_80")
    assert compiled == ["sm_80", "sm_90", "sm_80"]


def test_a_folder_that_cannot_be_written_is_done_without(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PERFLAB_CACHE", str(tmp_path / "file"))
    assert [build.machine_code(KERNEL, "sm_80") for _ in range(2)] == [b"sm_80"] * 2
    assert compiled == ["sm_80", "sm_80"]


def test_a_device_that_is_newer_than_the_compiler_gets_ptx(compiled: list[str]) -> None:
    cases = {(8, 0): "sm_80", (9, 0): "sm_90", (8, 9): "compute_80", (12, 0): "compute_90"}
    assert {capability: build.architecture(*capability) for capability in cases} == cases


def test_a_kernel_that_nobody_has_is_none() -> None:
    assert build.function(0, "matmul_float32") == 0
