"""Go: what `go test -bench` prints, or `go test -bench -json`.

    goos: linux
    pkg: example.com/fib
    BenchmarkFib/n=10-8    5000000    325 ns/op    16 B/op    2 allocs/op

Each line is a sample of each of its measures (so -count=10 gives ten); times become seconds. The name is that of the
package and the benchmark, without the number of threads behind it; its parts such as n=10 are parameters.
The format: https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ..machine import Machine
from ..result import Benchmark, Direction, Run
from .samples import Samples

_LINE = re.compile(r"^Benchmark(\S*)[ \t]+\d+((?:[ \t]+[-+.\dA-Za-z]+[ \t]+[^\s\d]\S*)+)[ \t]*$", re.MULTILINE)
_KEY = re.compile(r"^([a-z][^\sA-Z:]*):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_THREADS = re.compile(r"-(\d+)$")
_TIMES = {"ns/op": 1e9}  # parts of a second
_SHA = re.compile(r"[0-9a-f]{7,64}")


def knows(document: Any) -> bool:
    text: str = document
    return _LINE.search(text) is not None or (text.startswith("{") and _LINE.search(_printed(text)) is not None)


def read(document: Any, created: datetime) -> Run:
    text: str = document
    facts: dict[str, str] = {}
    samples = Samples()
    threads = ""
    for line in (_printed(text) if text.startswith("{") else text).splitlines():
        if key := _KEY.match(line):
            facts[key[1]] = key[2]
        elif bench := _LINE.match(line):
            name, params, threads = _named(bench[1], threads)
            if package := facts.get("pkg"):
                name = f"{package}.{name}"
            for value, unit in _measures(bench[2]):
                direction: Direction = "higher" if unit.endswith("/s") else "lower"
                if unit in _TIMES:
                    samples.add(Benchmark(name, params), float(value), scale=_TIMES[unit])
                else:
                    samples.add(Benchmark(name, params, unit, direction), float(value))
    commit = facts.get("commit", "")
    return Run(
        project=None,
        commit=commit if _SHA.fullmatch(commit) else None,
        branch=None,
        machine=Machine.of(
            name="",
            cpu=facts.get("cpu", ""),
            cores=int(threads or 0),
            os=f"{facts.get('goos', '')} {facts.get('goarch', '')}".strip(),
            python="",
        ),
        created=created,
        tool="go test -bench",
        results=samples.results(),
    )


def _printed(text: str) -> str:
    """What the events of `go test -json` say was printed."""
    printed = []
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(event, dict) or "Action" not in event:
            return ""
        if isinstance(event.get("Output"), str):
            printed.append(event["Output"])
    return "".join(printed)


def _named(text: str, threads: str) -> tuple[str, dict[str, str], str]:
    """Name, parameters and the number of threads, which Go leaves out where it is one."""
    if found := _THREADS.search(text):
        text, threads = text[: found.start()], found[1]
    params = dict(part.split("=", 1) for part in text.split("/")[1:] if "=" in part)
    return f"Benchmark{text}", params, threads


def _measures(text: str) -> Iterator[tuple[str, str]]:
    words = text.split()
    for value, unit in zip(words[::2], words[1::2], strict=True):
        if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", value):
            yield value, unit
