"""Worker processes of a DataLoader: each fetches batches on demand and sends them back through shared memory.

Every worker has one socket of its own, and nobody shares a lock with it: when one is killed, its socket ends and the
others are not touched.
"""

import os
import pickle
import queue
import random
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import WorkerError
from ..random import manual_seed
from . import shared
from .collate import default_convert
from .dataset import fetch

_PATIENCE = 1.0  # seconds that a worker has to leave by itself
_LAST_WORDS = 10.0  # seconds until the exit code of one whose connection has ended is there, far more than it takes


@dataclass(frozen=True)
class WorkerInfo:
    """What get_worker_info() tells in a worker: its number, how many there are, its seed, its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a DataLoader, who it is; None elsewhere."""
    return _info


class Exhausted(Exception):
    """An iterable dataset has no batch any more."""


@dataclass(frozen=True)
class Fetcher:
    """How the samples of a task become a batch: by indices, or from an iterator, so many at a time."""

    dataset: Any
    collate_fn: Callable[[Any], Any] | None  # None: samples are handed on one by one, arrays as tensors
    by_index: bool
    drop_last: bool = False

    def begin(self) -> Callable[[Any], Any]:
        """A function from tasks to batches: a task is the indices, or of an iterable the size of the batch.

        It raises Exhausted at the end of an iterable.
        """
        iterator = None if self.by_index else iter(self.dataset)
        collate = self.collate_fn

        def batch(task: Any) -> Any:
            if iterator is None:
                return default_convert(self.dataset[task]) if collate is None else collate(fetch(self.dataset, task))
            samples = list(islice(iterator, 1 if collate is None else task))
            if not samples or (self.drop_last and len(samples) < task):
                raise Exhausted
            return default_convert(samples[0]) if collate is None else collate(samples)

        return batch


class Reply(NamedTuple):
    """What a worker answers to a task: kind is "batch", "end" (of an iterable) or "error" (exception, traceback)."""

    epoch: int
    number: int
    kind: str
    value: Any


class Task(NamedTuple):
    epoch: int
    number: int
    what: Any


def _work(
    connection: "Connection[Any, Any]",
    others: "list[Connection[Any, Any]]",
    info: WorkerInfo,
    fetcher: Fetcher,
    init_fn: Callable[[int], None] | None,
) -> None:
    """A worker's life."""
    global _info
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    for other in others:  # a fork copied them: the parent's end of a socket is open in the parent alone
        other.close()
    _info = info
    _core.set_num_threads(1)
    random.seed(info.seed)
    np.random.seed(info.seed % 2**32)
    manual_seed(info.seed)
    failure: BaseException | None = None
    try:
        if init_fn is not None:
            init_fn(info.id)
    except Exception as error:
        failure = error
    epoch, batch = -1, None
    for task in _tasks(connection):
        try:
            if failure is not None:
                raise failure
            if task.epoch != epoch:
                epoch, batch = task.epoch, fetcher.begin()
            assert batch is not None
            reply = Reply(task.epoch, task.number, "batch", batch(task.what))
        except Exhausted:
            reply = Reply(task.epoch, task.number, "end", None)
        except Exception as error:
            reply = _failed(task, error)
        try:
            try:
                shared.send(connection, reply)
            except OSError:
                raise
            except Exception as error:  # a batch that cannot be pickled
                shared.send(connection, _failed(task, error))
        except OSError:
            return  # the parent has gone, or wants no more


def _tasks(connection: "Connection[Any, Any]") -> Iterator[Task]:
    """The tasks as they come. A thread reads them, so that the parent never waits for a busy worker to do it."""
    waiting: queue.SimpleQueue[Task | None] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                waiting.put(connection.recv())
        except (EOFError, OSError):
            waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (task := waiting.get()) is not None:
        yield task


def _failed(task: Task, error: BaseException) -> Reply:
    text = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = WorkerError(f"{type(error).__name__}: {error}")
    return Reply(task.epoch, task.number, "error", (error, text))


class RemoteTraceback(Exception):
    """The traceback of an exception as the worker saw it; the cause of the exception here."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Workers:
    """The processes. They are ended by close(), and when this object goes."""

    def __init__(
        self,
        count: int,
        context: Any,
        fetcher: Fetcher,
        seed: int,
        init_fn: Callable[[int], None] | None,
    ) -> None:
        self.count = count
        self.epoch = 0  # of the iteration that they serve
        self._connections: list[Connection[Any, Any]] = []
        self._processes: list[Any] = []
        forked = context.get_start_method() == "fork"
        self.close = weakref.finalize(self, _end, os.getpid(), self._connections, self._processes)
        for i in range(count):
            ours, theirs = context.Pipe(duplex=True)
            self._connections.append(ours)
            info = WorkerInfo(i, count, seed + i, fetcher.dataset)
            others = list(self._connections) if forked else []
            process = context.Process(
                target=_work, args=(theirs, others, info, fetcher, init_fn), name=f"DataLoader worker {i}", daemon=True
            )
            process.start()
            theirs.close()
            self._processes.append(process)

    def send(self, worker: int, task: Task) -> None:
        """Give a task to a worker."""
        try:
            self._connections[worker].send(task)
        except OSError:
            raise self._death(worker) from None

    def receive(self, timeout: float | None) -> tuple[int, Reply]:
        """The next reply of any worker. Raises WorkerError when one has died, or none came in `timeout` seconds."""
        sentinels = [process.sentinel for process in self._processes]
        ready = wait([*self._connections, *sentinels], timeout)
        for i, connection in enumerate(self._connections):
            if connection in ready:
                try:
                    return i, shared.receive(connection)
                except (EOFError, OSError):
                    raise self._death(i) from None
        for i, sentinel in enumerate(sentinels):
            if sentinel in ready:
                raise self._death(i)
        raise WorkerError(f"DataLoader: no batch came within timeout={timeout} seconds")

    def _death(self, worker: int) -> WorkerError:
        process = self._processes[worker]
        process.join(_LAST_WORDS)
        code = process.exitcode
        how = "closed its connection" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
            how += " (for want of memory?)" if -code == signal.SIGKILL else ""
        pid = process.pid
        self.close()
        return WorkerError(f"DataLoader: worker {worker} (pid {pid}) {how}")


def _end(owner: int, connections: "list[Connection[Any, Any]]", processes: list[Any]) -> None:
    if os.getpid() != owner:  # a copy in a forked child
        return
    for connection in connections:
        connection.close()
    deadline = time.monotonic() + _PATIENCE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    for process in processes:
        if process.exitcode is None:
            process.terminate()
            process.join(_PATIENCE)
        if process.exitcode is None:
            process.kill()
            process.join()
        process.close()
