"""Averages by op, and the table of them that torch.profiler's users know."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..table import format_table
from ..trace import Trace
from .ops import by_name, ops


@dataclass(frozen=True, slots=True)
class OpAverage:
    """All calls of one op; sums over them, in ns and bytes."""

    name: str
    count: int
    self_ns: int
    total_ns: int
    kernel_ns: int
    allocated_bytes: int
    gil_wait_ns: int


@dataclass(frozen=True, slots=True)
class Averages:
    """Averages of all ops, by falling self time."""

    rows: tuple[OpAverage, ...]

    def __iter__(self) -> Iterator[OpAverage]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def table(self, sort_by: str = "self_cpu_time_total", row_limit: int = 10) -> str:
        """Text table of the first `row_limit` ops by falling `sort_by`; all of them where the limit is negative.

        Raises ValueError where the sort key is unknown; the message names those there are.
        """
        return format_table(self.rows, sort_by, row_limit)


def key_averages(trace: Trace) -> Averages:
    """Sums of each op over the whole trace."""
    columns = ops(trace)
    names = len(trace.strings)
    count = np.bincount(columns.name, minlength=names)
    measures = (
        columns.self_ns, columns.total_ns, columns.kernel_ns, columns.allocated_bytes, columns.gil_wait_ns
    )  # fmt: skip
    sums = [by_name(columns, measure, names) for measure in measures]
    present = np.flatnonzero(count)
    present = present[np.argsort(-sums[0][present], kind="stable")]
    return Averages(
        tuple(
            OpAverage(trace.strings[name], int(count[name]), *(int(column[name]) for column in sums))
            for name in present.tolist()
        )
    )
