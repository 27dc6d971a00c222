"""Segments and blocks at one moment, from every kind of file, and what is said of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from perflab.profiler import TraceFormatError
from perflab.profiler.memory_snapshot import Block, Segment, read, segments
from perflab.profiler.report.snapshot import snapshot_section

from .torch_rules import MIB, TorchRules


@pytest.fixture
def rules() -> TorchRules:
    """Three segments: small and in part used, large and in part used, large and free."""
    rules = TorchRules()
    rules.malloc(1000)
    goes = rules.malloc(7 * MIB)
    rules.malloc(2 * MIB + 100, stream=5)
    rules.free(goes)
    return rules


def test_of_torch(rules: TorchRules, tmp_path: Path) -> None:
    small, whole, large = read(rules.dump(tmp_path / "snap.pickle"))
    assert (small.pool, small.bytes, small.used, small.stream) == ("small", 2 * MIB, 1024, 0)
    assert [(block.bytes, block.asked, block.state) for block in small.blocks] == [
        (1024, 1000, "allocated"),
        (2 * MIB - 1024, 0, "free"),
    ]
    assert [(block.bytes, block.asked, block.state) for block in whole.blocks] == [(20 * MIB, 0, "free")]
    assert (large.pool, large.used, large.stream) == ("large", 2 * MIB + 512, 5)


def test_of_json_with_the_op_of_each_block(rules: TorchRules, tmp_path: Path) -> None:
    found = rules.snapshot()["segments"]
    found[0]["blocks"][0]["op"] = "matmul"
    path = tmp_path / "snap.json"
    for document in (found, {"segments": found}):
        path.write_text(json.dumps(document))
        assert read(path)[0].blocks[0] == Block(found[0]["address"], 1024, 1000, "allocated", "matmul")


def test_blocks_without_addresses_stand_one_behind_the_other() -> None:
    blocks = [{"size": 8, "state": "active_pending_free"}, {"size": 4, "state": "inactive"}]
    assert segments([{"address": 64, "total_size": 12, "blocks": blocks}]) == [
        Segment(0, 64, 12, 0, "large", False, [Block(64, 8, 8, "awaiting", ""), Block(72, 4, 0, "free", "")])
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"nothing", "neither a pickle of torch's nor JSON"),
        (b"{}", "JSON, but no list of segments; write it with json.dump"),
        (b"[1]", "a segment is not as memory_snapshot"),
        (b'[{"address": 1, "total_size": 4, "blocks": [{"size": 4, "state": "odd"}]}]', "KeyError: 'odd'"),
    ],
)
def test_strangers_are_refused_in_words(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "snap.json"
    path.write_bytes(data)
    with pytest.raises(TraceFormatError, match=rf"^snap\.json: .*{words}"):
        read(path)


def test_what_is_said(rules: TorchRules) -> None:
    found: list[dict[str, Any]] = rules.snapshot()["segments"]
    found[2]["blocks"][0]["op"] = "matmul"
    section = snapshot_section(segments(found))
    assert section.sentences == (
        "3 segments, 42 MiB reserved, 2 MiB in use.",
        "The largest free block has 20 MiB.",
    )
    shares, owners = section.tables
    assert shares.rows == (
        ("in use", "2 MiB", "4.8%"),
        ("lost to rounding", "436 B", "0.0%"),
        ("free in segments that are partly used", "20 MiB", "47.6%"),
        ("free in whole segments: empty_cache gives them back", "20 MiB", "47.6%"),
    )
    assert owners.rows == (("matmul", "2 MiB", "1"), ("(no stack)", "1,000 B", "1"))
    assert snapshot_section([]).sentences[0] == "0 segments, 0 B reserved, 0 B in use."
