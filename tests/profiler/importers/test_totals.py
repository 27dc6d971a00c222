"""Counts and totals of the sample traces, held against what the standard library alone makes of the files."""

import gzip
import json
import tarfile
import zipfile
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from perflab.profiler import Trace, TraceFormatError, importers

FOLDER = Path(__file__).parents[4] / "shared" / "cases" / "traces"
FILES = sorted(FOLDER.iterdir()) if FOLDER.is_dir() else []
REFUSED = {
    "not_a_chrome_trace_cloud.json": "'projectId'",
    "not_a_chrome_trace_rocprof.json.gz": "'rocprofiler-sdk-tool'",
}
CUT = ("partial_1.json", "partial_2.json")


def documents(path: Path) -> list[Any]:
    """The JSON in a file, or in each file of its archive; of one that is cut, what makes whole events."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            texts = [archive.read(name) for name in archive.namelist()]
    elif path.name.endswith(".tar.gz"):
        with tarfile.open(path) as tar:
            texts = [made.read() for entry in tar if (made := tar.extractfile(entry)) is not None]
    else:
        texts = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()]
    if path.name in CUT:
        texts = [texts[0][: texts[0].rindex(b"}") + 1] + b"]"]
    return [json.loads(text.decode("utf-8", "replace"), strict=False, parse_float=Decimal) for text in texts]


def ns(microseconds: Any) -> int:
    return int((Decimal(microseconds) * 1000).to_integral_value(ROUND_HALF_UP))


def of_file(path: Path) -> tuple[Counter[str], Counter[str], Counter[str], int]:
    """Calls and ns of complete events, begins, by name; and instants."""
    calls, total, begins, instants = Counter[str](), Counter[str](), Counter[str](), 0
    for document in documents(path):
        for event in document if isinstance(document, list) else document["traceEvents"]:
            phase, name = event.get("ph"), str(event.get("name", ""))
            if "ts" not in event:
                continue
            if phase == "X":
                calls[name] += 1
                total[name] += max(ns(event.get("dur", 0)), 0)
            elif phase in ("B", "b", "S"):
                begins[name] += 1
            instants += phase in ("i", "I", "R", "n", "T", "p")
    return calls, total, begins, instants


def of_trace(trace: Trace) -> tuple[Counter[str], Counter[str]]:
    calls, total = Counter[str](), Counter[str]()
    for name, duration in zip(trace.name_of(range(len(trace.slices))), trace.slices.duration.tolist(), strict=True):
        calls[name] += 1
        total[name] += duration
    return calls, total


@pytest.mark.skipif(not FILES, reason="there are no sample traces beside the checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_sample_is_read_whole_or_refused_by_name(path: Path) -> None:
    if path.name in REFUSED:
        with pytest.raises(
            TraceFormatError, match=f"JSON, but not a Chrome trace: it has no list.*{REFUSED[path.name]}"
        ):
            importers.read(path)
        return
    trace = importers.read(path, mask=False).trace
    trace.check()
    calls, total, begins, instants = of_file(path)
    read_calls, read_total = of_trace(trace)
    assert read_calls == calls + begins
    assert {name: ns for name, ns in read_total.items() if name not in begins} == {
        name: ns for name, ns in total.items() if name not in begins
    }
    assert len(trace.instants) == instants
    assert sum(calls.values()) + sum(begins.values()) > 0
