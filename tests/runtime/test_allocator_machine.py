"""The caching allocator's invariants under any sequence of calls, over addresses without memory (AllocatorReplay)."""

import itertools
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from perflab.runtime import _core
from perflab.runtime.alloc_conf import AllocatorOptions, parse_alloc_conf
from perflab.runtime.errors import ArgumentError, OutOfMemoryError

MIB = 1 << 20
FREE, USED, PENDING, UNMAPPED = range(4)
CONFS = (
    "",
    "expandable_segments:True",
    "max_split_size_mb:24,garbage_collection_threshold:0.5",
    "roundup_power2_divisions:4",
)
streams = st.integers(0, 2)


class AllocatorMachine(RuleBasedStateMachine):
    """Streams 0 to 2 and two pools on a device of 128 MiB. `waiting` are blocks freed while other streams used them."""

    blocks: Bundle[int] = Bundle("blocks")

    @initialize(conf=st.sampled_from(CONFS))
    def begin(self, conf: str) -> None:
        self.allocator = _core.AllocatorReplay(128 * MIB, parse_alloc_conf(conf))
        self.pools = (0, self.allocator.make_pool())
        self.live: dict[int, tuple[int, int]] = {}  # address and bytes
        self.asked: dict[int, int] = {}
        self.used_by: dict[int, set[int]] = {}
        self.home: dict[int, int] = {}
        self.waiting: list[tuple[int, int, set[int]]] = []

    @rule(
        target=blocks,
        asked=st.one_of(st.integers(0, 4096), st.integers(0, 3 * MIB), st.integers(0, 40 * MIB)),
        stream=streams,
        pool=st.integers(0, 1),
    )
    def allocate(self, asked: int, stream: int, pool: int) -> Any:
        try:
            block = self.allocator.allocate(asked, stream, self.pools[pool])
        except OutOfMemoryError:
            self.waiting.clear()  # it waited for all of them before it gave up
            return -1
        address, size = self.allocator.block(block)
        assert size >= max(asked, 512) and size % 512 == 0 and address % 512 == 0
        taken = list(self.live.values())
        if self.allocator.pending_events:  # else it may have waited
            taken += [(begin, length) for begin, length, _ in self.waiting]
        assert all(address + size <= begin or begin + length <= address for begin, length in taken)
        self.live[block], self.asked[block] = (address, size), asked
        self.used_by[block], self.home[block] = set(), stream
        if not self.allocator.pending_events:
            self.waiting.clear()
        return block

    @rule(block=blocks, stream=streams)
    def use_on(self, block: int, stream: int) -> None:
        if block in self.live:
            self.allocator.record_stream(block, stream)
            self.used_by[block] |= {stream} - {self.home[block]}

    @rule(block=consumes(blocks))
    def free(self, block: int) -> None:
        if block in self.live:
            self.allocator.free(block)
            address, size = self.live.pop(block)
            del self.asked[block]
            if self.used_by[block]:
                self.waiting.append((address, size, self.used_by[block]))

    @rule(stream=streams)
    def finish(self, stream: int) -> None:
        self.allocator.finish(stream)
        self.waiting = [(a, n, on - {stream}) for a, n, on in self.waiting if on - {stream}]

    @rule()
    def empty_cache(self) -> None:
        self.allocator.empty_cache()
        self.waiting.clear()
        assert self.allocator.pending_events == 0

    @invariant()
    def books_are_right(self) -> None:
        states: dict[int, int] = dict.fromkeys(range(4), 0)
        for address, size, mapped, _, _, _, expandable, blocks in self.allocator.snapshot():
            assert [b[0] for b in blocks] == [address + sum(b[1] for b in blocks[:i]) for i in range(len(blocks))]
            assert sum(b[1] for b in blocks) == size and mapped == sum(b[1] for b in blocks if b[3] != UNMAPPED)
            assert expandable or mapped == size
            for before, after in itertools.pairwise(blocks):
                assert before[3] != after[3] or before[3] in (USED, PENDING)
            for block in blocks:
                states[block[3]] += block[1]
        stats = self.allocator.stats()
        assert states[USED] == sum(size for _, size in self.live.values()) == stats["allocated_bytes.all.current"]
        assert states[PENDING] == sum(size for _, size, _ in self.waiting)
        assert states[USED] + states[PENDING] == stats["active_bytes.all.current"]
        assert stats["requested_bytes.all.current"] == sum(self.asked.values())
        assert stats["allocation.all.current"] == len(self.live)
        reserved = states[FREE] + states[USED] + states[PENDING]
        assert reserved == stats["reserved_bytes.all.current"] == self.allocator.reserved == self.allocator.mapped
        for key in ("allocated_bytes", "reserved_bytes", "active_bytes", "segment", "inactive_split"):
            parts = [stats[f"{key}.{pool}.current"] for pool in ("small_pool", "large_pool")]
            assert sum(parts) == stats[f"{key}.all.current"] <= stats[f"{key}.all.peak"]

    def teardown(self) -> None:
        if hasattr(self, "allocator"):
            for block in list(self.live):
                self.allocator.free(block)
            self.allocator.end_pool(self.pools[1])
            self.allocator.empty_cache()
            assert self.allocator.mapped == self.allocator.reserved == self.allocator.pending_events == 0
            assert self.allocator.snapshot() == []


TestAllocatorMachine = AllocatorMachine.TestCase
TestAllocatorMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_blocks_are_known_by_number() -> None:
    allocator = _core.AllocatorReplay(8 * MIB, AllocatorOptions())
    assert [allocator.allocate(1), allocator.allocate(2)] == [0, 1]
    allocator.free(0)
    for call in (allocator.free, allocator.block):
        with pytest.raises(ArgumentError, match="block 0 is not in use"):
            call(0)


def test_the_message_of_out_of_memory_names_its_parts() -> None:
    allocator = _core.AllocatorReplay(64 * MIB, AllocatorOptions())
    allocator.allocate(20 * MIB)
    allocator.allocate(12 * MIB)
    small = allocator.allocate(2 * MIB)
    with pytest.raises(OutOfMemoryError) as refused:
        allocator.allocate(40 * MIB)
    for part in (
        "no memory for 40.00 MiB",
        "34.00 MiB allocated and 52.00 MiB reserved",
        "12.00 MiB of 64.00 MiB are free on the device",
        "The largest free block is 18.00 MiB (fragmentation 0 %)",
        "Most is held by no op: 34.00 MiB in 3 blocks",
    ):
        assert part in str(refused.value)
    assert isinstance(refused.value, MemoryError) and isinstance(refused.value, RuntimeError)
    allocator.free(small)
    assert allocator.stats()["num_ooms"] == 1 and allocator.block(allocator.allocate(30 * MIB))[1] == 30 * MIB
