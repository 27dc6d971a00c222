"""The op table: one row an op, with its shares."""

from dataclasses import dataclass

from perflab.profiler.analysis.averages import Averages


@dataclass(frozen=True)
class OpRow:
    """One op summed over the trace. Times in ns, bytes in bytes, shares as fractions of 1.

    `self_share` is of the self time of all ops; `kernel_share` is of the op's self time, above 1 where a device's
    kernels ran longer than the op that launched them.
    """

    name: str
    count: int
    self_ns: int
    self_share: float
    total_ns: int
    mean_self_ns: float
    kernel_share: float | None
    allocated_bytes: int
    gil_wait_ns: int


def rows(averages: Averages) -> list[OpRow]:
    """The rows of `averages`, the largest self time first."""
    everything = sum(row.self_ns for row in averages.rows)
    table = [
        OpRow(
            name=row.name,
            count=row.count,
            self_ns=row.self_ns,
            self_share=row.self_ns / everything if everything else 0.0,
            total_ns=row.total_ns,
            mean_self_ns=row.self_ns / row.count,
            kernel_share=row.kernel_ns / row.self_ns if row.self_ns and row.kernel_ns else None,
            allocated_bytes=row.allocated_bytes,
            gil_wait_ns=row.gil_wait_ns,
        )
        for row in averages.rows
    ]
    return sorted(table, key=lambda row: (-row.self_ns, row.name))
