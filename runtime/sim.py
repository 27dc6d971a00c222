"""A simulated accelerator on the CPU: asynchronous streams, events, copies and a memory with an end, on any machine.

Tensors on `rt.device("sim:0")` hold real results: the ops' own kernels compute them, on a thread for each stream. Names
and meanings are those of `torch.cuda`. Within `modelled(spec)` the time that passes is that of a model: what the device
of the spec would take for the same work, the same in every run. docs/devices.md says what that leaves out.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from . import _core
from ._core import Tensor
from .device import Device
from .errors import ArgumentError, DeviceError
from .spec import DTYPES, Spec


class _Chosen(threading.local):
    device = "sim:0"  # where no device is named; that of the stream within stream()


_chosen = _Chosen()


@dataclass(frozen=True)
class SimSpec:
    """What a device can do.

    flops: FLOPs a second, one number, or by the name of the computation's dtype with "other" for the rest; bandwidth:
    bytes a second of its memory; launch_us: microseconds of the CPU to start one kernel or copy; copy_bandwidth: bytes
    a second from and to the CPU; capacity: bytes of memory.
    """

    flops: float | Mapping[str, float]
    bandwidth: float
    launch_us: float
    copy_bandwidth: float
    capacity: int
    name: str = ""

    def __post_init__(self) -> None:
        rates = [self.flops] if isinstance(self.flops, int | float) else list(self.flops.values())
        if not isinstance(self.flops, int | float) and "other" not in self.flops:
            raise ArgumentError('SimSpec: flops by dtype need an entry "other"')
        if min([*rates, self.bandwidth, self.copy_bandwidth, self.capacity]) <= 0 or self.launch_us < 0:
            raise ArgumentError("SimSpec: rates and the capacity are above 0, launch_us is not below")

    def flops_of(self, dtype: str) -> float:
        """FLOPs a second in a dtype."""
        return self.flops if isinstance(self.flops, int | float) else self.flops.get(dtype, self.flops["other"])


def _preset(
    name: str, single: float, half: float, bfloat: float, double: float, bandwidth: float, link: float, gib: int
) -> SimSpec:
    """In units of 1e12 FLOPs, of 1e9 bytes a second, and GiB. A launch of 4 us is our own choice: no sheet has it."""
    rates = {"other": single, "float16": half, "bfloat16": bfloat, "float64": double}
    flops = MappingProxyType({dtype: rate * 1e12 for dtype, rate in rates.items()})
    return SimSpec(flops, bandwidth * 1e9, 4.0, link * 1e9, gib << 30, name)


# Peaks without sparsity (sheets with a star give twice that), float32 outside of tensor cores; the link to the CPU is
# one direction of PCI Express, of which sheets since Gen4 give the sum of both.
PRESETS: Mapping[str, SimSpec] = MappingProxyType(
    {
        # "NVIDIA T4 Tensor Core GPU", data sheet of 2019: single 8.1, mixed 65, 320+ GB/s, x16 PCIe Gen3. Float64
        # is 1/32 of single ("NVIDIA Turing GPU Architecture", white paper); Turing computes no bfloat16, so single.
        "T4": _preset("T4", 8.1, 65, 8.1, 0.25, 320, 16, 16),
        # "NVIDIA A100 Tensor Core GPU", data sheet 1758950 r4 of 2021, column "A100 80GB SXM".
        "A100": _preset("A100 SXM 80GB", 19.5, 312, 312, 9.7, 2039, 32, 80),
        # "NVIDIA L4 Tensor Core GPU", data sheet of 2023: FP16 and BF16 242 with sparsity, 300 GB/s, PCIe Gen4 64 GB/s.
        # Float64 is 1/64 of single ("NVIDIA Ada GPU Architecture", white paper).
        "L4": _preset("L4", 30.3, 121, 121, 0.47, 300, 32, 24),
        # "NVIDIA H100 Tensor Core GPU", data sheet of 2023, column "H100 SXM": FP16 and BF16 1,979 with sparsity,
        # 3.35 TB/s, PCIe Gen5 128 GB/s.
        "H100": _preset("H100 SXM", 67, 989.5, 989.5, 34, 3350, 64, 80),
        # "NVIDIA H200 Tensor Core GPU", data sheet of 2024, column "H200 SXM": as H100, with 141 GB at 4.8 TB/s.
        "H200": _preset("H200 SXM", 67, 989.5, 989.5, 34, 4800, 64, 141),
    }
)


def is_available() -> bool:
    """True: it needs nothing that is not there."""
    return True


def _device(device: Any) -> Device:
    found = device if isinstance(device, Device) else Device(_chosen.device if device is None else device)
    if found.type != "sim":
        raise DeviceError(f"a simulated device is wanted, as 'sim:0', not {found}")
    return found


def _index(device: Any) -> int:
    return _device(device).index or 0


class Stream:
    """Work on a device that is done in order, beside that of other streams. `Stream()` gives one of eight in turn."""

    __slots__ = ("_handle", "device")

    def __init__(self, device: Any = None, *, _handle: int | None = None) -> None:
        self.device = _device(device)
        self._handle = _core.sim_new_stream(_index(self.device)) if _handle is None else _handle

    def synchronize(self) -> None:
        """Wait until all that is on it is done; raises what failed on the device."""
        _core.sim_stream_synchronize(_index(self.device), self._handle)

    def query(self) -> bool:
        """Whether all that is on it is done."""
        return _core.sim_stream_idle(_index(self.device), self._handle)

    def wait_stream(self, stream: "Stream") -> None:
        """What comes on this one begins when what is on the other now is done."""
        _core.sim_stream_wait(_index(self.device), self._handle, stream._handle)

    def wait_event(self, event: "Event") -> None:
        """What comes on this one begins when the event has passed."""
        event.wait(self)

    def record_event(self, event: "Event | None" = None) -> "Event":
        """An event behind what is on it now."""
        event = event or Event()
        event.record(self)
        return event

    @property
    def stream_id(self) -> int:
        """Its number on the device; 0 is the default stream."""
        return _core.sim_stream_number(_index(self.device), self._handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self._handle, self.device) == (other._handle, other.device)

    def __hash__(self) -> int:
        return hash((self._handle, self.device))

    def __repr__(self) -> str:
        return f"<sim.Stream {self.stream_id} of {self.device}>"


class Event:
    """A point in the work of a stream. With `enable_timing` the time between two of them can be told."""

    __slots__ = ("_index", "_mark", "_timed")

    def __init__(self, enable_timing: bool = False) -> None:
        self._timed = enable_timing
        self._mark: _core.SimMark | None = None
        self._index = 0

    def record(self, stream: Stream | None = None) -> None:
        """Put it behind what is on a stream now, by default the current one."""
        stream = stream or current_stream()
        self._index = _index(stream.device)
        self._mark = _core.sim_mark(self._index, stream._handle)

    def wait(self, stream: Stream | None = None) -> None:
        """What comes on a stream, by default the current one, begins when it has passed."""
        if self._mark is not None:
            stream = stream or current_stream()
            _core.sim_mark_wait(_index(stream.device), stream._handle, self._mark)

    def query(self) -> bool:
        """Whether it has passed; True before it is recorded."""
        return self._mark is None or self._mark.has_passed()

    def synchronize(self) -> None:
        """Wait until it has passed; raises what failed on the device."""
        if self._mark is not None:
            _core.sim_mark_synchronize(self._index, self._mark)

    def elapsed_time(self, end_event: "Event") -> float:
        """Milliseconds from this event to another. Raises DeviceError unless both have passed and were made for it."""
        if not (self._timed and end_event._timed):
            raise DeviceError("elapsed_time: both events must be made with enable_timing=True")
        if self._mark is None or end_event._mark is None or not (self.query() and end_event.query()):
            raise DeviceError("elapsed_time: both events must be recorded and have passed: synchronize() first")
        return (end_event._mark.time - self._mark.time) * _core.recorder_clock()[2] / 1e6


def synchronize(device: Any = None) -> None:
    """Wait until all that is on the device is done; raises what failed there."""
    _core.device_synchronize(_device(device).number)


def current_stream(device: Any = None) -> Stream:
    """The stream that this thread's work on the device goes to."""
    found = _device(device)
    return Stream(found, _handle=_core.current_stream(found.number))


