"""`perflab memory`, from the command line to the exit code."""

import json
from pathlib import Path

import pytest

from perflab.profiler import TraceBuilder, Track, chrome

from .conftest import Perflab

MIB = 1 << 20


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A segment with a block in use and a free one, as JSON."""
    blocks = [
        {"size": 1536, "requested_size": 1000, "state": "active_allocated", "op": "matmul<>"},
        {"size": 512, "state": "inactive"},
    ]
    path = tmp_path / "snap.json"
    path.write_text(json.dumps([{"address": 64, "total_size": 2048, "segment_type": "small", "blocks": blocks}]))
    return path


def test_snapshot_as_text(perflab: Perflab, snapshot: Path) -> None:
    code, out, error = perflab("memory", "snapshot", snapshot)
    assert (code, error) == (0, "")
    assert "1 segment, 2 KiB reserved, 1.5 KiB in use." in out
    assert [line.split() for line in out.splitlines() if "matmul" in line] == [["matmul<>", "1,000", "B", "1"]]


def test_snapshot_as_json(perflab: Perflab, snapshot: Path) -> None:
    code, out, _ = perflab("memory", "snapshot", snapshot, "--format", "json")
    (segment,) = json.loads(out)["segments"]
    assert code == 0
    assert [(block["bytes"], block["state"]) for block in segment["blocks"]] == [(1536, "allocated"), (512, "free")]


def test_snapshot_as_a_page_that_needs_nothing_else(perflab: Perflab, snapshot: Path) -> None:
    assert perflab("memory", "snapshot", snapshot, "--html", "map.html")[0] == 0
    page = Path("map.html").read_text(encoding="utf-8")
    assert "<svg" in page and "matmul&lt;&gt;" in page and "matmul<>" not in page
    assert not [
        word for word in ("http://", "https://", "src=", "href=") if word in page.replace("http://www.w3.org/", "")
    ]


def test_what_is_no_snapshot_is_one_sentence(perflab: Perflab, tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{}")
    code, out, error = perflab("memory", "snapshot", tmp_path / "no.json")
    assert (code, out) == (3, "")
    assert error.startswith("perflab: no.json: JSON, but no list of segments")
    assert perflab("memory", "snapshot", tmp_path / "absent.json")[0] == 3


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """50 MiB come and go, then 30 MiB come; 100 MiB were reserved."""
    builder = TraceBuilder()
    for time, address, size, total in ((0, 1, 50, 50), (10, 1, -50, 0), (20, 2, 30, 30)):
        args = {
            "Addr": address,
            "Bytes": size * MIB,
            "Total Allocated": total * MIB,
            "Total Reserved": 100 * MIB,
        }
        builder.instant("[memory]", time, track=Track(1, 1), category="cpu_instant_event", args=args)
    chrome.write(builder.build(), tmp_path / "trace.json.gz")
    return tmp_path / "trace.json.gz"


def test_replay_as_text(perflab: Perflab, trace: Path) -> None:
    code, out, error = perflab("memory", "replay", trace, "--conf", "expandable_segments:True")
    assert (code, error) == (0, "")
    assert "defaults reserves 50 MiB (50.0%) less than what was recorded." in out
    table = [line.split("  ") for line in out.splitlines() if "MiB  " in line]
    assert [[cell.strip() for cell in row if cell.strip()][:2] for row in table] == [
        ["as recorded", "100 MiB"],
        ["defaults", "50 MiB"],
        ["expandable_segments:True", "60 MiB"],
    ]


def test_replay_as_json(perflab: Perflab, trace: Path) -> None:
    code, out, _ = perflab("memory", "replay", trace, "--format", "json", "--capacity", "40MiB")
    found = json.loads(out)
    assert (code, found["device"]) == (0, "cpu")
    had, ours = found["replays"]
    assert (had["conf"], had["peak_reserved_bytes"], had["refused_bytes"]) == ("as recorded", 100 * MIB, 0)
    assert had["reserved_bytes"] == [100 * MIB] * 3 and had["allocated_bytes"] == [50 * MIB, 0, 30 * MIB]
    assert (ours["conf"], ours["refused_bytes"], ours["reserved_bytes"]) == ("defaults", 50 * MIB, [])


def test_replay_as_a_page(perflab: Perflab, trace: Path) -> None:
    assert perflab("memory", "replay", trace, "--html", "replay.html")[0] == 0
    page = Path("replay.html").read_text(encoding="utf-8")
    assert '<td class="name">as recorded</td>' in page
    assert 'id="figure-replay"' in page


def test_what_cannot_be_replayed_is_one_sentence(perflab: Perflab, trace: Path) -> None:
    code, out, error = perflab("memory", "replay", trace, "--conf", "odd:1")
    assert (code, out) == (3, "")
    assert "there is no option 'odd': use one of max_split_size_mb" in error
    code, _, error = perflab("memory", "replay", trace, "--capacity", "much")
    assert code == 3
    assert "'much' is no number of bytes: write it as 81920MiB or 80GiB" in error
