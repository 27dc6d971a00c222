"""The text table of `key_averages().table()`, in the columns and with the sort keys of torch.profiler."""

from collections.abc import Callable, Sequence
from typing import Protocol


class Row(Protocol):
    """What a line of the table is made of; times in ns."""

    @property
    def name(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def self_ns(self) -> int: ...
    @property
    def total_ns(self) -> int: ...
    @property
    def kernel_ns(self) -> int: ...
    @property
    def allocated_bytes(self) -> int: ...
    @property
    def gil_wait_ns(self) -> int: ...
    @property
    def corrected_ns(self) -> int: ...


SORT_KEYS: dict[str, Callable[[Row], float]] = {
    "self_cpu_time_total": lambda row: row.self_ns,
    "cpu_time_total": lambda row: row.total_ns,
    "cpu_time": lambda row: row.total_ns / row.count,
    "count": lambda row: row.count,
    "kernel_time_total": lambda row: row.kernel_ns,
    "cpu_memory_usage": lambda row: row.allocated_bytes,
    "gil_wait_time_total": lambda row: row.gil_wait_ns,
}

_HEADINGS = (
    "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg",
    "Kernel", "Kernel %", "CPU Mem", "GIL wait", "# of Calls",
)  # fmt: skip
_WIDEST_NAME = 55


def format_table(rows: Sequence[Row], sort_by: str, row_limit: int, notes: Sequence[str] = ()) -> str:
    """The first `row_limit` rows (all where negative) by falling `sort_by`, the total and the notes below.

    Percentages are of the self time of all rows; `Kernel %` is the kernels' share of an op's own self time. `Corrected`
    is the total time without what recording took of it, and stands where that is known.
    Raises ValueError where the sort key is unknown.
    """
    if sort_by not in SORT_KEYS:
        raise ValueError(f"cannot sort by {sort_by!r}; sort_by is one of {', '.join(SORT_KEYS)}")
    ordered = sorted(rows, key=SORT_KEYS[sort_by], reverse=True)
    shown = ordered if row_limit < 0 else ordered[:row_limit]
    everything = sum(row.self_ns for row in rows)
    lines = [_HEADINGS, *(_cells(row, everything) for row in shown)]
    if any(row.corrected_ns != row.total_ns for row in rows):
        corrected = ("Corrected", *(format_ns(row.corrected_ns) for row in shown))
        lines = [(*cells, cell) for cells, cell in zip(lines, corrected, strict=True)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "  ".join("-" * width for width in widths)
    heading, *body = (_line(cells, widths) for cells in lines)
    return "\n".join([rule, heading, rule, *body, rule, f"Self CPU time total: {format_ns(everything)}", *notes, ""])


def _cells(row: Row, everything: int) -> tuple[str, ...]:
    name = row.name if len(row.name) <= _WIDEST_NAME else row.name[: _WIDEST_NAME - 3] + "..."
    return (
        name,
        _percent(row.self_ns, everything),
        format_ns(row.self_ns),
        _percent(row.total_ns, everything),
        format_ns(row.total_ns),
        format_ns(row.total_ns / row.count),
        format_ns(row.kernel_ns),
        _percent(row.kernel_ns, row.self_ns),
        format_bytes(row.allocated_bytes),
        format_ns(row.gil_wait_ns),
        str(row.count),
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    name, *numbers = (cell.ljust(width) if not place else cell.rjust(width)
                      for place, (cell, width) in enumerate(zip(cells, widths, strict=True)))  # fmt: skip
    return "  ".join([name, *numbers])


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "0.00%"


def format_ns(ns: float) -> str:
    """Three decimals in the unit that fits, as torch writes times."""
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if abs(ns) >= size:
            return f"{ns / size:.3f}{unit}"
    return f"{ns / 1e3:.3f}us"


def format_bytes(count: float) -> str:
    """Two decimals in the unit that fits, as torch writes sizes."""
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count:.0f} B"
