"""The timeline's routes: a tile is compressed, known again by its ETag, and refusals say what to do."""

import gzip
from typing import Any

import httpx
import pytest

from perflab.dashboards.tiles import aligned

from .conftest import Files

SAID = {"project": "demo", "commit": "4ead" * 10}


@pytest.fixture
def address(client: httpx.Client, files: Files) -> str:
    """The timeline of a trace of three steps with a matmul of 100 us and a relu of 10 us each."""
    trace = files.trace("trace.json", 100)
    taken = client.post("/api/v1/uploads", files={"file": ("trace.json", trace.read_bytes())}, data=SAID)
    return f"/api/v1/traces/{taken.json()['trace']}/timeline"


def test_tile_is_compressed_and_known_again(client: httpx.Client, address: str) -> None:
    query = {"start": 0, "end": 400_000, "width": 100}
    answer = client.get(address, params=query)
    assert answer.headers["content-encoding"] == "gzip"
    tile: dict[str, Any] = answer.json()
    assert tile["names"] == ["ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2", "matmul", "relu"]
    assert tile["rows"] == [0, 1] and tile["lengths"] == [3, 6]
    # In ns since the trace's first moment, each less the one before in its row.
    assert tile["begin"] == [0, 130_000, 130_000, 1_000, 101_000, 29_000, 101_000, 29_000, 101_000]
    assert tile["length"] == [120_000] * 3 + [100_000, 10_000] * 3
    etag = answer.headers["etag"]
    again = client.get(address, params=query, headers={"if-none-match": etag})
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(address, params=query | {"width": 50}, headers={"if-none-match": etag})
    assert other.status_code == 200 and other.headers["etag"] != etag


def test_tile_of_any_stretch_has_bins_of_a_power_of_two(client: httpx.Client, address: str) -> None:
    def ask(**query: int) -> tuple[dict[str, Any], str]:
        answer = client.get(address, params=query)
        return answer.json(), answer.headers["etag"]

    tile, etag = ask(start=1_000, end=101_001, width=100)  # bins of 1000.01 ns
    assert (tile["start"], tile["end"], tile["bin"]) == (0, 101_376, 1_024)
    assert tile["length"] == [120_000, 100_000]
    assert ask(start=0, end=101_376, width=99) == (tile, etag)
    exact, _ = ask(start=3, end=90, width=8192)
    assert (exact["start"], exact["end"], exact["bin"]) == (3, 90, 1)


@pytest.mark.parametrize("start", [-70_001, -1, 0, 1, 4095, 4096, 99_999])
@pytest.mark.parametrize("span", [1, 2, 1499, 1500, 1501, 3000, 3001, 1 << 40])
def test_bins_are_aligned_and_hold_the_stretch(start: int, span: int) -> None:
    first, last, width = aligned(start, start + span, 1_500)
    bin_ns, left = divmod(last - first, width)
    assert (left, bin_ns.bit_count(), first % bin_ns, last % bin_ns) == (0, 1, 0, 0)
    assert first <= start < first + bin_ns and last - bin_ns < start + span <= last
    assert bin_ns / 2 < max(span / 1_500, 1) <= bin_ns
    assert aligned(first, last, width) == (first, last, width)


def test_tile_is_plain_for_who_cannot_unpack(client: httpx.Client, address: str) -> None:
    query = {"start": 0, "end": 400_000, "width": 100}
    plain = client.get(address, params=query, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.json() == client.get(address, params=query).json()
    with pytest.raises(gzip.BadGzipFile):
        gzip.decompress(plain.content)


def test_slice_search_and_totals(client: httpx.Client, address: str) -> None:
    found = client.get(f"{address}/search", params={"name": "RELU", "after": 200_000}).json()
    assert (found["count"], found["place"]) == (3, 2)
    relu = client.get(f"{address}/slices/{found['slice']['slice']}").json()
    assert (
        relu["slice"]
        == found["slice"]
        == {
            "slice": found["slice"]["slice"],
            "row": 1,
            "start": 232_000,
            "duration": 10_000,
            "name": "relu",
            "colour": found["slice"]["colour"],
        }
    )
    assert [outer["name"] for outer in relu["around"]] == ["ProfilerStep#1"]
    assert (relu["before"]["name"], relu["after"]["name"], relu["word"]) == ("matmul", "matmul", "ops")
    totals = client.get(f"{address}/totals", params={"start": 0, "end": 120_000}).json()
    assert [(row["name"], row["count"], row["total"], row["self_time"]) for row in totals["rows"]] == [
        ("matmul", 1, 100_000, 100_000),
        ("ProfilerStep#0", 1, 120_000, 10_000),
        ("relu", 1, 10_000, 10_000),
    ]
    assert client.get(f"{address}/totals", params={"start": 0, "end": 9, "track": 5}).json()["rows"] == []


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("?start=5&end=5&width=10", 422, "the stretch ends at 5, before it begins at 5; give a later end"),
        ("?start=0&end=9&width=0", 422, "query width: Input should be greater than or equal to 1"),
        ("?start=0&end=9&width=99999", 422, "query width: Input should be less than or equal to 8192"),
        ("/slices/99", 404, "the trace has no slice 99: they are numbered from 0 to 8"),
        ("/search?name=", 422, "query name: String should have at least 1 character"),
        ("/totals?start=9&end=5", 422, "the stretch ends at 5, before it begins at 9; give a later end"),
    ],
)
def test_refusals(client: httpx.Client, address: str, path: str, status: int, sentence: str) -> None:
    answer = client.get(address + path)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(sentence)


def test_timeline_of_an_unknown_trace_is_refused(client: httpx.Client) -> None:
    for path in ("?start=0&end=9&width=9", "/slices/0", "/search?name=a", "/totals?start=0&end=9"):
        answer = client.get(f"/api/v1/traces/7/timeline{path}")
        assert answer.status_code == 404
        assert answer.json() == {"error": "the lab has no trace 7; list the runs and their traces"}
