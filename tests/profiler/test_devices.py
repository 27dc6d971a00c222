"""Devices and dispatch: busy, idle, overlap, and whose fault it was."""

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.devices import DeviceUse, IdleCause, device_use
from perflab.profiler.analysis.dispatch import Dispatch, OpDispatch, dispatch

HOST, COMPUTE, COMM, OTHER = Track(1, 1, "main"), Track(0, 7, "stream 7"), Track(0, 20, "stream 20"), Track(2, 7)
GIL = Track(1, 10_000_001)


def launched(
    builder: TraceBuilder, op: str, at: int, begin: int, end: int, *, track: Track = COMPUTE, category: str = "kernel"
) -> None:
    """An op of 20 ns that launches work of a device in its middle."""
    builder.slice(op, at, 20, track=HOST, category="cpu_op")
    launch = builder.slice("cudaLaunchKernel", at + 5, 10, track=HOST, category="cuda_runtime")
    name = {"kernel": f"{op}_kernel", "gpu_memcpy": "Memcpy HtoD"}[category]
    builder.flow("ac2g", launch, builder.slice(name, begin, end - begin, track=track, category=category))


def test_overlap_is_of_unions() -> None:
    builder = TraceBuilder()
    launched(builder, "aten::mm", 0, 100, 200)
    launched(builder, "aten::add", 20, 150, 300, track=Track(0, 8))  # at once with the first for 50 ns
    launched(builder, "ncclAllReduce", 40, 250, 400, track=COMM)
    launched(builder, "aten::copy_", 60, 350, 450, track=COMM, category="gpu_memcpy")
    launched(builder, "aten::mm", 80, 500, 600)
    (use,) = device_use(builder.build())
    assert use == DeviceUse(
        name="0",
        span_ns=500,
        busy_ns=450,
        idle_ns=50,
        compute_ns=300,
        communication_ns=150,
        copy_ns=100,
        exposed_communication_ns=100,
        exposed_copy_ns=100,
        idle=(IdleCause("queue", "aten::mm", 1, 50),),
    )


def test_who_caused_the_gaps() -> None:
    builder = TraceBuilder()
    launched(builder, "aten::first", 0, 100, 200)
    launched(builder, "aten::late", 380, 400, 500)  # the host launched it 185 ns after the device was done
    builder.slice("cudaDeviceSynchronize", 420, 90, track=HOST, category="cuda_runtime")
    launched(builder, "aten::dry", 540, 570, 600)
    builder.slice("enumerate(DataLoader)#x.__next__", 600, 300, track=HOST, category="user_annotation")
    launched(builder, "aten::fed", 910, 1000, 1100)
    builder.slice("GIL wait: numpy", 1100, 90, track=GIL, category="gil", args={"Thread": 1})
    launched(builder, "aten::woken", 1200, 1260, 1300)
    builder.slice("aten::nobody", 1310, 10, track=COMPUTE, category="kernel")
    (use,) = device_use(builder.build())
    assert use.idle == (
        IdleCause("data_wait", "aten::fed", 1, 400),
        IdleCause("host", "aten::late", 1, 200),
        IdleCause("gil_wait", "aten::woken", 1, 160),
        IdleCause("sync", "aten::dry", 1, 70),
        IdleCause("unknown", "aten::nobody", 1, 10),
    )
    assert use.idle_ns == 840
    assert use.busy_ns == 380


def test_devices_are_told_apart() -> None:
    builder = TraceBuilder()
    launched(builder, "aten::a", 0, 100, 110)
    launched(builder, "aten::b", 20, 100, 150, track=OTHER)
    assert [(use.name, use.busy_ns) for use in device_use(builder.build())] == [("2", 50), ("0", 10)]


def cpu() -> Trace:
    builder = TraceBuilder()
    for start in (0, 1000):
        builder.slice("linear", start, 500, track=HOST, category="cpu_op")
        builder.slice("mm", start + 100, 300, track=HOST, category="cpu_op")
        builder.slice("mm_native_float32", start + 150, 230, track=HOST, category="kernel")
    return builder.build()


def test_dispatch_is_what_is_left_beside_kernels() -> None:
    assert dispatch(cpu()) == Dispatch(
        dispatch_ns=540,
        kernel_ns=460,
        ops=(OpDispatch("linear", 2, 400, 0), OpDispatch("mm", 2, 140, 460)),
    )
    assert device_use(cpu()) == [], "its kernels run inside of ops"


def test_dispatch_of_work_on_a_device_is_all_that_the_op_takes() -> None:
    builder = TraceBuilder()
    launched(builder, "aten::mm", 0, 100, 400)
    assert dispatch(builder.build()) == Dispatch(20, 300, (OpDispatch("aten::mm", 1, 20, 300),))


def test_without_kernels_dispatch_is_unknown() -> None:
    builder = TraceBuilder()
    builder.slice("aten::mm", 0, 100, track=HOST, category="cpu_op")
    assert dispatch(builder.build()) is None
    assert device_use(TraceBuilder().build()) == []
