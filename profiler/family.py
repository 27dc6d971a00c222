"""Forked children of a process that is profiled: each records into files of its own, which the process reads.

A child records while the process does, whether it was forked before or after a window began, if only a profile ran
then. Its events lie in memory that the system shares (core/process_file.h draws the files), so that they are whole
when the child is killed, and read while it runs. Children of children belong to the same family.
"""

import atexit
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perflab.runtime import _core
from perflab.runtime.spec import DTYPES

from .events import (
    ANNOTATION,
    COMPOSITE,
    EVENT,
    GIL,
    NAME_INTERNED,
    NODE,
    OP,
    STEP_MARK,
    TASK_RUN,
    TASK_WAIT,
    USE,
)
from .recording import Events, Inputs
from .threads import ThreadNames
from .trace import Json

_HEADER = np.dtype(
    [("magic", "S8"), ("dropped", "<u8"), ("pid", "<u4"), ("chunks", "<u4"), ("threads", "<u4", 1018)]
)  # fmt: skip
_OF_TEXTS = (ANNOTATION, COMPOSITE, GIL, TASK_RUN, TASK_WAIT)  # whose names are texts
_MAGIC = b"perflab1"
_CHUNK = (2 << 20) // EVENT.itemsize  # events


@dataclass(slots=True)
class Child:
    """What a child has recorded."""

    pid: int
    dropped: int
    events: list[tuple[int, Events]] = field(default_factory=list)  # by thread
    strings: list[str] = field(default_factory=list)
    shapes: list[Inputs] = field(default_factory=list)
    threads: dict[int, str] = field(default_factory=dict)
    name: str = ""


