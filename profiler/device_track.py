"""Devices on the timeline: what was launched, on the threads that did, and the work on a track for each stream."""

from collections.abc import Callable, Sequence

import numpy as np

from .builder import TraceBuilder
from .events import BACKENDS, DTYPE_MASK, DTYPE_SHIFT, HAS_KERNEL, IS_COPY, IS_FILL, KERNEL, LAUNCH, NAMED
from .stretches import Stretch
from .trace import Int64s, Track

LAUNCH_FLOW = "ac2g"  # torch.profiler's names of the arrow and of the categories
_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
_STREAM = 0xFFFFFFFF
_PYTHON = 2  # the backend of bodies in Python: NumPy's, of CUDA CuPy's


class DeviceTrack:
    """Adds launches and the work of devices to a builder, stretch by stretch.

    devices, strings, ops, dtypes: names by number. launches: all of them; streams: all that work is on, as events have
    them. A stream's track has its device's number as pid and its own as tid.
    """

    def __init__(
        self,
        builder: TraceBuilder,
        ns: Callable[[Int64s], Int64s],
        devices: Sequence[str],
        strings: Sequence[str],
        ops: Sequence[str],
        dtypes: Sequence[str],
        launches: Stretch,
        streams: set[int],
    ) -> None:
        self._builder, self._ns, self._devices = builder, ns, devices
        self._strings, self._ops, self._dtypes = strings, ops, dtypes
        order = np.argsort(launches["sequence"], kind="stable")
        self._launched, self._numbers = launches["sequence"][order].astype(np.int64), launches.number[order]
        self._names: dict[tuple[int, int, int], int] = {}
        self._streams = {
            one: builder.track(Track(one >> 32, one & _STREAM, f"stream {one & _STREAM}", devices[one >> 32]))
            for one in sorted(streams)
        }

    def add(
        self,
        stretch: Stretch,
        tracks: Callable[[Int64s], Int64s],
        shapes: Callable[[Int64s, Stretch], None],
    ) -> None:
        """What begins in a stretch; shapes(handles, events) gives slices the shapes of their inputs."""
        kind = stretch["kind"]
        launches, work = stretch.at(kind == LAUNCH), stretch.at(kind == KERNEL)
        if len(launches):
            self._add_launches(launches, tracks)
        if len(work):
            shapes(self._add_work(work), work)

    def _add_launches(self, launches: Stretch, tracks: Callable[[Int64s], Int64s]) -> None:
        builder = self._builder
        starts = launches["sequence"] > 0  # the others wait
        device = (launches["address"] >> 32).tolist()
        what = np.where(starts, _what(launches), 3).tolist()
        names = np.array([self._call(*call) for call in zip(device, what, strict=True)])
        begin = self._ns(launches["t0"])
        first = builder.slices(
            begin, self._ns(launches["t2"]) - begin, tracks(launches.thread), names, builder.string("cuda_runtime")
        )
        handles = np.arange(first, first + len(launches))
        sequence = launches["sequence"].astype(np.int64)
        builder.slice_args("correlation", handles[starts], sequence[starts])
        builder.flow_ends(handles[starts], launches.number[starts], builder.string(LAUNCH_FLOW), False)

    def _call(self, device: int, what: int) -> int:
        kind = self._devices[device].partition(":")[0]
        return self._builder.string(kind + ("LaunchKernel", "MemcpyAsync", "MemsetAsync", "StreamSynchronize")[what])

    def _add_work(self, work: Stretch) -> Int64s:
        builder = self._builder
        device, stream = (work["address"] >> 32).astype(np.int64), (work["address"] & _STREAM).astype(np.int64)
        what = _what(work)
        track = [self._streams[one] for one in work["address"].tolist()]
        key = zip(device.tolist(), work["name"].tolist(), work["flags"].tolist(), strict=True)
        names = np.array([self._name(*one) for one in key])
        category = np.array([builder.string(name) for name in _CATEGORIES])[what]
        begin = self._ns(work["t0"])
        first = builder.slices(begin, self._ns(work["t2"]) - begin, np.array(track), names, category)
        handles = np.arange(first, first + len(work))
        sequence = work["sequence"].astype(np.int64)
        builder.slice_args("device", handles, device)
        builder.slice_args("stream", handles, stream)
        builder.slice_args("correlation", handles, sequence)
        builder.slice_args("bytes", handles[what > 0], work["bytes"][what > 0].astype(np.int64))
        place = np.minimum(np.searchsorted(self._launched, sequence), max(len(self._launched) - 1, 0))
        known = self._launched[place] == sequence if len(self._launched) else np.zeros(len(work), dtype=bool)
        builder.flow_ends(handles[known], self._numbers[place[known]], builder.string(LAUNCH_FLOW), True)
        return handles

    def _name(self, device: int, name: int, flags: int) -> int:
        key = (device, name, flags)
        if key not in self._names:
            if flags & NAMED:
                text = self._strings[name]
            else:
                dtype = self._dtypes[flags >> DTYPE_SHIFT & DTYPE_MASK]
                python = "cupy" if self._devices[device].startswith("cuda") else BACKENDS[_PYTHON]
                backend = python if flags & HAS_KERNEL == _PYTHON else BACKENDS[flags & HAS_KERNEL]
                text = f"{self._ops[name]}_{backend}_{dtype}"
            if self._devices[device].startswith("sim"):
                text += " (sim)"
            self._names[key] = self._builder.string(text)
        return self._names[key]


def _what(events: Stretch) -> Int64s:
    """0 for a kernel, 1 for a copy, 2 for a fill."""
    copies, fills = (events["flags"] & flag > 0 for flag in (IS_COPY, IS_FILL))
    return np.where(copies, 1, np.where(fills, 2, 0))
