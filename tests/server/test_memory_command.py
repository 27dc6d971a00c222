"""`perflab memory`, from the command line to the exit code."""

import json
from pathlib import Path

import pytest

from .conftest import Perflab


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
