"""The tracks of a Perfetto trace, as their descriptors tell them.

A thread's track is that thread; others have their name for an id. A counter hangs on the track that it belongs to.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from ..trace import Track
from .perfetto_packets import Packet

_ROOT = 0
_LONGEST = 64  # steps from a track to its process


@dataclass(slots=True)
class _Described:
    parent: Hashable = _ROOT
    name: str = ""
    process: int | None = None
    thread: tuple[int, int] | None = None  # pid and tid
    is_counter: bool = False
    multiplier: int = 1
    is_incremental: bool = False


class Tracks:
    """Takes descriptors, numbers the tracks that events name, and tells what those are once all is read."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}  # by uuid
        self._told: dict[Hashable, _Described] = {}
        self._process_names: dict[int, str] = {}
        self._thread_names: dict[tuple[int, int], str] = {}
        self._made: dict[Hashable, Track] = {}
        # How often a process wanted a name for the id of a track.
        self._wanted: dict[tuple[int | str, str], int] = {}
        self._outermost: dict[Hashable, str] = {}  # names of tracks that stand for a process

    def describe(self, descriptor: Packet) -> None:
        """Take in a descriptor; what a later one of the same track leaves out stays."""
        told = self._told.setdefault(descriptor.uuid, _Described())
        told.parent = descriptor.parent_uuid or told.parent
        told.name = text(descriptor.name or descriptor.static_name or descriptor.atrace_name) or told.name
        if descriptor.HasField("process"):
            told.process = descriptor.process.pid
            self.name_process(descriptor.process.pid, descriptor.process.process_name, descriptor.process.cmdline)
        if descriptor.HasField("thread"):
            self.name_thread(descriptor.thread)
            told.thread = descriptor.thread.pid, descriptor.thread.tid
        if descriptor.HasField("counter"):
            counter = descriptor.counter
            told.is_counter, told.is_incremental = True, counter.is_incremental
            told.multiplier = counter.unit_multiplier or 1
            if not told.name and counter.type:
                told.name = counter.BuiltinCounterType.Name(counter.type).removeprefix("COUNTER_").lower()

    def name_process(self, pid: int, name: str | bytes, command: Packet = ()) -> None:
        """Take in what a process is called, or the first word that it was started with."""
        told = text(name) or next(map(text, command), "")
        if told:
            self._process_names[pid] = told

    def name_thread(self, thread: Packet) -> Hashable:
        """Take in a thread's descriptor; its track, for sequences that name none."""
        pair = (thread.pid, thread.tid)
        if thread.thread_name:
            self._thread_names[pair] = text(thread.thread_name)
        self._told.setdefault(pair, _Described(thread=pair))
        return pair

    def number(self, uuid: Hashable) -> int:
        """The number of a track in `listed`."""
        return self._numbers.setdefault(uuid, len(self._numbers))

    def scale(self, uuid: Hashable) -> tuple[int, bool]:
        """Of a counter: what its values are multiplied by, and whether they are added up."""
        told = self._told.get(uuid)
        return (told.multiplier, told.is_incremental) if told else (1, False)

    def listed(self) -> list[Track]:
        """The track of each number; of a counter the one that it hangs on."""
        return [self._track(uuid) for uuid in self._numbers]

    def counter_names(self) -> list[str]:
        """The name of each number's track."""
        return [self._told[uuid].name if uuid in self._told else "" for uuid in self._numbers]

    def _track(self, uuid: Hashable) -> Track:
        if uuid not in self._made:
            self._made[uuid] = self._make(uuid)
        return self._made[uuid]

    def _make(self, uuid: Hashable) -> Track:
        told = self._told.get(uuid)
        if told is None:
            return Track(0, f"track {uuid}" if uuid else 0)
        line = self._line(uuid)
        if told.is_counter and len(line) > 1:
            return self._track(line[1])
        if told.thread:
            name = self._thread_names.get(told.thread, told.name)
            return Track(*told.thread, name, self._process_names.get(told.thread[0], ""))
        pid, process = self._process(line)
        if told.process is not None or told.is_counter:
            return Track(pid, 0, "", process)
        if len(line) > 1 and (self._told[line[1]].thread or len(line) > 2):
            beside = self._track(line[1])
            if told.name and told.name in (beside.name, str(beside.tid)):  # what crosses slices of a track is there
                return beside
        name = told.name or f"track {uuid}"
        return Track(pid, self._id(pid, name), name, process)

    def _id(self, pid: int | str, name: str) -> str:
        """The name, with a number where it is taken."""
        count = self._wanted[pid, name] = self._wanted.get((pid, name), 0) + 1
        return name if count == 1 else f"{name} #{count}"

    def _line(self, uuid: Hashable) -> list[Hashable]:
        """A track, its parent, and so on."""
        line = [uuid]
        while len(line) < _LONGEST and line[-1] in self._told:
            parent = self._told[line[-1]].parent
            if parent == _ROOT or parent in line or parent not in self._told:
                break
            line.append(parent)
        return line

    def _process(self, line: list[Hashable]) -> tuple[int | str, str]:
        """The pid that a track belongs to, and how its process is called: the outermost track where there is none."""
        for uuid in line:
            told = self._told[uuid]
            if told.thread or told.process is not None:
                pid = told.thread[0] if told.thread else told.process or 0
                return pid, self._process_names.get(pid, "")
        outermost = line[-1]
        name = self._told[outermost].name
        if len(line) == 1 or not name:
            return 0, ""
        if outermost not in self._outermost:
            self._outermost[outermost] = self._id("", name)
        return self._outermost[outermost], name


def text(value: str | bytes) -> str:
    """A text; one that is no UTF-8 comes from the package as bytes."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
