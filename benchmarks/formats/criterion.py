"""criterion (Rust): the folder target/criterion, a raw.csv of it, or what cargo-criterion --message-format=json prints.

Each sample is the time of some iterations; divided by their number, in seconds, it is a sample of ours. Where a folder
holds estimates alone, the median stands for them. Of each benchmark the newest measurement (`new`) is read, not the
saved baselines.
The formats: https://bheisler.github.io/criterion.rs/book/user_guide/csv_output.html and
.../cargo_criterion/external_tools.html
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from ..errors import BenchmarkFormatError
from ..machine import UNKNOWN
from ..result import Benchmark, Run
from .samples import Samples
from .text import decoded, parsed

_PER_SECOND = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
_CSV = "group,function,value,"
_TOOL = "criterion"


def knows(document: Any) -> bool:
    text: str = document
    return text.startswith(_CSV) or any(message.get("reason") == "benchmark-complete" for message in _messages(text))


def read(document: Any, created: datetime) -> Run:
    text: str = document
    samples = Samples()
    if text.startswith(_CSV):
        _read_csv(text, samples)
    else:
        for message in _messages(text):
            if message.get("reason") == "benchmark-complete":
                benchmark, scale = _benchmark(str(message.get("id", "")), message.get("unit", "ns"))
                _add(samples, benchmark, scale, message.get("measured_values"), message.get("iteration_count"))
    return _run(samples, created)


def read_folder(files: Mapping[str, bytes], created: datetime) -> list[Run] | None:
    """The run in the files of target/criterion, given by path; None where they are something else."""
    samples = Samples()
    is_one = False
    for path, content in files.items():
        place = PurePosixPath(path)
        if place.name != "estimates.json" or place.parent.name != "new":
            continue
        is_one = True
        told = _object(files.get(str(place.with_name("benchmark.json")), b"{}"))
        name = told.get("full_id") or told.get("title") or str(place.parent.parent)
        benchmark, scale = _benchmark(str(name), "ns", told.get("value_str"))
        sample = files.get(str(place.with_name("sample.json")))
        if sample is not None:
            counted = _object(sample)
            _add(samples, benchmark, scale, counted.get("times"), counted.get("iters"))
        else:
            median = _object(content).get("median")
            samples.add(benchmark, median.get("point_estimate") if isinstance(median, dict) else None, scale=scale)
    return [_run(samples, created)] if is_one else None


def _read_csv(text: str, samples: Samples) -> None:
    for row in csv.DictReader(text.splitlines()):
        name = "/".join(part for key in ("group", "function", "value") if (part := row.get(key)))
        measured = row.get("sample_measured_value") or row.get("sample_time_nanos")
        benchmark, scale = _benchmark(name, row.get("unit") or "ns", row.get("value"))
        try:
            values, counts = [float(measured or "")], [float(row.get("iteration_count") or "")]
        except ValueError:
            raise BenchmarkFormatError(f"{name}: a row of the CSV lacks its measured value or its count") from None
        _add(samples, benchmark, scale, values, counts)


def _benchmark(name: str, unit: object, value: object = None) -> tuple[Benchmark, float]:
    """The benchmark, and how many of the file's units make one of its; other measurements than time keep theirs."""
    params = {"value": value} if isinstance(value, str) and value else {}
    if isinstance(unit, str) and unit in _PER_SECOND:
        return Benchmark(name, params), _PER_SECOND[unit]
    return Benchmark(name, params, str(unit)), 1.0


def _add(samples: Samples, benchmark: Benchmark, scale: float, times: object, counts: object) -> None:
    if not isinstance(times, Sequence) or not isinstance(counts, Sequence) or len(times) != len(counts):
        raise BenchmarkFormatError(f"{benchmark.name}: times and numbers of iterations do not match; measure it again")
    for time, count in zip(times, counts, strict=True):
        if type(count) not in (int, float) or count <= 0:
            raise BenchmarkFormatError(f"{benchmark.name}: a sample is of {count!r} iterations; measure it again")
        samples.add(benchmark, time, scale=scale * count)


def _run(samples: Samples, created: datetime) -> Run:
    return Run(None, None, None, UNKNOWN, created, _TOOL, samples.results())


def _object(content: bytes) -> dict[str, Any]:
    document = parsed(decoded(content))
    if not isinstance(document, dict):
        raise BenchmarkFormatError("a file of criterion is not an object of JSON; measure again")
    return document


def _messages(text: str) -> Iterator[dict[str, Any]]:
    """The messages of cargo-criterion, one a line."""
    if not text.startswith('{"reason"'):
        return
    for line in text.splitlines():
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            yield message
