"""Files of a handler, and who a process is among those of its run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from perflab import runtime as rt
from perflab.profiler import chrome, profile, schedule, tensorboard_trace_handler
from perflab.profiler.identity import identity, run_id


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PERFLAB_RUN_ID", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


def test_each_window_is_a_file_of_its_own(tmp_path: Path) -> None:
    x = rt.ones((4,))
    ready = tensorboard_trace_handler(tmp_path / "new" / "folder", use_gzip=True)
    with profile(schedule=schedule(wait=0, warmup=0, active=1, repeat=3), on_trace_ready=ready) as prof:
        for _ in range(5):
            x + x
            prof.step()
    files = sorted((tmp_path / "new" / "folder").iterdir())
    assert len(files) == 3
    for file in files:
        assert re.fullmatch(rf"{run_id()}_{os.getpid()}\.\d{{19}}\.pt\.trace\.json\.gz", file.name)
        assert chrome.read(file).name_of(chrome.read(file).select(category="cpu_op")) == ["add"]


def test_names_hold_the_run_and_the_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERFLAB_RUN_ID", "night/7")
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    with profile(on_trace_ready=tensorboard_trace_handler(tmp_path)) as prof:
        pass
    with profile(on_trace_ready=tensorboard_trace_handler(tmp_path, "me")):
        pass
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names[0].startswith("me.") and names[1].startswith(f"night-7_rank3_{os.getpid()}.")
    assert prof.trace.metadata["runId"] == "night/7"
    assert prof.trace.metadata["distributedInfo"] == {"rank": 3, "world_size": 8}


def test_a_run_has_one_id_in_all_its_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.fullmatch("[0-9a-f]{12}", run_id()) and run_id() == run_id()
    assert identity() == {"runId": run_id()}
    other = "from perflab.profiler.identity import run_id; print(run_id())"
    alone = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True, check=True).stdout.strip()
    assert re.fullmatch("[0-9a-f]{12}", alone) and alone != run_id()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    assert run_id() == "4711"
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job")
    assert run_id() == "job"
    monkeypatch.setenv("RANK", "first")
    assert "distributedInfo" not in identity()