def default_stream(device: Any = None) -> Stream:
    """The stream that work goes to unless another is chosen."""
    return Stream(device, _handle=0)


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Within it this thread's work on the stream's device goes to the stream, and functions that are told no device
    mean that one; None changes nothing.
    """
    if stream is None:
        yield
        return
    number = stream.device.number
    before, chosen = _core.current_stream(number), _chosen.device
    _core.set_current_stream(number, stream._handle)
    _chosen.device = str(stream.device)
    try:
        yield
    finally:
        _core.set_current_stream(number, before)
        _chosen.device = chosen


def set_capacity(nbytes: int, device: Any = None) -> None:
    """How much memory the device has, at first 16 GiB. Raises ArgumentError where more than that is reserved."""
    if not isinstance(nbytes, int) or not 0 <= nbytes < 1 << 63:
        raise ArgumentError(f"set_capacity: give a number of bytes from 0, not {nbytes!r}")
    _core.sim_set_capacity(_index(device), nbytes)


_MODEL: list[SimSpec] = []  # while modelled time is kept


def model() -> SimSpec | None:
    """The spec whose time is kept now, None in real time."""
    return _MODEL[-1] if _MODEL else None


@contextmanager
def modelled(spec: SimSpec | str, device: Any = None) -> Iterator[SimSpec]:
    """Within it time is that of a model, for the whole process: `with sim.modelled("H100"), profile() as prof:`.

    spec: a SimSpec or the name of one in PRESETS. A kernel takes its FLOPs or its bytes at the spec's rates, whichever
    is longer; a copy its bytes; each costs the CPU launch_us, and nothing else does. Events, and traces of profiles
    that begin and end within it, show that time. The device has the spec's capacity for so long.
    """
    if isinstance(spec, str):
        if spec not in PRESETS:
            raise ArgumentError(f"modelled: there is no preset '{spec}', only {', '.join(PRESETS)}: give a SimSpec")
        spec = PRESETS[spec]
    index = _index(device)
    number = _device(device).number
    before = _core.allocator_info(number)[1]
    _core.sim_set_capacity(index, spec.capacity)
    try:
        flops = {dtype.name: float(spec.flops_of(dtype.name)) for dtype in DTYPES}
        _core.sim_start_model(flops, spec.bandwidth, spec.copy_bandwidth, round(spec.launch_us * 1000))
        _MODEL.append(spec)
        try:
            yield spec
        finally:
            _MODEL.pop()
            _core.sim_stop_model()
    finally:
        _core.sim_set_capacity(index, max(before, _core.allocator_stats(number)["reserved_bytes.all.current"]))


def record_stream(self: Tensor, stream: Stream) -> None:
    """The memory is used on this stream too: freed, it is not handed out again before what is on it then is done."""
    if not isinstance(getattr(stream, "_handle", None), int):
        raise ArgumentError(f"record_stream: give a Stream of the tensor's device, not {stream!r}")
    if stream.device != self.device:
        raise DeviceError(f"record_stream: the stream is of {stream.device}, and the tensor is on {self.device}")
    _core.record_stream(self, stream._handle)


_Layouts = Sequence[tuple[tuple[int, ...], int]]


def _work(record: Any, inputs: _Layouts, outputs: _Layouts, attributes: dict[str, Any]) -> tuple[float, float]:
    """FLOPs and bytes of a call, by the op's declaration."""
    specs, outs = ([Spec(shape, DTYPES[code]) for shape, code in layouts] for layouts in (inputs, outputs))
    found = record.cost(list(specs), list(outs), **attributes)
    return float(found.flops), float(found.read + found.write)


_core.set_work_callback(_work)
