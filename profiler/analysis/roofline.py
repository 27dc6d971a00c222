"""Roofline: what ops achieve of what a machine could (Williams, Waterman and Patterson, 2009)."""

from dataclasses import dataclass
from typing import Literal

from ..ceilings import Ceilings
from ..trace import Trace
from .averages import key_averages
from .groups import GroupBy


@dataclass(frozen=True, slots=True)
class OpRoof:
    """An op (of one shape) under the roof. `intensity`: FLOPs a byte. `least_ns`: the time that its FLOPs or its bytes,
    whichever take longer, would take at the ceiling; `ns`: what they took. `bound` names that ceiling."""

    name: str
    count: int
    ns: int
    flops: int
    moved_bytes: int
    least_ns: float
    bound: Literal["compute", "memory"]

    @property
    def intensity(self) -> float:
        return self.flops / self.moved_bytes if self.moved_bytes else 0.0

    @property
    def of_ceiling(self) -> float:
        """Which share of what the machine could: 1 is the roof. Data in caches can be above it."""
        return self.least_ns / self.ns

    @property
    def saving_ns(self) -> float:
        """What could be won at most, were the op at the roof."""
        return max(0.0, self.ns - self.least_ns)


def roofline(trace: Trace, ceilings: Ceilings, group_by: GroupBy = "op+shape") -> list[OpRoof]:
    """The ops whose cost is known, by falling time to win."""
    found = []
    for row in key_averages(trace, group_by):
        if not row.costed_ns:
            continue
        compute, memory = row.flops / ceilings.flops_per_s * 1e9, row.moved_bytes / ceilings.bytes_per_s * 1e9
        found.append(
            OpRoof(
                name=row.name,
                count=row.count,
                ns=row.costed_ns,
                flops=row.flops,
                moved_bytes=row.moved_bytes,
                least_ns=max(compute, memory),
                bound="compute" if compute > memory else "memory",
            )
        )
    return sorted(found, key=lambda op: -op.saving_ns)
