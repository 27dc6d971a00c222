"""google-benchmark: what --benchmark_out=FILE --benchmark_out_format=json writes.

A result is the wall time of one iteration ("real_time"), in seconds. With --benchmark_repetitions each repetition is a
sample; of a file that holds aggregates alone the median stands for them. Benchmarks that were skipped or failed are
left out. The file does not name the CPU's model: its caches stand for it.
The format: https://github.com/google/benchmark/blob/main/docs/user_guide.md#output-formats
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..errors import BenchmarkFormatError
from ..machine import Machine
from ..result import Benchmark, Run
from .samples import Samples

_PER_SECOND = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
_ARGUMENT = re.compile(r"/(\w+):([^/]+)")  # a named argument, and what google-benchmark itself names so: threads:4


def knows(document: Any) -> bool:
    return isinstance(document, dict) and "context" in document and isinstance(document.get("benchmarks"), list)


def read(document: Any, created: datetime) -> Run:
    context = document["context"] if isinstance(document["context"], dict) else {}
    entries = [entry for entry in document["benchmarks"] if isinstance(entry, dict) and not _failed(entry)]
    measured = [entry for entry in entries if entry.get("run_type", "iteration") == "iteration"]
    repeated = {_name(entry) for entry in measured}
    medians = [entry for entry in entries if entry.get("aggregate_name") == "median" and _name(entry) not in repeated]
    samples = Samples()
    for entry in measured + medians:
        name = _name(entry)
        unit = entry.get("time_unit", "ns")
        if unit not in _PER_SECOND:
            raise BenchmarkFormatError(f"{name}: its time_unit is {unit!r}; ns, us, ms and s are known")
        samples.add(Benchmark(name, dict(_ARGUMENT.findall(name))), entry.get("real_time"), scale=_PER_SECOND[unit])
    version = context.get("library_version")
    return Run(
        project=None,
        commit=None,
        branch=None,
        machine=_machine(context),
        created=_when(context.get("date"), created),
        tool=f"google-benchmark {version}" if isinstance(version, str) else "google-benchmark",
        results=samples.results(),
    )


def _failed(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("error_occurred") or entry.get("skipped"))


def _name(entry: Mapping[str, Any]) -> str:
    name = entry.get("run_name") or entry.get("name")
    if not isinstance(name, str):
        raise BenchmarkFormatError("an entry of benchmarks has no name; write the file with --benchmark_out")
    return name


def _machine(context: Mapping[str, Any]) -> Machine:
    host, cores, caches = context.get("host_name"), context.get("num_cpus"), context.get("caches")
    sizes = [
        f"L{cache.get('level')} {cache['size'] >> 10} KiB"
        for cache in (caches if isinstance(caches, list) else ())
        if isinstance(cache, dict) and isinstance(cache.get("size"), int)
    ]
    return Machine.of(
        name=host if isinstance(host, str) else "",
        cpu=f"caches {', '.join(sizes)}" if sizes else "",
        cores=cores if type(cores) is int else 0,
        os="",
        python="",
    )


def _when(date: object, created: datetime) -> datetime:
    """A date as any version writes it: 2016-08-02 17:44:46, or with T and a zone."""
    try:
        time = datetime.fromisoformat(date if isinstance(date, str) else "")
    except ValueError:
        return created
    return time if time.tzinfo else time.replace(tzinfo=UTC)
