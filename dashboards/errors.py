"""What can go wrong on a page.

DashboardError
├── StepNotFound        the trace has no step of that number
└── SliceNotFound       the trace has no slice of that number
"""

from collections.abc import Sequence


class DashboardError(Exception):
    """A page cannot be drawn; str() is one sentence that says what came and what to do."""


class StepNotFound(DashboardError):
    """The trace has no step of that number."""

    def __init__(self, asked: int, known: Sequence[int]) -> None:
        has = f"its steps are {known[0]} to {known[-1]}" if known else "it has no steps"
        super().__init__(f"the trace has no step {asked}: {has}, choose one of them")


class SliceNotFound(DashboardError):
    """The trace has no slice of that number."""

    def __init__(self, asked: int, count: int) -> None:
        has = f"they are numbered from 0 to {count - 1}" if count else "it has none"
        super().__init__(f"the trace has no slice {asked}: {has}")
