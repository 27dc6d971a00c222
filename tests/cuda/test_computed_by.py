"""What computes each op on CUDA, for the floats: as docs/cuda.md tells."""

import re
from pathlib import Path

from perflab.runtime.cuda.sources import kernel_of
from perflab.runtime.registry import OPS
from perflab.runtime.spec import float32, int64

PAGE = Path(__file__).parents[2] / "docs/cuda.md"
OURS = sorted(name for name in OPS if "::" not in name)  # others are custom ops, which tests make
BY_THE_CORE = {"matmul": "cuBLAS"} | dict.fromkeys(("cast", "assign", "copy", "concat"), "copies")


def computed_by(name: str) -> str:
    op = OPS[name]
    if op.view or (op.rule or "").startswith("transfer"):
        return "no kernel"
    if name in BY_THE_CORE:
        return BY_THE_CORE[name]
    return "ours" if kernel_of(name, float32 if "f" in op.kinds else int64) else "CuPy"


def test_the_page_names_all_that_runs_over_cupy() -> None:
    listed = re.search(r"<!-- over CuPy -->\n(.*?)\n<!-- end -->", PAGE.read_text(encoding="utf-8"), re.S)
    assert listed
    assert sorted(re.findall(r"`(\w+)`", listed[1])) == [name for name in OURS if computed_by(name) == "CuPy"]


def test_what_the_spec_of_devices_wants_has_kernels_of_ours() -> None:
    """Pointwise ops of real numbers, reductions, softmax, norms, and gathering and adding along an axis."""
    pointwise = {name for name in OURS if OPS[name].pointwise and "f" in OPS[name].kinds}
    without = {name for name in pointwise if computed_by(name) != "ours"}
    assert without == {"assign"}  # which is a copy
    for name in (
        "sum",
        "unbroadcast",
        "amax",
        "argmin",
        "softmax",
        "log_softmax",
        "softmax_nll",
        "layer_norm",
        "layer_norm_input_grad",
        "layer_norm_weight_grad",
        "batch_norm",
        "batch_norm_input_grad",
        "batch_norm_weight_grad",
        "channel_moments",
        "channel_affine",
        "take",
        "take_grad",
    ):
        assert computed_by(name) == "ours", name
