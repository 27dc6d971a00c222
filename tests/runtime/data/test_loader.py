"""DataLoader: the same batches with and without workers, and what happens when something goes wrong in one."""

import gc
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    TensorDataset,
    get_worker_info,
)


class Rows(Dataset[Any]):
    """Sample i: a row of i, and i."""

    def __init__(self, size: int = 10, act: Callable[[int], Any] = lambda i: None) -> None:
        self.size = size
        self.act = act

    def __getitem__(self, index: int) -> Any:
        self.act(index)
        return rt.full((3,), float(index)), index

    def __len__(self) -> int:
        return self.size


class Counting(IterableDataset[int]):
    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        return iter(range(self.size) if info is None else range(info.id, self.size, info.num_workers))


def indices(loader: DataLoader) -> list[list[int]]:
    return [batch[1].tolist() for batch in loader]


# --- which batches


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_come_in_order(workers: int) -> None:
    loader = DataLoader(Rows(), 4, num_workers=workers)
    rows = [rows.tolist() for rows, _ in loader]
    assert indices(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]] and len(loader) == 3
    assert rows[2] == [[8.0] * 3, [9.0] * 3]
    assert indices(DataLoader(Rows(), 4, num_workers=workers, drop_last=True)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    singles = list(DataLoader(Rows(3), batch_size=None, num_workers=workers))
    assert [index for _, index in singles] == [0, 1, 2] and singles[2][0].tolist() == [2, 2, 2]
    order = BatchSampler([5, 3, 1], 2, drop_last=False)
    assert indices(DataLoader(Rows(), batch_sampler=order, num_workers=workers)) == [[5, 3], [1]]
    assert indices(DataLoader(Rows(), 2, sampler=[7, 7], num_workers=workers)) == [[7, 7]]
    assert list(DataLoader(Rows(), 4, num_workers=workers, collate_fn=len)) == [4, 4, 2]
    assert list(DataLoader(Rows(0), 4, num_workers=workers)) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_shuffling_follows_the_generator(workers: int) -> None:
    def loader() -> DataLoader:
        return DataLoader(Rows(), 10, shuffle=True, generator=rt.Generator().manual_seed(5), num_workers=workers)

    first = loader()
    epochs = [indices(first)[0], indices(first)[0]]
    assert sorted(epochs[0]) == list(range(10)) and epochs[0] != epochs[1]
    assert indices(loader())[0] == epochs[0]
    rt.manual_seed(1)
    plain = indices(DataLoader(Rows(), 10, shuffle=True))
    rt.manual_seed(1)
    assert indices(DataLoader(Rows(), 10, shuffle=True)) == plain


@pytest.mark.parametrize("drop_last", [False, True])
def test_iterable_datasets(drop_last: bool) -> None:
    alone = DataLoader(Counting(7), 3, drop_last=drop_last)
    assert [b.tolist() for b in alone] == [[0, 1, 2], [3, 4, 5], [6]][: 2 if drop_last else 3]
    shared = DataLoader(Counting(7), 3, drop_last=drop_last, num_workers=2)
    assert [b.tolist() for b in shared] == [[0, 2, 4], [1, 3, 5], [6]][: 2 if drop_last else 3]
    assert list(DataLoader(Counting(3), None, num_workers=2)) == [0, 1, 2]
    with pytest.raises(TypeError):
        len(alone)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_both_ways_to_start_workers(start: str) -> None:
    dataset = TensorDataset(rt.arange(6), rt.arange(6, dtype=rt.float32).reshape(6, 1).requires_grad_())
    loader = DataLoader(dataset, 4, num_workers=1, multiprocessing_context=start, timeout=60)
    ((first, column), (last, _)) = loader
    assert first.tolist() == [0, 1, 2, 3] and last.tolist() == [4, 5]
    assert column.tolist() == [[0], [1], [2], [3]]


def test_batches_of_workers_are_ordinary_memory() -> None:
    def collate(samples: list[Any]) -> Any:
        empty = np.zeros((0, 2), np.float64)
        return {
            "t": rt.ones(2, 3).T,
            "narrow": rt.tensor([1.5]).astype(rt.bfloat16),
            "a": np.arange(3),
            "empty": empty,
            "leaf": rt.ones(1, requires_grad=True),
            "s": "x",
        }

    (batch,) = DataLoader(Rows(1), 1, num_workers=1, collate_fn=collate)
    assert batch["t"].shape == (3, 2) and batch["a"].tolist() == [0, 1, 2] and batch["s"] == "x"
    assert batch["empty"].shape == (0, 2) and batch["leaf"].requires_grad
    assert batch["narrow"].dtype is rt.bfloat16 and batch["narrow"].item() == 1.5
    batch["t"].add_(1)
    batch["a"][0] = 7
    assert batch["t"].tolist() == [[2, 2]] * 3 and batch["a"].tolist() == [7, 1, 2]
    (batch["leaf"] * 2).sum().backward()


# --- workers


def test_workers_know_who_they_are_and_have_seeds_of_their_own() -> None:
    class Seeds(Dataset[Any]):
        def __getitem__(self, index: int) -> Any:
            info = get_worker_info()
            assert info is not None and info.dataset is not None
            numbers = (rt.randint(2**31, ()).item(), random.random(), np.random.rand())
            return info.id, info.num_workers, info.seed, *numbers, os.environ.get("PERFLAB_TEST_WORKER")

        def __len__(self) -> int:
            return 4

    def init(worker: int) -> None:
        os.environ["PERFLAB_TEST_WORKER"] = f"worker {worker}"

    def run() -> list[Any]:
        generator = rt.Generator().manual_seed(9)
        return list(DataLoader(Seeds(), None, num_workers=2, worker_init_fn=init, generator=generator))

    found = run()
    assert found == run()
    assert [row[0] for row in found] == [0, 1, 0, 1] and [row[-1] for row in found[:2]] == ["worker 0", "worker 1"]
    assert found[1][2] == found[0][2] + 1 and found[0][1] == 2
    for i in (3, 4, 5):
        assert len({row[i] for row in found}) == 4
    assert get_worker_info() is None and "PERFLAB_TEST_WORKER" not in os.environ


def test_persistent_workers_live_on() -> None:
    def pids(loader: DataLoader) -> set[int]:
        return {int(batch[1][0].item()) for batch in loader}

    class Pids(Rows):
        def __getitem__(self, index: int) -> Any:
            return index, os.getpid()

    kept = DataLoader(Pids(), 1, num_workers=2, persistent_workers=True)
    first = pids(kept)
    for _ in kept:  # left early: what was fetched ahead is thrown away
        break
    assert pids(kept) == first and len(first) == 2
    assert indices(DataLoader(Rows(), 5, num_workers=1, persistent_workers=True)) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    loader = DataLoader(Counting(3), 2, num_workers=1, persistent_workers=True)
    assert [[b.tolist() for b in loader] for _ in range(2)] == [[[0, 1], [2]]] * 2
    fresh = DataLoader(Pids(), 1, num_workers=2)
    assert pids(fresh).isdisjoint(pids(fresh))


def test_persistent_workers_serve_one_iteration_at_a_time() -> None:
    loader = DataLoader(Rows(), 1, num_workers=1, persistent_workers=True)
    first = iter(loader)
    next(first)
    assert len(list(loader)) == 10
    with pytest.raises(rt.StateError, match="serve one iteration at a time, and another began"):
        list(first)
    both = DataLoader(Rows(3), 1, num_workers=1)
    assert [a[1].item() + b[1].item() for a, b in zip(both, both, strict=True)] == [0, 2, 4]


def memory_files() -> int:
    gc.collect()
    return sum("memfd:perflab" in line for line in Path("/proc/self/maps").read_text().splitlines())


def test_nothing_is_left_when_a_loop_is_left_early() -> None:
    files, shared, descriptors = memory_files(), set(os.listdir("/dev/shm")), len(os.listdir("/proc/self/fd"))
    children = set(multiprocessing.active_children())
    for rows, _ in DataLoader(Rows(1000), 10, num_workers=2):
        kept = rows
        assert memory_files() > files
        break
    assert kept.tolist()[1] == [1, 1, 1]
    assert set(multiprocessing.active_children()) == children
    del rows, kept, _
    assert memory_files() == files and set(os.listdir("/dev/shm")) == shared
    assert len(os.listdir("/proc/self/fd")) == descriptors


# --- what goes wrong


def fail(index: int) -> None:
    if index == 5:
        raise LookupError("no sample five")


@pytest.mark.parametrize("persistent", [False, True])
def test_an_exception_arrives_with_the_worker_s_traceback(persistent: bool) -> None:
    loader = DataLoader(Rows(8, fail), 2, num_workers=2, persistent_workers=persistent)
    seen = []
    with pytest.raises(LookupError, match="no sample five") as caught:
        for _, index in loader:
            seen.append(index.tolist())
    assert seen == [[0, 1], [2, 3]]
    assert 'raise LookupError("no sample five")' in str(caught.value.__cause__)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_dataset_that_raises_stop_iteration_does_not_end_the_loop_silently(workers: int) -> None:
    loader = DataLoader(Rows(3, lambda i: next(iter(()))), 1, num_workers=workers)
    with pytest.raises(RuntimeError, match="generator raised StopIteration"):
        list(loader)


def test_exceptions_that_do_not_pickle_and_batches_that_do_not() -> None:
    class Odd(Exception):
        pass

    def act(index: int) -> None:
        raise Odd("of a local class")

    with pytest.raises(rt.WorkerError, match="Odd: of a local class"):
        list(DataLoader(Rows(2, act), 1, num_workers=1))
    with pytest.raises(Exception, match="pickle"):
        list(DataLoader(Rows(2), 1, num_workers=1, collate_fn=lambda samples: threading.Lock()))

    def init(worker: int) -> None:
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        list(DataLoader(Rows(2), 1, num_workers=1, worker_init_fn=init))


@pytest.mark.parametrize(
    ("act", "how"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"was killed by SIGKILL \(for want of memory\?\)"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "was killed by SIGTERM"),
        (lambda: os._exit(3), "ended with exit code 3"),
    ],
)
@pytest.mark.parametrize("persistent", [False, True])
def test_a_worker_s_death_is_told_at_once(act: Callable[[], None], how: str, persistent: bool) -> None:
    children = set(multiprocessing.active_children())
    loader = DataLoader(Rows(100, lambda i: act() if i == 7 else None), 1, num_workers=2, persistent_workers=persistent)
    with pytest.raises(rt.WorkerError, match=rf"^DataLoader: worker 1 \(pid \d+\) {how}$"):
        list(loader)
    assert set(multiprocessing.active_children()) <= children
    loader.dataset.act = lambda i: None
    assert len(list(loader)) == 100


