"""A window: a stretch of time in which everything that is recorded for one profile is on."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from perflab import runtime
from perflab.runtime import _core, sim
from perflab.runtime.spec import DTYPES

from .analysis.overhead import RECORDING_COSTS
from .budget import Budget
from .call_stacks import CallStacks
from .costs import cost
from .cupti import CUPTI
from .events import STEP_MARK
from .family import FAMILY
from .garbage import GarbageRecorder
from .gil import GilRecorder
from .gil_track import GilRecord
from .modelled import modelled
from .recorder import RECORDER
from .recording import Clock, Recording
from .resident import PEAK, ResidentMemory
from .stacks import StackRecorder
from .tasks import TaskNames
from .threads import ThreadNames
from .torch_recorder import TorchRecord, TorchRecorder
from .trace import Json

_OWN_FILES = os.path.dirname(runtime.__file__)


class Window:
    """Begins when it is made. Where a part of it cannot begin that error is raised, and nothing is left on."""

    def __init__(
        self,
        max_events: int,
        begin_torch: Callable[[], TorchRecorder | None],
        with_stack: bool,
        record_stacks: bool,
        budget: float | None = None,
    ) -> None:
        stack = StackRecorder() if with_stack else None
        self._stack, self._max_events = stack, max_events
        with ExitStack() as begun:
            self._torch = begin_torch()  # first, as it takes the longest
            begun.callback(self._stop_torch)
            self._share = RECORDER.begin(max_events, record_stacks)
            begun.callback(RECORDER.end, self._share)
            CUPTI.begin(self)
            begun.callback(CUPTI.end, self)
            self._memory: list[tuple[int, int, int]] = []  # tick, allocated and reserved bytes
            self._on_devices: list[list[tuple[int, int]]] = []  # at the same ticks, those of each device
            self._resident = ResidentMemory()
            begun.callback(self._resident.stop)
            self.sample_memory()
            self._threads = ThreadNames()
            begun.callback(self._threads.stop)
            self._garbage = GarbageRecorder(_core.recorder_ticks, self._resident.sample)
            begun.callback(self._garbage.stop)
            self._tasks = TaskNames(_core.recorder_push, _core.recorder_ticks, _core.intern)
            begun.callback(self._tasks.stop)
            self._gil = GilRecorder()
            begun.callback(self._gil.stop)
            if stack is not None:
                stack.start(_core.recorder_ticks())
                begun.callback(stack.stop)
            self._event_ns, self._shapes_ns = RECORDER.costs().get("event", 0.0), 0.0
            details = (("stacks", self._shed_stacks), ("shapes", self._shed_shapes))
            self._budget = Budget(budget, self._spent, details) if budget is not None else None
            self._close = begun.pop_all().close
        _OPEN.add(self)

    def close(self) -> None:
        """Nothing is recorded any more; the second time in vain."""
        _OPEN.discard(self)
        self._close()

    def record_torch(self, begin_torch: Callable[[], TorchRecorder | None]) -> None:
        """Torch records too from now on, unless it does."""
        if self._torch is None:
            self._torch = begin_torch()

    def _stop_torch(self) -> TorchRecord | None:
        torch, self._torch = self._torch, None
        return torch.stop() if torch is not None else None

    def mark_step(self, number: int, began: int, ended: int) -> None:
        """A step of the profile's is over."""
        _core.recorder_push(STEP_MARK, number, began, ended, self._share.number)
        if self._budget is not None:
            self._budget.look()

    def _spent(self) -> float:
        """Ns that recording took since the recorder went on. An op counts as two events, with what frees its output."""
        costs = RECORDER.costs()
        spent = _core.recorder_count() * self._event_ns + self._shapes_ns + self._gil.count() * costs.get("hold", 0.0)
        if self._stack is not None:
            spent += self._stack.spent_ns()
        return spent

    def _shed_stacks(self) -> bool:
        if self._stack is None or not self._stack.may_stop:
            return False
        self._stack.stop()
        return True

    def _shed_shapes(self) -> bool:
        _core.record_shapes(False)
        less = RECORDER.costs().get("shapes", 0.0) / 2
        self._event_ns -= less
        self._shapes_ns = less * _core.recorder_count()  # of those before
        return True

    def sample_memory(self) -> None:
        """Read what the allocator and the process hold."""
        now, memory = _core.recorder_ticks(), _core.live_stats()
        self._memory.append((now, memory["allocated_bytes"], memory["reserved_bytes"]))
        self._on_devices.append([_core.allocator_bytes(number) for number in range(1, _core.device_count())])
        self._resident.sample(now)

    def forget(self, tick: int) -> None:
        """What ended before `tick`, the begin of a step, is not wanted any longer.

        What is kept begins with the sample of memory before it, so that totals are right.
        """
        place = max(sum(sample[0] <= tick for sample in self._memory) - 1, 0)
        del self._memory[:place], self._on_devices[:place]
        tick = self._memory[0][0]
        RECORDER.forget(self._share, tick)
        CUPTI.forget(tick, Clock(*_core.recorder_clock()))
        self._gil.forget(tick)
        self._garbage.forget(tick)
        self._resident.forget(tick)

    def take(self, metadata: dict[str, Json]) -> Recording:
        """What was recorded so far, but for the samples of the stack."""
        self.sample_memory()
        return self._recording(self._gil.read(), metadata)

    def end(self, metadata: dict[str, Json]) -> Recording:
        """What was recorded, and nothing is any more."""
        try:
            self._threads.note()  # the sampler's is one of them
            if self._stack is not None:
                self._stack.stop()
            self.sample_memory()
            recording = self._recording(self._gil.stop(), metadata)
            torch = self._stop_torch()
            notes = torch.notes if torch else {}
            stack = self._stack.read() if self._stack is not None else None
            return replace(recording, stack=stack, torch=torch, metadata=recording.metadata | notes)
        finally:
            self.close()

    def _recording(self, gil: GilRecord, metadata: dict[str, Json]) -> Recording:
        _core.cuda_settle()
        _core.sim_settle()  # the streams' threads record what they do when it is done
        events, dropped = RECORDER.take(self._share)
        clock = Clock(*_core.recorder_clock())
        events = CUPTI.joined(events, self._share.tick, clock)
        lost: dict[str, Json] = {"droppedEvents": dropped, "maxEvents": self._max_events} if dropped else {}
        peak: dict[str, Json] = {PEAK: most} if (most := self._resident.peak()) else {}
        costs: dict[str, Json] = {RECORDING_COSTS: told} if (told := RECORDER.costs()) else {}
        recording = Recording(
            events=events,
            clock=clock,
            pid=os.getpid(),
            ops=_core.op_names(),
            dtypes=[dtype.name for dtype in DTYPES],
            strings=_core.interned(),
            shapes=_core.shapes(),
            threads=self._threads.read(),
            devices=[_core.device_name(number) for number in range(_core.device_count())],
            cost=cost,
            allocated_bytes=self._memory[0][1],
            on_devices={number: allocated for number, (allocated, _) in enumerate(self._on_devices[0], 1)},
            reserved=[(tick, reserved) for tick, _, reserved in self._memory],
            reserved_on_devices=[
                (number, tick, reserved)
                for (tick, *_), devices in zip(self._memory, self._on_devices, strict=True)
                for number, (_, reserved) in enumerate(devices, 1)
            ],
            resident=self._resident.read(_core.recorder_ticks()),
            collections=self._garbage.read(),
            tasks=self._tasks.read(),
            call_stacks=CallStacks.of(_core.stacks(), _OWN_FILES) if self._share.stacks else CallStacks(),
            gil=gil,
            metadata=metadata | lost | devices_told(),
        )
        if sim.model():
            return modelled(recording, set(_core.sim_threads()))
        recording.metadata.update(gil.notes | peak | costs | (self._budget.notes() if self._budget else {}))
        recording.children.extend(self._of_children(recording))
        return recording

    def _of_children(self, own: Recording) -> Iterator[Recording]:
        number = sum(len(events) for _, events in own.events)
        for child in FAMILY.read(self._share.tick):
            yield Recording(
                events=child.events,
                clock=own.clock,
                pid=child.pid,
                ops=own.ops,
                dtypes=own.dtypes,
                strings=child.strings,
                shapes=child.shapes,
                threads=child.threads,
                process=child.name or "forked process",
                number=number,
                cost=cost,
                metadata={"droppedEvents": child.dropped} if child.dropped else {},
            )
            number += sum(len(events) for _, events in child.events)


def devices_told() -> dict[str, Json]:
    """What a trace says of devices: which are simulated, whose time was kept, and how CUDA's was taken."""
    names = [_core.device_name(number) for number in range(_core.device_count())]
    simulated = [name for name in names if name.startswith("sim")]
    spec = sim.model()
    clock = {"clock": "modelled", "model": spec.name or str(spec)} if spec else {"clock": "real"}
    told: dict[str, Json] = {"simulated": {"devices": list[Json](simulated), **clock}} if simulated else {}
    if any(name.startswith("cuda") for name in names):
        told |= CUPTI.notes()
    return told


_OPEN: set[Window] = set()


def _close_in_child() -> None:
    """The windows are their process's: in a forked child nothing of them may go on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of stacks: the thread that is sampled may not be here
        for window in list(_OPEN):
            window.close()


os.register_at_fork(after_in_child=_close_in_child)
