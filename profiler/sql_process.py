"""Asks a question in a process of its own, so that its time and memory are limited whatever DuckDB makes of it.

The child is given open files of traces and columns of other tables; it answers in JSON.
"""

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, BinaryIO

from . import importers
from .errors import ProfilerError, QueryError
from .sql import Answer, Columns, Database, Limits

_LATE = 124  # exit code of a child that stopped itself
_GRACE_S = 3  # after DuckDB was asked to stop
_READING_S = 60  # for each trace
_BESIDE = 256 << 20  # bytes of address space for what is not DuckDB's


def ask(
    query: str,
    traces: Mapping[int, BinaryIO] | None = None,
    tables: Mapping[str, Columns] | None = None,
    limits: Limits | None = None,
) -> Answer:
    """The answer to one SELECT over traces, as real files by number, and `tables`; raises QueryError."""
    limits = limits or Limits()
    files = [(number, file.fileno()) for number, file in (traces or {}).items()]
    question = {"query": query, "files": files, "tables": tables or {}, "limits": asdict(limits)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps(question).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[descriptor for _, descriptor in files],
            timeout=limits.seconds + 2 * _GRACE_S + _READING_S * (1 + len(files)),
        )
    except subprocess.TimeoutExpired:
        raise _late(limits) from None
    if done.returncode == _LATE:
        raise _late(limits)
    if done.returncode != 0:
        raise QueryError(f"the question needs more than {limits.memory >> 20} MiB of memory; group or filter earlier")
    told: dict[str, Any] = json.loads(done.stdout)
    if "error" in told:
        raise QueryError(told["error"])
    return Answer(**told)


def _late(limits: Limits) -> QueryError:
    return QueryError(f"the question took longer than {limits.seconds:g} s and was stopped; ask for less")


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    limits = Limits(**question["limits"])
    database = Database(limits)
    try:
        for number, descriptor in question["files"]:
            with os.fdopen(descriptor, "rb") as file:
                file.seek(0)
                database.add_trace(importers.read(file).trace, number)
        for name, columns in question["tables"].items():
            database.add_table(name, columns)
        watch = threading.Timer(limits.seconds + _GRACE_S, os._exit, [_LATE])
        watch.daemon = True
        watch.start()
        _limit_memory(limits.memory)
        return asdict(database.ask(question["query"]))
    except ProfilerError as error:
        return {"error": str(error)}


def _limit_memory(more: int) -> None:
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + more + _BESIDE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    made = json.dumps(_answer(json.load(sys.stdin)))
    sys.stdout.write(made)
    sys.stdout.flush()
    os._exit(0)  # nothing is left to do, and much to free
