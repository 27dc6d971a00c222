"""Averages by op, shape, module, stack or step, and the table of them that torch.profiler's users know."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..table import format_table
from ..trace import Int64s, Trace
from .costs import costs
from .enclosing import outermost
from .groups import GroupBy, groups
from .lacks import lacks
from .ops import ops
from .overhead import recording_ns


@dataclass(frozen=True, slots=True)
class OpAverage:
    """All calls of one group of ops; sums over them, in ns and bytes.

    `flops` and `moved_bytes` are of those calls whose cost is known; these took `costed_ns`, of kernels or else of
    self time. `recording_ns` is what recording itself took of the total time.
    """

    name: str
    count: int
    self_ns: int
    total_ns: int
    kernel_ns: int
    allocated_bytes: int
    gil_wait_ns: int
    kernels: int = 0
    flops: int = 0
    moved_bytes: int = 0
    costed_ns: int = 0
    recording_ns: int = 0

    @property
    def corrected_ns(self) -> int:
        """Total time without what recording took of it, where the trace says what events cost."""
        return self.total_ns - self.recording_ns

    @property
    def flops_per_s(self) -> float:
        """Achieved FLOP/s, 0 where no cost is known."""
        return self.flops / self.costed_ns * 1e9 if self.costed_ns else 0.0

    @property
    def bytes_per_s(self) -> float:
        """Achieved bytes/s, 0 where no cost is known."""
        return self.moved_bytes / self.costed_ns * 1e9 if self.costed_ns else 0.0


@dataclass(frozen=True, slots=True)
class Averages:
    """Averages of all groups, by falling self time; `notes` say what the trace lacks."""

    rows: tuple[OpAverage, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[OpAverage]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def table(self, sort_by: str = "self_cpu_time_total", row_limit: int = 10) -> str:
        """Text table of the first `row_limit` ops by falling `sort_by`; all of them where the limit is negative.

        Raises ValueError where the sort key is unknown; the message names those there are.
        """
        return format_table(self.rows, sort_by, row_limit, self.notes)


def key_averages(trace: Trace, group_by: GroupBy = "op") -> Averages:
    """Sums of each group over the whole trace.

    Groups of several ops count in their total time no op twice: one inside another of the same group adds nothing.
    Raises ValueError where `group_by` is unknown; the message names what there is.
    """
    columns = ops(trace)
    grouped = groups(trace, columns, group_by)
    of_op, count = grouped.of_op, len(grouped.labels)
    cost = costs(trace, columns)
    total_ns, recording = columns.total_ns, np.rint(recording_ns(trace)[columns.row]).astype(np.int64)
    if group_by not in ("op", "op+shape"):
        alone = outermost(trace, columns.row, of_op)
        total_ns, recording = np.where(alone, total_ns, 0), np.where(alone, recording, 0)
    measures = (
        columns.self_ns, total_ns, columns.kernel_ns, columns.allocated_bytes, columns.gil_wait_ns,
        columns.kernels, cost.flops, cost.moved_bytes, cost.ns, recording,
    )  # fmt: skip
    calls = np.bincount(of_op, minlength=count)
    present = np.flatnonzero(calls)
    sums = [_sums(of_op, measure, count)[present] for measure in measures]
    order = np.argsort(-sums[0], kind="stable")
    values = np.stack([calls[present], *sums])[:, order].T.tolist() if len(present) else []
    labels = [grouped.labels[group] for group in present[order].tolist()]
    rows = tuple(OpAverage(label, *row) for label, row in zip(labels, values, strict=True))
    return Averages(rows, lacks(trace.metadata))


def _sums(of_op: Int64s, values: Int64s, count: int) -> Int64s:
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, of_op, values)
    return sums