def test_a_worker_killed_from_outside_while_it_waits() -> None:
    loader = DataLoader(Rows(1000), 1, num_workers=1)
    batches = iter(loader)
    next(batches)
    (process,) = (p for p in multiprocessing.active_children() if p.name.startswith("DataLoader"))
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(rt.WorkerError, match=f"pid {process.pid}.*was killed by SIGKILL"):
        list(batches)


def test_a_worker_that_hangs() -> None:
    loader = DataLoader(Rows(3, lambda i: time.sleep(600)), 1, num_workers=1, timeout=0.2)
    with pytest.raises(rt.WorkerError, match=r"no batch came within timeout=0\.2 seconds"):
        list(loader)
    gc.collect()
    assert not [p for p in multiprocessing.active_children() if p.name.startswith("DataLoader")]


def test_workers_leave_when_the_parent_is_killed() -> None:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def parent() -> None:
        batches = iter(DataLoader(Rows(1000), 1, num_workers=2))
        next(batches)
        theirs.send([p.pid for p in multiprocessing.active_children()])
        time.sleep(600)

    process = context.Process(target=parent)
    process.start()
    pids = ours.recv()
    process.kill()
    process.join()
    assert len(pids) == 2
    for pid in pids:
        descriptor = None
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert multiprocessing.connection.wait([descriptor], 30)
        finally:
            os.close(descriptor)


