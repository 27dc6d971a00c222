"""Ops under the roof, and the file of ceilings."""

from dataclasses import replace
from pathlib import Path

import pytest

from perflab.profiler import TraceBuilder, Track, ceilings
from perflab.profiler.analysis.roofline import OpRoof, roofline
from perflab.profiler.ceilings import Ceilings
from perflab.profiler.errors import CeilingsError

MAIN = Track(1, 1, "main")
ROOF = Ceilings("0" * 16, "a CPU", flops_per_s=100e9, bytes_per_s=10e9)


def test_ops_under_the_roof() -> None:
    shapes = [[64, 64], [64, 64]]
    types = ["float", "float"]
    table = [["matmul", shapes, types, 524_288, 49_152], ["add", shapes, types, 4096, 49_152]]
    builder = TraceBuilder({"costs": table})
    args = {"Input Dims": shapes, "Input type": types}
    builder.slice("matmul", 0, 10_000, track=MAIN, category="cpu_op", args=args)
    builder.slice("matmul", 20_000, 20_000, track=MAIN, category="cpu_op", args=args)
    builder.slice("add", 50_000, 10_000, track=MAIN, category="cpu_op", args=args)
    builder.slice("view", 70_000, 10_000, track=MAIN, category="cpu_op")
    matmul, add = roofline(builder.build(), ROOF, "op")
    # 2 x 524,288 FLOPs at 100 per ns take 10,486 ns; their bytes at 10 per ns 9,830 ns
    assert matmul == OpRoof("matmul", 2, 30_000, 1_048_576, 98_304, pytest.approx(10_485.76), "compute")
    assert matmul.intensity == pytest.approx(32 / 3)
    assert matmul.of_ceiling == pytest.approx(0.349525)
    assert matmul.saving_ns == pytest.approx(19_514.24)
    assert (add.bound, add.least_ns, add.of_ceiling) == ("memory", pytest.approx(4915.2), pytest.approx(0.49152))


def test_a_trace_without_costs_has_no_roofline() -> None:
    assert roofline(TraceBuilder().build(), ROOF) == []


def test_ceilings_are_kept_in_a_file(tmp_path: Path) -> None:
    path = ceilings.default_path({"XDG_CACHE_HOME": str(tmp_path)})
    ceilings.save(ROOF, path)
    assert ceilings.load(path) == ROOF
    assert [file.name for file in path.parent.iterdir()] == ["ceilings.json"]
    assert ceilings.default_path({}) == Path.home() / ".cache" / "perflab" / "ceilings.json"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"flops_per_s": 1}', "\udcff"])
def test_what_is_no_file_of_ceilings_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ceilings.json"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(CeilingsError, match="not a file of `perflab machine`"):
        ceilings.load(path)
    ceilings.save(replace(ROOF, bytes_per_s=0.0), path)
    with pytest.raises(CeilingsError, match="a ceiling is not above 0"):
        ceilings.load(path)
