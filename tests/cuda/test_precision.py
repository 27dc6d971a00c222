"""TF32 in convolutions, which run over CuPy: off until it is asked for, and told to CuPy before each."""

from pathlib import Path

import pytest

import perflab.runtime as rt

from .fake import WITH_CUPY, run

CONVOLUTIONS = """
a, weight = rt.ones(1, 1, 2, 2).to("cuda"), rt.ones(1, 1, 2, 2).to("cuda")
told = []
for choose in (
    lambda: None,
    lambda: rt.set_float32_matmul_precision("high"),
    lambda: setattr(rt.backends.cuda.matmul, "allow_tf32", False),
    lambda: rt.set_float32_matmul_precision("medium"),
):
    choose()
    cupy.compute_types.clear()
    value = rt.nn.functional.conv2d(a, weight)[0, 0, 0, 0].item()
    told.append([value, cupy.compute_types[-1], rt.get_float32_matmul_precision()])
"""


def test_cupy_is_told_before_each_convolution(fake_driver: Path) -> None:
    default, tf32 = ["float32", 1], ["float32", 7]
    assert run(fake_driver, WITH_CUPY + CONVOLUTIONS) == [
        [4.0, default, "highest"],
        [4.0, tf32, "high"],
        [4.0, default, "highest"],
        [4.0, tf32, "medium"],
    ]


def test_the_names_are_pytorchs() -> None:
    assert rt.get_float32_matmul_precision() == "highest" and not rt.backends.cuda.matmul.allow_tf32
    with pytest.raises(rt.ArgumentError, match="there are 'highest', 'high', 'medium', and 'low' came"):
        rt.set_float32_matmul_precision("low")
