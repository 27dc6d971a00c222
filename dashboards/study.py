"""What the pages of a trace say of the whole of it, each part made when a page first asks for it."""

from collections.abc import Sequence
from functools import cached_property
from weakref import WeakKeyDictionary, ref

from perflab.profiler.analysis.advice import Advice, advise
from perflab.profiler.analysis.averages import Averages, key_averages
from perflab.profiler.analysis.blocks import Blocks, blocks
from perflab.profiler.analysis.contention import Blocked, Convoy, GilThread, blocked, convoys, gil_threads
from perflab.profiler.analysis.gil import GilWait, gil_waits
from perflab.profiler.analysis.groups import GroupBy
from perflab.profiler.analysis.memory import MemoryCurve, memory_curve
from perflab.profiler.analysis.ops import Ops, ops
from perflab.profiler.analysis.outliers import OutlierStep, outlier_steps
from perflab.profiler.analysis.parts import StepParts, loop_parts
from perflab.profiler.analysis.ranks import Ranks, rank_of, ranks
from perflab.profiler.analysis.steps import Step, steps
from perflab.profiler.analysis.trees import TimeTree, TreeOf, time_tree
from perflab.profiler.trace import Trace

from .outline import Outline, outline


class Study:
    """The analyses of a trace. A large trace takes a second or two to study whole, and no page needs all of it."""

    def __init__(self, trace: Trace) -> None:
        self._trace = ref(trace)  # it is kept as long as the trace, by the trace
        self._averages: dict[GroupBy, Averages] = {}
        self._trees: dict[TreeOf, TimeTree] = {}

    @property
    def trace(self) -> Trace:
        """The trace, which whoever asks must hold."""
        found = self._trace()
        assert found is not None
        return found

    @cached_property
    def span(self) -> tuple[int, int]:
        return self.trace.span()

    @property
    def span_ns(self) -> int:
        return max(self.span[1] - self.span[0], 1)

    @cached_property
    def steps(self) -> Sequence[Step]:
        return steps(self.trace)

    @cached_property
    def parts(self) -> Sequence[StepParts]:
        """Of each step, or of the whole as one where it has none."""
        return loop_parts(self.trace)

    @cached_property
    def outliers(self) -> Sequence[OutlierStep]:
        return outlier_steps(self.trace)

    @cached_property
    def outline(self) -> Outline:
        return outline(self.trace, self.steps)

    @cached_property
    def advice(self) -> Sequence[Advice]:
        return advise(self.trace)

    @property
    def is_advised(self) -> bool:
        """Whether the advice, which takes longest of all, is made."""
        return "advice" in self.__dict__

    @cached_property
    def curve(self) -> MemoryCurve:
        return memory_curve(self.trace)

    @cached_property
    def blocks(self) -> Blocks:
        return blocks(self.trace)

    @cached_property
    def waits(self) -> Sequence[GilWait]:
        return gil_waits(self.trace)

    @cached_property
    def threads(self) -> Sequence[GilThread]:
        return gil_threads(self.trace)

    @cached_property
    def blocked(self) -> Sequence[Blocked]:
        return blocked(self.trace)

    @cached_property
    def convoys(self) -> Sequence[Convoy]:
        return convoys(self.trace)

    @cached_property
    def is_of_ranks(self) -> bool:
        """Whether it is of more than one rank, which is known sooner than what these did."""
        return len({rank_of(track) for track in self.trace.tracks} - {None}) > 1

    @cached_property
    def ranks(self) -> Ranks | None:
        return ranks(self.trace)

    @cached_property
    def ops(self) -> Ops:
        return ops(self.trace)

    def averages(self, by: GroupBy) -> Averages:
        if by not in self._averages:
            self._averages[by] = key_averages(self.trace, by)
        return self._averages[by]

    def tree(self, of: TreeOf) -> TimeTree:
        if of not in self._trees:
            self._trees[of] = time_tree(self.trace, of)
        return self._trees[of]


_DONE: WeakKeyDictionary[Trace, Study] = WeakKeyDictionary()


def study(trace: Trace) -> Study:
    """The study of a trace, kept as long as the trace is."""
    found = _DONE.get(trace)
    if found is None:
        found = _DONE[trace] = Study(trace)
    return found
