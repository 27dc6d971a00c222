"""Reads benchmark files: what pytest-benchmark wrote (2.x of 2015 to 5.3), or a Run of ours.

pytest-benchmark keeps each round's time ("data") only when asked (--benchmark-save-data, or --benchmark-json, which
always keeps it). A file without gives its least as the one sample: nothing is lost to the gate, which takes one
value from each process, the best, anyway. Its times are seconds. Its `fullname` is the benchmark's name, parameter
id included, since that is unique; `params` tells the same in full.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import BenchmarkFormatError
from .machine import from_pytest_benchmark
from .result import FORMAT, Benchmark, Result, Run, moment, number, share

SHA = re.compile(r"[0-9a-f]{7,64}")
SUPPORTED = "give what `pytest --benchmark-json FILE` wrote, or a run of perflab"


def read(path: str | Path) -> Run:
    """The run in this file.

    Raises:
        BenchmarkFormatError: the file cannot be read, or is not a benchmark file we know; one sentence that begins
        with its name.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise BenchmarkFormatError(f"{path}: {error.strerror or error}; {SUPPORTED}") from None
    return parse(content, str(path))


def parse(content: bytes, name: str) -> Run:
    """The run in `content`; `name` is what messages call it.

    Raises:
        BenchmarkFormatError: as `read`.
    """
    try:
        data = _json(content)
        if isinstance(data, dict) and data.get("format") == FORMAT:
            return Run.from_data(data)
        _refuse_others(data)
        return _pytest_benchmark(data)
    except BenchmarkFormatError as error:
        raise BenchmarkFormatError(f"{name}: {error}") from None


def _json(content: bytes) -> Any:
    if content.startswith((b"\x1f\x8b", b"PK\x03\x04")):
        raise BenchmarkFormatError("the file is compressed; unpack it first")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BenchmarkFormatError(f"byte {error.start} is not UTF-8, so this is not JSON; {SUPPORTED}") from None
    text = text.strip()
    if not text:
        raise BenchmarkFormatError("the file is empty; did the benchmark run fail? Run it again and look at its end")
    if text.startswith("<"):
        raise BenchmarkFormatError(
            "this is HTML, perhaps an error or login page; download the file itself and try again"
        )
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        if _is_cut(text, error):
            raise BenchmarkFormatError(
                f"the JSON is cut short after {len(text)} characters; copy the whole file"
            ) from None
        raise BenchmarkFormatError(
            f"not JSON ({error.msg} at line {error.lineno}, column {error.colno}); {SUPPORTED}"
        ) from None
    except (ValueError, RecursionError):
        raise BenchmarkFormatError(f"the JSON holds a number too long or is nested too deep; {SUPPORTED}") from None
    found = _not_finite(data, "")
    if found:
        raise BenchmarkFormatError(
            f"{found}, which is not JSON; leave such values out of samples, parameters and extra_info and run again"
        )
    return data


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text could go on: the fault is at its end, in the middle of a string, a word or a number."""
    rest = text[error.pos :]
    word = any(literal.startswith(rest) for literal in ("true", "false", "null", "NaN", "-Infinity"))
    number = re.fullmatch(r"-|\.|\.?\d*[eE][+-]?", rest)
    string = error.msg.startswith("Unterminated string") or ("escape" in error.msg and len(rest) < 6)
    return text[0] in "{[" and (word or number is not None or string)


def _not_finite(value: object, where: str) -> str | None:
    """Where the first NaN or infinite number is and what, in words; None without one."""
    if isinstance(value, float):
        if math.isfinite(value):
            return None
        return f"{where or 'the file'} is {'NaN' if math.isnan(value) else 'infinite'}"
    if isinstance(value, dict):
        label = value.get("fullname")
        here = label if isinstance(label, str) else where
        pairs = [
            (f"{here} {key}" if here == label else f"{where}.{key}".lstrip("."), item) for key, item in value.items()
        ]
    elif isinstance(value, list):
        pairs = [(f"{where}[{index}]", item) for index, item in enumerate(value)]
    else:
        return None
    return next((found for at, item in pairs if (found := _not_finite(item, at))), None)


def _refuse_others(data: object) -> None:
    """Names the tool of a file that is another tool's."""
    if isinstance(data, dict):
        results, benchmarks = data.get("results"), data.get("benchmarks")
        if "traceEvents" in data:
            raise BenchmarkFormatError(
                "this is a Chrome trace, not a benchmark file; give it where a trace is asked for"
            )
        if "context" in data and isinstance(benchmarks, list):
            _refuse("google-benchmark")
        if isinstance(results, list) and any(isinstance(item, dict) and "command" in item for item in results):
            _refuse("hyperfine")
        if "commit_hash" in data and "results" in data:
            _refuse("asv (Airspeed Velocity)")
        if any(isinstance(item, dict) and "code" in item and "param_names" in item for item in data.values()):
            _refuse("asv (Airspeed Velocity), its index of benchmarks")
        if data.get("format") == "perflab.gate":
            raise BenchmarkFormatError(f"this is a gate's report, not what it judged; {SUPPORTED}")
        if isinstance(benchmarks, list) and ("machine_info" in data or "commit_info" in data):
            return
    raise BenchmarkFormatError(f"this JSON is of no benchmark tool we read; {SUPPORTED}")


def _refuse(tool: str) -> None:
    raise BenchmarkFormatError(f"this was written by {tool}, which we do not read; {SUPPORTED}")


def _pytest_benchmark(data: Mapping[str, Any]) -> Run:
    entries = data["benchmarks"]
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
    machine, commit = data.get("machine_info"), data.get("commit_info")
    commit = commit if isinstance(commit, Mapping) else {}
    sha = commit.get("id")
    return Run(
        project=_known(commit.get("project")),
        commit=sha if isinstance(sha, str) and SHA.fullmatch(sha) else None,
        branch=_known(commit.get("branch")),
        dirty=commit.get("dirty") is True,
        machine=from_pytest_benchmark(machine if isinstance(machine, Mapping) else {}),
        created=moment(data.get("datetime")),
        tool=f"pytest-benchmark {data.get('version', '')}".strip(),
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
