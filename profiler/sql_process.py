"""Asks a question in a process of its own, so that its time and memory are limited whatever DuckDB makes of it.

The child is given open files of traces, links to files of Parquet and columns of other tables; it answers in JSON.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from .errors import ProfilerError, QueryError, QuestionStopped
from .sql import Answer, Database, Limits
from .trace_tables import Columns

_LATE = 124  # exit code of a child that stopped itself
_GRACE_S = 3  # after DuckDB was asked to stop
_READING_S = 60  # for each trace
_BESIDE = 256 << 20  # bytes of address space for what is not DuckDB's
_LOOKS_S = 0.1  # how often a question is asked whether it is still wanted


def ask(
    query: str,
    traces: Mapping[int, BinaryIO] | None = None,
    tables: Mapping[str, Columns] | None = None,
    limits: Limits | None = None,
    *,
    parquet: Mapping[str, Mapping[int, Path]] | None = None,
    stop: threading.Event | None = None,
) -> Answer:
    """The answer to one SELECT over traces and `tables`; raises QueryError.

    Args:
        traces: traces by number, as real files in any format that is read.
        parquet: traces by number, as files that `trace_tables.write` wrote, for each table that the question mentions.
        stop: set once nobody waits for the answer, which raises QuestionStopped.
    """
    limits = limits or Limits()
    files = [(number, file.fileno()) for number, file in (traces or {}).items()]
    with tempfile.TemporaryDirectory(prefix="perflab-sql-", dir=_in_memory()) as folder:
        for table, paths in (parquet or {}).items():
            for number, path in paths.items():
                link = Path(folder, table, f"trace={number}", "rows.parquet")
                link.parent.mkdir(parents=True)
                link.symlink_to(path.absolute())
        question = {
            "query": query,
            "files": files,
            "folder": folder if parquet else None,
            "tables": tables or {},
            "limits": asdict(limits),
        }
        asked = Path(folder, "question.json")
        asked.write_text(json.dumps(question))
        with open(asked) as given:
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__],  # of modules, none of the working directory
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[descriptor for _, descriptor in files],
            )
        with child:
            try:
                longest = limits.seconds + 2 * _GRACE_S + _READING_S * (1 + len(files))
                said = _said(child, longest, stop or threading.Event())
            except subprocess.TimeoutExpired:
                raise _late(limits) from None
            finally:
                child.kill()
    if child.returncode == _LATE:
        raise _late(limits)
    if child.returncode != 0:
        raise QueryError(f"the question needs more than {limits.memory >> 20} MiB of memory; group or filter earlier")
    told: dict[str, Any] = json.loads(said)
    if "error" in told:
        raise QueryError(told["error"])
    return Answer(**told)


def _in_memory() -> str | None:
    """A folder for thousands of links, which some disks make slowly; None for the usual one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _said(child: "subprocess.Popen[bytes]", longest: float, stop: threading.Event) -> bytes:
    """What the child says; raises TimeoutExpired, QuestionStopped."""
    end = time.monotonic() + longest
    while True:
        try:
            return child.communicate(timeout=_LOOKS_S)[0]
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                raise
            if stop.is_set():
                raise QuestionStopped("nobody waits for the answer any more; ask again") from None


def _late(limits: Limits) -> QueryError:
    return QueryError(f"the question took longer than {limits.seconds:g} s and was stopped; ask for less")


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    limits = Limits(**question["limits"])
    database = Database(limits)
    try:
        for number, descriptor in question["files"]:
            from . import importers  # half of the time that a question over a lab would take

            with os.fdopen(descriptor, "rb") as file:
                file.seek(0)
                database.add_trace(importers.read(file).trace, number)
        if question["folder"]:
            database.add_files(Path(question["folder"]))
        for name, columns in question["tables"].items():
            database.add_table(name, columns)
        watch = threading.Timer(limits.seconds + _GRACE_S, os._exit, [_LATE])
        watch.daemon = True
        watch.start()
        _limit(limits.memory)
        return asdict(database.ask(question["query"]))
    except ProfilerError as error:
        return {"error": str(error)}


def _limit(more: int) -> None:
    """Give this process `more` bytes, and no file that it could write."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + more + _BESIDE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    made = json.dumps(_answer(json.load(sys.stdin)))
    sys.stdout.write(made)
    sys.stdout.flush()
    os._exit(0)  # nothing is left to do, and much to free
