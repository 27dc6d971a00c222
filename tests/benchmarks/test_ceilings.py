"""`perflab machine`."""

from pathlib import Path

import pytest

from perflab.benchmarks.ceilings import measure
from perflab.benchmarks.machine import this_machine
from perflab.profiler import ceilings, cli


def test_ceilings_are_those_of_this_machine() -> None:
    found = measure(side=64, size=3 * 2**16, seconds=0.01)
    assert found.fingerprint == this_machine().fingerprint
    assert 1e7 < found.flops_per_s < 1e15
    assert 1e7 < found.bytes_per_s < 1e14


def test_the_command_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "perflab.benchmarks.ceilings.measure", lambda: ceilings.Ceilings("f" * 16, "ada, 2 cores", 2.5e9, 1e10)
    )
    path = tmp_path / "new" / "ceilings.json"
    assert cli.main(["machine", "--output", str(path)]) == 0
    assert ceilings.load(path).flops_per_s == 2.5e9
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ada, 2 cores"
    assert [" ".join(line.split()) for line in lines[1:3]] == [
        "float32 matrix product 2.5 GFLOP/s",
        "memory, triad 10.0 GB/s",
    ]
