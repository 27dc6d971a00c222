"""Replays: the allocator decides as PyTorch's rules say, and what would have been is counted from the right moment."""

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflab.profiler import TraceBuilder, Track
from perflab.profiler.errors import ReplayError
from perflab.profiler.importers import torch_snapshot
from perflab.profiler.memory_history import MemoryHistory, history, read
from perflab.profiler.replay import DEFAULTS, RECORDED, recorded, replay, replays
from perflab.profiler.report.replay import replays_section

from .torch_rules import MIB, TorchRules

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "traces"
EXPANDABLE = "expandable_segments:True"


def of(rules: TorchRules, events: slice = slice(None)) -> MemoryHistory:
    return history(torch_snapshot.trace(rules.snapshot(events), "snap"))


def training(rules: TorchRules, seed: int, steps: int = 6) -> Iterator[None]:
    """Steps of a model whose batches differ in length: parameters, activations, gradients and temporaries."""
    random = Random(seed)
    widths = [random.choice((96, 512, 1536, 4096)) for _ in range(8)]
    layers = list(pairwise(widths))
    kept = [rules.malloc(4 * a * b) for a, b in layers]
    for step in range(steps):
        length = random.randrange(2_000, 40_000)
        alive = [rules.malloc(4 * length * widths[0])]
        for _, b in layers:
            work = rules.malloc(random.randrange(1, 4 * length * b))
            alive.append(rules.malloc(4 * length * b))
            rules.free(work)
        gradients = []
        for a, b in reversed(layers):
            gradients.append(rules.malloc(4 * a * b))
            work = rules.malloc(4 * length * a, stream=random.choice((0, 0, 0, 7)))
            rules.free(alive.pop())
            rules.free(work)
        rules.free(alive.pop())
        if step == 0:
            kept += [rules.malloc(4 * a * b) for a, b in layers * 2]
        for gradient in gradients:
            rules.free(gradient)
        yield


@pytest.mark.parametrize("seed", range(8))
def test_by_default_it_reserves_what_torch_reserves(seed: int) -> None:
    rules = TorchRules()
    for _ in training(rules, seed):
        pass
    found = of(rules)
    ours, torchs = replay(found), recorded(found)
    assert torchs is not None
    assert ours.peak_reserved == torchs.peak_reserved == rules.peak > 100 * MIB
    assert np.array_equal(ours.reserved, torchs.reserved), "at every moment, in fact"
    assert ours.device_allocations == torchs.device_allocations == rules.device_allocations


@pytest.mark.parametrize("seed", range(8))
def test_segments_that_grow_reserve_no_more(seed: int) -> None:
    rules = TorchRules()
    for _ in training(rules, seed):
        pass
    grown = replay(of(rules), EXPANDABLE)
    assert grown.peak_allocated <= grown.peak_reserved <= rules.peak
    assert np.all(grown.reserved >= grown.allocated)


@pytest.mark.parametrize("seed", range(4))
def test_a_limit_for_splits_and_a_cache_that_is_emptied(seed: int) -> None:
    rules = TorchRules(max_split=64 * MIB)
    for _ in training(rules, seed):
        rules.empty_cache()
    found = of(rules)
    ours, torchs = replay(found, "max_split_size_mb:64"), recorded(found)
    assert torchs is not None
    assert np.array_equal(ours.reserved, torchs.reserved)
    assert ours.device_allocations == rules.device_allocations > replay(found, EXPANDABLE).device_allocations


@pytest.mark.parametrize("seed", range(8))
def test_a_history_that_begins_late(seed: int) -> None:
    rules = TorchRules()
    steps = training(rules, seed)
    for _ in range(3):
        next(steps)
    began = len(rules.events)
    for _ in steps:
        pass
    found = of(rules, slice(began, None))
    late = recorded(found)
    assert late is not None and found.earlier > 0
    ours = replay(found)
    assert np.array_equal(ours.reserved, late.reserved), (
        "it begins with the same segments, and blocks in the same places"
    )
    assert ours.device_allocations == late.device_allocations
    assert replay(found, EXPANDABLE).peak_reserved <= late.peak_reserved


sizes = st.one_of(st.integers(1, 4096), st.integers(1, 3 * MIB), st.integers(1, 60 * MIB))
steps = st.tuples(st.just("malloc"), sizes, st.sampled_from((0, 0, 3)))


@given(
    st.lists(st.one_of(steps, st.tuples(st.just("free"), st.integers(0, 100), st.just(0)), st.just(("empty", 0, 0))))
)
def test_any_history(moves: list[tuple[str, int, int]]) -> None:
    rules, live = TorchRules(), []
    for move, number, stream in moves:
        if move == "malloc":
            live.append(rules.malloc(number, stream))
        elif move == "free" and live:
            rules.free(live.pop(number % len(live)))
        elif move == "empty":
            rules.empty_cache()
    found = of(rules)
    if len(found):
        torchs = recorded(found)
        assert torchs is not None
        assert replay(found).reserved.tolist() == torchs.reserved.tolist()


