"""The history in a trace of torch.profiler on the CPU is what torch allocated."""

import base64
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from perflab.profiler.memory_history import UNKNOWN, Kind, read
from perflab.profiler.replay import DEFAULTS, replays

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch


def test_of_the_cpu(tmp_path: Path) -> None:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        kept = torch.zeros(3, 1 << 20)  # 12 MiB
        for _ in range(4):
            work = kept * 2
            total = (work + 1).sum()
            del work
        del kept, total
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    found = read(tmp_path / "trace.json")
    asked = found.bytes[found.kind == Kind.ALLOC][found.earlier :].tolist()
    large = [size for size in asked if size >= 1 << 20]
    assert large == [12 << 20] * 9
    assert (found.device, found.device_allocations) == ("cpu", UNKNOWN)
    ours, grown = replays(found, ["expandable_segments:True"])
    assert ours.conf == DEFAULTS
    assert ours.peak_reserved == 38 << 20, "three segments of 12 MiB, and one of 2 MiB for the sums"
    assert grown.peak_reserved == 42 << 20, "two steps of 20 MiB, and one of 2 MiB"
    assert ours.peak_allocated == grown.peak_allocated < 37 << 20
    assert np.all(ours.reserved >= ours.allocated)


def test_torchs_own_viewer_reads_our_snapshot() -> None:
    from torch.cuda import _memory_viz

    from perflab import runtime as rt

    held = rt.ones(3 << 20, device="sim:6") * 2
    snapshot = rt.memory._snapshot("sim:6")
    assert "segments: 2\ntotal_reserved: 24.0MiB\ntotal_allocated: 12.0MiB" in _memory_viz.segsum(snapshot)
    page = _memory_viz.segment_plot(snapshot)  # with the pickle in it
    found = re.search(r'"base64": "([^"]+)"', page)
    assert found is not None and pickle.loads(base64.b64decode(found[1])) == snapshot
    del held
