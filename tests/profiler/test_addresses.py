"""The stretches of addresses that blocks were in, and what lay in them at the peak."""

from perflab.profiler.analysis.addresses import segments_at_peak
from perflab.profiler.analysis.blocks import blocks
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.memory_snapshot import Segment
from perflab.profiler.trace import Trace, Track

MAIN = Track(1, 1, "main")
KIB, MIB = 1 << 10, 1 << 20
HERE = 1 << 32


def traced(*changes: tuple[int, int], ops: int = 0, told: bool = True) -> Trace:
    """Changes of memory by address and bytes (below 0 for a free), one every 10 ns; an op is around the first."""
    builder = TraceBuilder()
    total = 0
    if ops:
        builder.slice("matmul", 0, 10 * ops - 5, track=MAIN, category="cpu_op")
    for number, (address, size) in enumerate(changes):
        total += size
        args = {"Bytes": size, "Total Allocated": total} | ({"Addr": address} if told else {})
        builder.instant("[memory]", 10 * number, track=MAIN, category="cpu_instant_event", args=args)
    return builder.build()


def found(trace: Trace) -> list[Segment]:
    return segments_at_peak(trace, blocks(trace))


def said(segment: Segment) -> list[tuple[int, int, str, str]]:
    return [(block.address - segment.address, block.bytes, block.state, block.op) for block in segment.blocks]


def test_a_stretch_has_what_was_in_use_at_the_peak_and_what_was_free_then() -> None:
    trace = traced(
        (HERE, 4 * KIB),
        (HERE + 4 * KIB, 8 * KIB),
        (HERE + 4 * KIB, -8 * KIB),
        (HERE + 16 * KIB, 32 * KIB),  # the peak
        (HERE, -4 * KIB),
        (HERE + 60 * KIB, 1 * KIB),
        ops=1,
    )
    (segment,) = found(trace)
    assert (segment.address, segment.bytes, segment.pool) == (HERE, 61 * KIB, "small")
    assert said(segment) == [
        (0, 4 * KIB, "allocated", "matmul"),
        (4 * KIB, 12 * KIB, "free", ""),
        (16 * KIB, 32 * KIB, "allocated", ""),
        (48 * KIB, 13 * KIB, "free", ""),
    ]


def test_what_lies_far_apart_is_of_several_stretches() -> None:
    trace = traced((HERE, 2 * MIB), (HERE + 2 * MIB + 64 * KIB, KIB), (HERE + 8 * MIB, KIB))
    assert [(segment.address - HERE, segment.bytes, segment.pool) for segment in found(trace)] == [
        (0, 2 * MIB + 65 * KIB, "large"),
        (8 * MIB, KIB, "small"),
    ]


def test_what_was_there_before_lies_where_its_free_says() -> None:
    trace = traced((HERE + 4 * KIB, 4 * KIB), (HERE, -4 * KIB))
    assert [said(segment) for segment in found(trace)] == [
        [(0, 4 * KIB, "allocated", ""), (4 * KIB, 4 * KIB, "allocated", "")]
    ]


def test_without_addresses_or_memory_there_is_none() -> None:
    assert found(traced((0, 4 * KIB), told=False)) == []
    assert found(TraceBuilder().build()) == []