def simple(*entries: tuple[int, int, int], reserved: int = 100 * MIB) -> MemoryHistory:
    """From time, address and bytes."""
    builder, total = TraceBuilder(), 0
    for time, address, size in entries:
        total += size
        args = {"Addr": address, "Bytes": size, "Total Allocated": total, "Total Reserved": reserved}
        builder.instant("[memory]", time, track=Track(1, 1), args=args)
    return history(builder.build())


def test_fragmentation_is_the_share_that_nothing_is_in() -> None:
    found = simple((0, 1, 50 * MIB), (10, 2, 30 * MIB), (30, 1, -50 * MIB), (40, 2, -30 * MIB))
    had = recorded(found)
    assert had is not None
    assert had.fragmentation.tolist() == pytest.approx([0.5, 0.2, 0.7, 1.0])
    assert had.mean_fragmentation == pytest.approx((10 * 0.5 + 20 * 0.2 + 10 * 0.7) / 40)
    ours = replay(found)
    assert ours.reserved.tolist() == [50 * MIB, 80 * MIB, 80 * MIB, 80 * MIB]
    assert (ours.peak_fragmentation, ours.device_allocations) == (0.0, 2)
    assert ours.facts()["reserved_bytes"] == ours.reserved.tolist()


def test_a_device_that_is_full() -> None:
    entries = ((0, 1, 50 * MIB), (10, 2, 30 * MIB), (20, 2, -30 * MIB), (30, 3, 40 * MIB), (40, 4, 20 * MIB))
    found = simple(*entries, reserved=200 * MIB)
    enough, little = replay(found, capacity=110 * MIB), replay(found, capacity=100 * MIB)
    assert (enough.refused, enough.peak_reserved) == (0, 110 * MIB), "what was cached went back first"
    assert (little.refused, len(little.time), little.conf) == (20 * MIB, 4, DEFAULTS)
    section = replays_section(found, replays(found, [EXPANDABLE], 100 * MIB))
    assert "defaults: out of memory after 4 of them, when 20 MiB were asked for." in section.sentences
    assert [row[1:3] for row in section.tables[0].rows] == [("200 MiB", "1.000"), *[("out of memory", "")] * 2]


def test_what_is_said() -> None:
    found = simple((0, 1, 50 * MIB), (10, 1, -50 * MIB), (20, 2, 30 * MIB))
    section = replays_section(found, replays(found, [EXPANDABLE]))
    assert section.sentences == (
        "3 allocations and frees on cpu, 50 MiB in use at most.",
        "defaults reserves 50 MiB (50.0%) less than what was recorded.",
    )
    (table,) = section.tables
    assert table.rows == (
        (RECORDED, "100 MiB", "1.000", "50.0%", "75.0%", "0"),
        (DEFAULTS, "50 MiB", "0.500", "0.0%", "50.0%", "1"),
        (EXPANDABLE, "60 MiB", "0.600", "16.7%", "58.3%", "1"),
    )


def test_a_configuration_that_there_is_not() -> None:
    with pytest.raises(
        ReplayError, match=r"^configuration 'odd:1': there is no option 'odd': use one of max_split_size_mb"
    ):
        replay(simple((0, 1, 10)), "odd:1")


@pytest.mark.parametrize("machine", ["h100", "mi300"])
def test_real_traces_of_torch(machine: str) -> None:
    path = CASES / f"torch_bert_small_{machine}.json.gz"
    if not path.exists():
        pytest.skip("there are no sample traces beside the checkout")
    found = read(path)
    torchs, ours, grown = replays(found, [EXPANDABLE])
    assert torchs.conf == RECORDED
    assert ours.peak_reserved <= 1.02 * torchs.peak_reserved
    assert grown.peak_reserved <= torchs.peak_reserved
    assert ours.peak_allocated == torchs.peak_allocated == found.allocated.max()


def test_a_trace_of_ours(tmp_path: Path) -> None:
    """Of the model of `make demo`, in a process of its own."""
    command = [sys.executable, "-m", "perflab.benchmarks.char_lm", "--out", str(tmp_path), "--steps", "30", "--trace"]
    subprocess.run(command, check=True, capture_output=True)
    found = read(tmp_path / "trace.json.gz")
    assert found.device == "cpu"
    _, ours, grown = replays(found, [EXPANDABLE])
    assert ours.peak_allocated == grown.peak_allocated == found.allocated[found.earlier :].max() > 0
    for one in (ours, grown):
        assert np.all(one.reserved >= one.allocated)
        assert one.device_allocations <= 4, "a training loop in steady state"
        assert np.all(one.reserved[len(found) // 2 :] == one.peak_reserved), "and no more later"
