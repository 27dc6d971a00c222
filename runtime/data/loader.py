"""DataLoader: batches of a dataset, made here or in worker processes."""

import multiprocessing
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Any

from .._core import Annotation
from ..device import Device
from ..errors import ArgumentError, StateError
from ..generator import Generator as Stream
from ..pinned import accelerator, pin_batch
from .collate import default_collate
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, new_seed
from .workers import Exhausted, Fetcher, RemoteTraceback, Reply, Task, Workers


class DataLoader:
    """Iterates over the batches of a dataset, again and again.

    batch_size: samples in a batch; None: samples come one by one. shuffle: in a new random order each time. sampler:
    the order of indices; batch_sampler: lists of them, in the place of all these. num_workers: processes that fetch
    batches, 0 for none; each keeps prefetch_factor batches (2) ready. collate_fn: from the samples to the batch.
    drop_last: without a last batch that is shorter. timeout: seconds to wait for a batch of a worker, 0 for no end.
    worker_init_fn: called in each worker with its number, once it is seeded. multiprocessing_context: the start
    method's name or a context. generator: where shuffling and the workers' seeds come from. persistent_workers: they
    live on from one iteration to the next. pin_memory: tensors of the batches are in pinned memory, for
    pin_memory_device or the accelerator; without one a warning says that they are not.

    An exception in a worker is raised here, with the worker's traceback as its cause. WorkerError is raised when a
    worker dies, at once, and after `timeout`.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Stream | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
    ) -> None:
        if num_workers < 0:
            raise ArgumentError(f"DataLoader: num_workers must not be negative, it is {num_workers}")
        if timeout < 0:
            raise ArgumentError(f"DataLoader: timeout must not be negative, it is {timeout}")
        if num_workers == 0 and (prefetch_factor is not None or persistent_workers or multiprocessing_context):
            raise ArgumentError(
                "DataLoader: prefetch_factor, persistent_workers and multiprocessing_context need num_workers above 0"
            )
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ArgumentError(f"DataLoader: prefetch_factor must be at least 1, not {prefetch_factor}")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self.multiprocessing_context = multiprocessing_context
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.drop_last = drop_last
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self._iterable = isinstance(dataset, IterableDataset)
        self._choose_order(batch_size, shuffle, sampler, batch_sampler)
        batched = self.batch_size is not None or self.batch_sampler is not None
        self.collate_fn = collate_fn if collate_fn or not batched else default_collate
        self._workers: Workers | None = None

    def _choose_order(self, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
        if self._iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ArgumentError("DataLoader: an IterableDataset has an order of its own: no shuffle or sampler")
        if sampler is not None and shuffle:
            raise ArgumentError("DataLoader: sampler and shuffle exclude each other")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or self.drop_last:
                raise ArgumentError("DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last")
            batch_size = None
        elif batch_size is None and self.drop_last:
            raise ArgumentError("DataLoader: batch_size=None makes no batches that drop_last could leave out")
        if sampler is None and not self._iterable:
            sampler = (
                RandomSampler(self.dataset, generator=self.generator) if shuffle else SequentialSampler(self.dataset)
            )
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, self.drop_last)
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = None if self._iterable else batch_sampler

    def __iter__(self) -> Iterator[Any]:
        fetcher = Fetcher(self.dataset, self.collate_fn, not self._iterable, self.drop_last)
        batches = self._here(fetcher) if self.num_workers == 0 else self._elsewhere(fetcher)
        return _marked(self._pinned(batches) if self.pin_memory else batches)

    def __len__(self) -> int:
        """The number of batches. Raises TypeError where the dataset or sampler has no length."""
        if not self._iterable:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def _tasks(self) -> Iterator[Any]:
        """What to fetch: indices for a batch, an index, or of an iterable the size of a batch, without end."""
        if self._iterable:
            while True:
                yield self.batch_size
        yield from self.sampler if self.batch_sampler is None else self.batch_sampler

    def _here(self, fetcher: Fetcher) -> Generator[Any, None, None]:
        batch = fetcher.begin()
        for task in self._tasks():
            try:
                made = batch(task)
            except Exhausted:
                return
            yield made

    def _pinned(self, batches: Generator[Any, None, None]) -> Generator[Any, None, None]:
        device = Device(self.pin_memory_device) if self.pin_memory_device else accelerator()
        if device is None:
            warnings.warn("DataLoader: pin_memory is set, but there is no accelerator to pin memory for", stacklevel=2)
        with closing(batches):
            for batch in batches:
                yield batch if device is None else pin_batch(batch, device)

    def _elsewhere(self, fetcher: Fetcher) -> Generator[Any, None, None]:
        seed = new_seed(self.generator)
        workers = self._workers
        if workers is None or not workers.close.alive:
            context = self.multiprocessing_context
            if context is None or isinstance(context, str):
                context = multiprocessing.get_context(context)
            workers = Workers(self.num_workers, context, fetcher, seed, self.worker_init_fn)
            if self.persistent_workers:
                self._workers = workers
        batches = _Batches(workers, self._tasks(), self.prefetch_factor or 2, self.timeout or None)
        try:
            yield from batches
        finally:
            if not self.persistent_workers:
                workers.close()


def _marked(batches: Generator[Any, None, None]) -> Iterator[Any]:
    """The same; making each batch, or waiting for it, has a name on the timeline."""
    try:
        while True:
            with Annotation("enumerate(DataLoader)#DataLoader.__next__"):
                try:
                    batch = next(batches)
                except StopIteration:
                    return
            yield batch
    finally:
        batches.close()


class _Batches:
    """The batches that workers fetch, in the order of their tasks."""

    def __init__(self, workers: Workers, tasks: Iterator[Any], ahead: int, timeout: float | None) -> None:
        self._workers = workers
        self._tasks = tasks
        workers.epoch += 1
        self._epoch = workers.epoch
        self._timeout = timeout
        self._given = self._wanted = 0  # numbers of the next task and of the next batch
        self._came: dict[int, Reply] = {}
        self._busy = list(range(workers.count))  # those that are not at the end of their iterable, next one first
        for _ in range(ahead * workers.count):
            self._give()

    def _give(self) -> None:
        if not self._busy:
            return
        try:
            what = next(self._tasks)
        except StopIteration:
            return
        worker = self._busy.pop(0)
        self._busy.append(worker)
        self._workers.send(worker, Task(self._epoch, self._given, what))
        self._given += 1

    def __iter__(self) -> Iterator[Any]:
        while self._wanted < self._given:
            while self._wanted not in self._came:
                if self._workers.epoch != self._epoch:
                    raise StateError("DataLoader: persistent workers serve one iteration at a time, and another began")
                worker, reply = self._workers.receive(self._timeout)
                if reply.epoch != self._epoch:  # of an iteration that was left early
                    continue
                self._came[reply.number] = reply
                if reply.kind == "end" and worker in self._busy:
                    self._busy.remove(worker)
            reply = self._came.pop(self._wanted)
            self._wanted += 1
            self._give()
            if reply.kind == "error":
                error, text = reply.value
                raise error from RemoteTraceback(text)
            if reply.kind == "batch":
                yield reply.value
