"""Histories of memory: the same from every kind of file."""

from pathlib import Path

import numpy as np
import pytest

from perflab.profiler import TraceBuilder, TraceFormatError, Track, chrome
from perflab.profiler.memory_history import UNKNOWN, Kind, MemoryHistory, history, read

from .torch_rules import MIB, TorchRules

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "traces"
A, F, R, S = Kind.ALLOC, Kind.FREE, Kind.RELEASE, Kind.SEGMENT


def rows(found: MemoryHistory) -> list[tuple[int, int, int]]:
    """Kind, id and bytes."""
    return list(zip(found.kind.tolist(), found.id.tolist(), found.bytes.tolist(), strict=True))


def test_of_a_snapshot(tmp_path: Path) -> None:
    rules = TorchRules()
    first, second = rules.malloc(100), rules.malloc(3 * MIB, stream=7)
    rules.free(first)
    rules.empty_cache()
    rules.malloc(200)
    found = read(rules.dump(tmp_path / "snap.pickle"))
    assert rows(found) == [(A, 0, 100), (A, 1, 3 * MIB), (F, 0, 100), (R, UNKNOWN, 0), (A, 2, 200)]
    assert found.reserved.tolist() == [2 * MIB, 22 * MIB, 22 * MIB, 20 * MIB, 22 * MIB]
    assert found.allocated.tolist() == [100, 100 + 3 * MIB, 3 * MIB, 3 * MIB, 200 + 3 * MIB]
    assert found.stream.tolist()[:2] == [0, 7]
    assert found.address.tolist()[:2] == [first, second]
    assert (found.device, found.device_allocations, found.earlier) == ("cuda:0", 3, 0)


def test_of_a_snapshot_whose_history_begins_late(tmp_path: Path) -> None:
    rules = TorchRules()
    rules.malloc(8 * MIB)
    goes = rules.malloc(5 * MIB)
    began = len(rules.events)
    rules.free(goes)
    found = read(rules.dump(tmp_path / "snap.pickle", slice(began, None)))
    assert rows(found) == [(S, UNKNOWN, 20 * MIB), (A, 0, 8 * MIB), (A, 1, 5 * MIB), (F, 1, 5 * MIB)]
    assert found.allocated.tolist() == [0, 8 * MIB, 13 * MIB, 8 * MIB]
    assert (found.earlier, found.device_allocations) == (3, 0)


def instants(*entries: tuple[int, int, int, int], **more: int) -> MemoryHistory:
    """From address, bytes, total and reserved."""
    builder = TraceBuilder()
    for place, (address, size, total, reserved) in enumerate(entries):
        args = {"Addr": address, "Bytes": size, "Total Allocated": total, "Total Reserved": reserved, **more}
        builder.instant("[memory]", 10 * place, track=Track(1, 1), args=args)
    return history(builder.build())


def test_of_instants_as_torch_writes_them() -> None:
    found = instants((64, 512, 1512, 4096), (64, -512, 1000, 4096), (96, -200, 800, 4096), (64, 9000, 9800, 16384))
    # 200 bytes were there and went, 800 were there and stayed
    assert rows(found) == [(A, 3, 800), (A, 1, 200), (A, 0, 512), (F, 0, 512), (F, 1, 200), (A, 2, 9000)]
    assert found.allocated.tolist() == [800, 1000, 1512, 1000, 800, 9800]
    assert (found.earlier, found.device_allocations, found.device) == (2, 1, "cpu")
    assert found.time.tolist() == [0, 0, 0, 10, 20, 30]


def test_a_cache_that_was_emptied_shows_in_what_is_reserved() -> None:
    found = instants((64, 512, 512, 4096), (64, -512, 0, 4096), (64, 100, 100, 2048))
    assert rows(found) == [(A, 0, 512), (F, 0, 512), (R, UNKNOWN, 0), (A, 1, 100)]
    assert found.reserved.tolist() == [4096, 4096, 2048, 2048]


def test_a_free_that_was_lost_happened_before_its_address_came_back() -> None:
    found = instants((64, 512, 512, 4096), (64, 100, 612, 4096))
    assert rows(found) == [(A, 0, 512), (F, 0, 512), (A, 1, 100)]


def test_where_the_trace_does_not_tell_what_was_reserved() -> None:
    for reserved in (0, 300):  # torch says 0 of the CPU; less than is in use is a reading from another moment
        found = instants((64, 512, 512, reserved), (64, -512, 0, reserved))
        assert found.reserved.tolist() == [UNKNOWN, UNKNOWN]
        assert found.device_allocations == UNKNOWN


def test_what_was_reserved_may_be_a_counter() -> None:
    builder = TraceBuilder()
    track = Track(1, 1)
    for time, reserved in ((0, 4096), (15, 8192)):
        builder.counter("Reserved", time, reserved, track=track)
    for time, size, total in ((5, 512, 512), (10, 3000, 3512), (20, -512, 3000)):
        args = {"Addr": 64 + abs(size), "Bytes": size, "Total Allocated": total}
        builder.instant("[memory]", time, track=track, args=args)
    found = history(builder.build())
    assert found.reserved.tolist() == [4096, 4096, 8192]


def test_what_was_asked_for_counts_where_it_is_told() -> None:
    found = instants((64, 512, 512, 4096), (64, -512, 0, 4096), **{"Asked Bytes": 500})
    assert rows(found) == [(A, 0, 500), (F, 0, 500)]
    assert found.allocated.tolist() == [500, 0]


def test_of_several_devices_it_is_the_one_that_held_most() -> None:
    builder = TraceBuilder()
    for device, pid, size in ((0, 1, 100), (1, 1, 300), (1, 2, 200)):
        args = {"Addr": 64, "Bytes": size, "Total Allocated": size, "Device Type": 1, "Device Id": device}
        builder.instant("[memory]", 0, track=Track(pid, 1), args=args)
    found = history(builder.build())
    assert (rows(found), found.device) == ([(A, 0, 300)], "cuda:1")


def test_pools_have_numbers() -> None:
    builder = TraceBuilder()
    for place, pool in enumerate(("", "(0, 4)", "(0, 0)", "(0, 4)", 0)):
        args = {"Addr": place, "Bytes": 8, "Total Allocated": 8 * (place + 1), "Pool": pool}
        builder.instant("[memory]", place, track=Track(1, 1), args=args)
    assert history(builder.build()).pool.tolist() == [0, 1, 2, 1, 0]


def test_a_file_without_allocations_is_refused(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.slice("add", 0, 10, track=Track(1, 1))
    chrome.write(builder.build(), tmp_path / "trace.json")
    with pytest.raises(TraceFormatError, match=r"trace\.json: it tells of no allocations"):
        read(tmp_path / "trace.json")


@pytest.mark.parametrize(("machine", "device"), [("h100", "cuda:0"), ("mi300", "hip:0")])
def test_of_real_traces_of_torch(machine: str, device: str) -> None:
    name = f"torch_bert_small_{machine}.json.gz"
    if not (CASES / name).exists():
        pytest.skip("there are no sample traces beside the checkout")
    found = read(CASES / name)
    args = chrome.read(CASES / name).instant_args
    on_device = args["Device Id"].values >= 0
    assert np.array_equal(found.allocated[found.earlier :], args["Total Allocated"].values[on_device])
    assert found.device == device
    assert np.all(found.reserved >= found.allocated)
