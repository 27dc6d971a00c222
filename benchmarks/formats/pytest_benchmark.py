"""pytest-benchmark: what it wrote from 2.x of 2015 to 5.3.

It keeps each round's time ("data") only when asked (--benchmark-save-data, or --benchmark-json, which always keeps
it). A file without gives its least as the one sample: nothing is lost to the gate, which takes one value from each
process, the best, anyway. Its times are seconds. Its `fullname` is the benchmark's name, parameter id included, since
that is unique; `params` tells the same in full. NaN and infinite parameters, which it writes as they are, are text.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..environment import environment_of
from ..errors import BenchmarkFormatError
from ..machine import from_pytest_benchmark
from ..result import Benchmark, Result, Run, moment, number, share

_SHA = re.compile(r"[0-9a-f]{7,64}")


def knows(document: Any) -> bool:
    has_benchmarks = isinstance(document, dict) and isinstance(document.get("benchmarks"), list)
    return has_benchmarks and ("machine_info" in document or "commit_info" in document)


def read(document: Any, created: datetime) -> Run:
    entries = document["benchmarks"]
    if not entries:
        raise BenchmarkFormatError(
            "there are no benchmarks in it; did all fail, or was --benchmark-disable on? Run them again"
        )
    samples: dict[str, list[float]] = {}
    params: dict[str, dict[str, str]] = {}
    least: dict[str, float | None] = {}
    for entry in entries:
        name, values = _entry(entry)
        # the same benchmark again (a rerun of a flaky test) is more of the same process
        samples.setdefault(name, []).extend(values)
        params.setdefault(name, _params(entry.get("params")))
        info = entry.get("extra_info")
        least[name] = share(info.get("perflab.time"), name) if isinstance(info, dict) else None
    machine, commit = document.get("machine_info"), document.get("commit_info")
    commit = commit if isinstance(commit, Mapping) else {}
    sha, own = commit.get("id"), document.get("perflab")
    return Run(
        project=_known(commit.get("project")),
        commit=sha if isinstance(sha, str) and _SHA.fullmatch(sha) else None,
        branch=_known(commit.get("branch")),
        dirty=commit.get("dirty") is True,
        machine=from_pytest_benchmark(machine if isinstance(machine, Mapping) else {}),
        created=moment(document.get("datetime")),
        environment=environment_of(own.get("environment", {}) if isinstance(own, Mapping) else {}),
        tool=f"pytest-benchmark {document.get('version', '')}".strip(),
        results=tuple(
            Result(Benchmark(name, params[name]), tuple(values), least[name]) for name, values in samples.items()
        ),
    )


def _entry(entry: object) -> tuple[str, Sequence[float]]:
    """Name and samples of one benchmark: its rounds where they were saved, else the least of them."""
    name = entry.get("fullname", entry.get("name")) if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(name, str):
        raise BenchmarkFormatError("an entry of benchmarks has no name; run them again with --benchmark-json")
    stats = entry.get("stats")
    stats = stats if isinstance(stats, dict) else {}
    rounds = stats.get("data") or [stats.get("min")]
    if not isinstance(rounds, list) or rounds == [None]:
        raise BenchmarkFormatError(f"{name}: neither stats.data nor a min; run it again with --benchmark-json")
    return name, [number(value, name) for value in rounds]


def _params(params: object) -> dict[str, str]:
    """Parameters as text; without those that pytest-benchmark could not write: their text may hold an address, new in
    every run."""
    if not isinstance(params, dict):
        return {}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in params.items()}
    return {key: text for key, text in texts.items() if not text.startswith("UNSERIALIZABLE[")}


def _known(text: object) -> str | None:
    """pytest-benchmark writes "(unknown)" and "(detached head)" where it has no branch."""
    return text if isinstance(text, str) and text and not text.startswith("(") else None