def test_what_does_not_fit_is_refused() -> None:
    rows, counting = Rows(), Counting(3)
    for message, make in (
        ("num_workers must not be negative", lambda: DataLoader(rows, num_workers=-1)),
        ("timeout must not be negative", lambda: DataLoader(rows, timeout=-1)),
        ("need num_workers above 0", lambda: DataLoader(rows, prefetch_factor=2)),
        ("need num_workers above 0", lambda: DataLoader(rows, persistent_workers=True)),
        ("prefetch_factor must be at least 1", lambda: DataLoader(rows, num_workers=1, prefetch_factor=0)),
        ("an IterableDataset has an order of its own", lambda: DataLoader(counting, shuffle=True)),
        ("sampler and shuffle exclude each other", lambda: DataLoader(rows, shuffle=True, sampler=[1])),
        ("batch_sampler excludes batch_size", lambda: DataLoader(rows, 2, batch_sampler=[[1]])),
        ("no batches that drop_last could leave out", lambda: DataLoader(rows, None, drop_last=True)),
        ("batch_size must be an int of at least 1, not 0", lambda: DataLoader(rows, 0)),
        ("batch_size must be an int of at least 1, not 2.5", lambda: DataLoader(rows, 2.5)),  # type: ignore[arg-type]
    ):
        with pytest.raises(rt.ArgumentError, match=message):
            make()
    assert list(SequentialSampler(rows)) == list(range(10))
