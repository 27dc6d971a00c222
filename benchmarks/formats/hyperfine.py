"""hyperfine: what --export-json writes. Each run of a command is a sample, in seconds.

The file names neither machine nor time of measuring.
"""

from datetime import datetime
from typing import Any

from ..errors import BenchmarkFormatError
from ..machine import UNKNOWN
from ..result import Benchmark, Run
from .samples import Samples


def knows(document: Any) -> bool:
    results = document.get("results") if isinstance(document, dict) else None
    return isinstance(results, list) and any(isinstance(item, dict) and "command" in item for item in results)


def read(document: Any, created: datetime) -> Run:
    samples = Samples()
    for entry in document["results"]:
        command = entry.get("command") if isinstance(entry, dict) else None
        if not isinstance(command, str):
            raise BenchmarkFormatError("an entry of results has no command; write the file with --export-json")
        parameters = entry.get("parameters")
        params = parameters if isinstance(parameters, dict) else {}
        times = entry.get("times") or [entry.get("median", entry.get("mean"))]
        if not isinstance(times, list):
            raise BenchmarkFormatError(f"{command}: its times are no list; write the file with --export-json")
        samples.add(Benchmark(command, {key: str(value) for key, value in params.items()}), *times)
    return Run(None, None, None, UNKNOWN, created, "hyperfine", samples.results())
