"""asv (Airspeed Velocity): one file of results, or its whole folder `results` with a run for each file.

A file holds the results of one commit in one environment. Of the folder, `benchmarks.json` tells units and the names of
parameters; without it names tell the unit, as asv's rule for them is (time_, mem_, peakmem_, track_), and parameters
are called param1, param2. Benchmarks that failed (null) or were skipped (NaN) are left out. The versions of what an
environment has installed are parameters of its benchmarks: asv keeps a series for each.
The format: https://asv.readthedocs.io/en/stable/dev.html#full-file-formats
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product, zip_longest
from pathlib import PurePosixPath
from typing import Any

from ..errors import BenchmarkFormatError
from ..machine import Machine
from ..result import Benchmark, Run
from .samples import Samples
from .text import decoded, parsed

_INDEX = "benchmarks.json"
_UNITS = {"seconds": "s", "bytes": "B"}  # asv's words, and ours
_BY_NAME = {"time": "s", "timeraw": "s", "mem": "B", "peakmem": "B"}
_OLD_COLUMNS = ("result", "params", "version", "started_at")


def knows(document: Any) -> bool:
    return isinstance(document, dict) and "commit_hash" in document and isinstance(document.get("results"), dict)


def read(document: Any, created: datetime) -> Run:
    return _read(document, {}, created)


def read_folder(files: Mapping[str, bytes], created: datetime) -> list[Run] | None:
    """A run for each file of results among these, given by path; None where they are something else."""
    index = next((path for path in files if PurePosixPath(path).name == _INDEX), None)
    known = parsed(decoded(files[index])) if index is not None else {}
    runs = []
    for content in files.values() if isinstance(known, dict) else ():
        document = parsed(decoded(content)) if b'"commit_hash"' in content else {}
        if knows(document):
            runs.append(_read(document, known, created))
    return runs or None


def _read(document: Mapping[str, Any], index: Mapping[str, Any], created: datetime) -> Run:
    facts, commit = document.get("params"), document["commit_hash"]
    facts = facts if isinstance(facts, dict) else {}
    environment = {
        key: str(value)
        for part in ("requirements", "env_vars")
        if isinstance(document.get(part), dict)
        for key, value in document[part].items()
        if value
    }
    columns = document.get("result_columns")
    samples, started = Samples(), []
    for name, value in document["results"].items():
        row = _row(value, columns if isinstance(columns, list) else _OLD_COLUMNS)
        told = index.get(name)
        told = told if isinstance(told, dict) else {}
        for params, values in _values(name, row, told.get("param_names")):
            samples.add(Benchmark(name, environment | params, _unit(name, told.get("unit"))), *values)
        started.append(row.get("started_at"))
    return Run(
        project=None,
        commit=commit if isinstance(commit, str) else None,
        branch=None,
        machine=_machine(facts, document.get("python")),
        created=_when([time for time in started if time] or [document.get("date")], created),
        tool="asv",
        results=samples.results(),
    )


def _row(value: Any, columns: Sequence[Any]) -> dict[str, Any]:
    """One benchmark's result as a dictionary, whichever version of asv wrote it."""
    if isinstance(value, list):  # since version 2 the cells of the columns; those at the end may be missing
        return {str(column): cell for column, cell in zip_longest(columns, value[: len(columns)])}
    return value if isinstance(value, dict) else {"result": [value]}


def _values(name: str, row: Mapping[str, Any], names: object) -> Iterator[tuple[dict[str, str], list[Any]]]:
    """Parameters and samples of each combination that has a result."""
    axes, values, lists = row.get("params") or [], row.get("result"), row.get("samples")
    if values is None:
        return
    values = values if isinstance(values, list) else [values]
    lists = lists if isinstance(lists, list) else []
    if not isinstance(axes, list) or not all(isinstance(axis, list) for axis in axes):
        raise BenchmarkFormatError(f"{name}: its params are no lists; run asv again")
    combinations = list(product(*axes))
    if len(combinations) != len(values):
        raise BenchmarkFormatError(
            f"{name}: it has {len(values)} results for {len(combinations)} parameters; run asv again"
        )
    titles = names if isinstance(names, list) else []
    for combination, value, measured in zip_longest(combinations, values, lists[: len(values)]):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        params = {
            str(title or f"param{place}"): str(text)
            for place, (text, title) in enumerate(zip_longest(combination, titles[: len(combination)]), 1)
        }
        yield params, measured if isinstance(measured, list) and measured else [value]


def _unit(name: str, told: object) -> str:
    if isinstance(told, str):
        return _UNITS.get(told, told)
    return _BY_NAME.get(name.rpartition(".")[2].partition("_")[0].lower(), "unit")


def _machine(facts: Mapping[str, Any], python: object) -> Machine:
    def text(key: str) -> str:
        value = facts.get(key)
        return value if isinstance(value, str) else ""

    cores = text("num_cpu")
    version = python if isinstance(python, str) else text("python")
    return Machine.of(
        name=text("machine"),
        cpu=text("cpu"),
        cores=int(cores) if cores.isdecimal() else 0,
        os=f"{text('os')} {text('arch')}".strip(),
        python=f"CPython {version}" if version[:1].isdigit() else version,
    )


def _when(times: Sequence[object], created: datetime) -> datetime:
    """The last of these times in ms since 1970."""
    numbers = [time for time in times if isinstance(time, int) and 0 < time < 1 << 48]
    try:
        return datetime.fromtimestamp(max(numbers) / 1000, UTC) if numbers else created
    except (OverflowError, ValueError, OSError):
        return created