class Family:
    """This process's part in its family: it leads, or was forked by a member."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._folder: Path | None = None
        self._leads = False
        self._profiles = 0  # that run
        self._limit = 0  # of events, while a window is open
        self._names: ThreadNames | None = None
        self._knows_multiprocessing = False
        os.register_at_fork(before=self._prepare, after_in_child=self._join)

    def enter(self) -> None:
        """A profile has begun: children that are forked from now on belong to the family."""
        with self._lock:
            self._profiles += 1

    def leave(self) -> None:
        """It has ended."""
        with self._lock:
            self._profiles = max(self._profiles - 1, 0)

    def record(self, max_events: int) -> None:
        """Children record, so many events each."""
        with self._lock:
            self._limit = max_events
            if self._leads:
                _core.let_family_record(max_events)

    def rest(self) -> None:
        """They no longer do. Files of those that have ended go."""
        with self._lock:
            self._limit = 0
            if self._leads:
                _core.stop_family()
                for path in self._files():
                    if not os.path.exists(f"/proc/{path.name.split('-')[0]}"):
                        path.unlink(missing_ok=True)
                        path.with_suffix(".log").unlink(missing_ok=True)

    def read(self, since: int) -> list[Child]:
        """What children have recorded that ended at the tick `since` or later."""
        found = [_read(path, since) for path in self._files()] if self._leads else []
        return [child for child in found if child is not None and child.events]

    def _files(self) -> Iterator[Path]:
        return iter(sorted(self._folder.glob("*.events"))) if self._folder else iter(())

    def _prepare(self) -> None:
        """Before a fork. Where there is no room for files children are not recorded."""
        with self._lock:
            if self._profiles and self._folder is None:
                try:
                    folder = tempfile.mkdtemp(prefix="perflab-")
                    _core.lead_family(folder)
                except (OSError, ValueError):
                    return
                self._folder, self._leads = Path(folder), True
                atexit.register(_remove, folder, os.getpid())
                if self._limit:
                    _core.let_family_record(self._limit)
            if self._folder and not self._knows_multiprocessing and "multiprocessing.util" in sys.modules:
                from multiprocessing import util

                self._knows_multiprocessing = True
                util.register_after_fork(self, Family._tell_process)  # where a child knows its name

    def _join(self) -> None:
        """In a child."""
        self._lock = threading.RLock()
        belongs = self._folder is not None and (self._profiles > 0 or not self._leads)
        self._profiles = self._limit = 0
        self._leads = False
        if not belongs:
            self._folder = None
            return
        try:
            _core.join_family(str(self._folder))
        except ValueError:  # the folder has gone
            self._folder = None
            return
        self._names = ThreadNames(_tell_thread)
        for thread, name in self._names.read().items():
            _tell_thread(thread, name)

    def _tell_process(self) -> None:
        from multiprocessing import process

        _tell({"process": process.current_process().name})


def _tell(what: Json) -> None:
    _core.log_name(json.dumps(what))


def _tell_thread(thread: int, name: str) -> None:
    _tell({"thread": thread, "name": name})


def _remove(folder: str, leader: int) -> None:
    if os.getpid() == leader:  # not in a child that ends as Python does
        shutil.rmtree(folder, ignore_errors=True)


def _read(path: Path, since: int) -> Child | None:
    """None where the file is not whole enough to say whose it is."""
    try:
        header = np.fromfile(path, _HEADER, 1)
        known = len(header) == 1 and header["magic"][0] == _MAGIC
        count = (path.stat().st_size - _HEADER.itemsize) // EVENT.itemsize
        log = path.with_suffix(".log").read_bytes()
    except OSError:  # it has just gone
        return None
    if not known:
        return None
    child = Child(int(header["pid"][0]), int(header["dropped"][0]))
    _read_log(log, child)
    if count > 0:
        events = np.memmap(path, EVENT, "r", _HEADER.itemsize, (count,))
        for number, thread in enumerate(header["threads"][0, : header["chunks"][0]].tolist()):
            chunk = events[number * _CHUNK : (number + 1) * _CHUNK]
            chosen = chunk[_is_sound(chunk, since, child)]
            if len(chosen):
                child.events.append((thread, chosen))
    return child


def _read_log(log: bytes, child: Child) -> None:
    """Up to where it may be cut short."""
    at = 0
    while at + 5 <= len(log):
        end = at + 5 + int.from_bytes(log[at + 1 : at + 5], "little")
        if end > len(log):
            return
        kind, content, at = log[at : at + 1], log[at + 5 : end], end
        if kind == b"t":
            child.strings.append(content.decode("utf-8", "surrogatepass"))
        elif kind == b"s":
            child.shapes.append(_inputs(np.frombuffer(content, "<i8").tolist()))
        elif kind == b"n":
            told = json.loads(content)
            if "process" in told:
                child.name = told["process"]
            else:
                child.threads[told["thread"]] = told["name"]


def _inputs(words: list[int]) -> Inputs:
    """Dtypes and shapes, as core/shapes.cpp keeps them: for each a head of rank and dtype, then its sizes."""
    inputs, at = [], 0
    while at < len(words):
        dtype, rank = divmod(words[at], 256)
        inputs.append((DTYPES[dtype].name, tuple(words[at + 1 : at + 1 + rank])))
        at += 1 + rank
    return inputs


def _is_sound(events: Events, since: int, child: Child) -> NDArray[np.bool_]:
    """Which are events, wholly written, that are wanted: not the steps of profiles that the child has itself."""
    kind, name = events["kind"], events["name"]
    texts = np.isin(kind, _OF_TEXTS) | ((kind == NODE) & (events["flags"] & NAME_INTERNED > 0))
    known = np.where(texts, len(child.strings), np.where(np.isin(kind, (OP, NODE)), len(_core.op_names()), 1 << 32))
    sound: NDArray[np.bool_] = (
        ((kind > 0) & (kind <= USE) & (kind != STEP_MARK))
        & ((events["t0"] <= events["t2"]) & (events["t2"] >= since))
        & ((name < known) & (events["shapes"] < len(child.shapes)) & (events["scope"] < len(child.strings)))
    )
    return sound


FAMILY = Family()
