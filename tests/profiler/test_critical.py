"""The critical path, of traces whose path is known."""

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.critical import CriticalPath, PathOwner, PathPiece, critical_path

MAIN, ENGINE, OTHER, DEVICE = Track(1, 1, "main"), Track(1, 2, "pt_autograd_0"), Track(1, 3, "loader"), Track(0, 7)
MAIN_GIL, OTHER_GIL = Track(1, 10_000_001), Track(1, 10_000_003)


def told(trace: Trace) -> list[tuple[str, str, int, int]]:
    """Where, on which track, from when, how long; and that the pieces are a path and the owners share it out."""
    path = critical_path(trace)
    time = path.pieces[0].start
    for piece in path.pieces:
        assert piece.start == time
        time += piece.duration
    assert sum(owner.ns for owner in path.owners) == path.total_ns == time - path.pieces[0].start
    return [(it.where, str(trace.tracks[it.track].tid), it.start, it.duration) for it in path.pieces]


def step(builder: TraceBuilder, duration: int, start: int = 0, number: int = 0) -> None:
    builder.slice(f"ProfilerStep#{number}", start, duration, track=MAIN, category="user_annotation")


def launch(builder: TraceBuilder, at: int, begin: int, duration: int, name: str = "gemm") -> None:
    call = builder.slice("cudaLaunchKernel", at, 10, track=MAIN, category="cuda_runtime")
    builder.flow("ac2g", call, builder.slice(name, begin, duration, track=DEVICE, category="kernel"))


def test_a_host_that_nobody_woke_is_its_own_path() -> None:
    builder = TraceBuilder()
    step(builder, 1000)
    builder.slice("linear", 100, 300, track=MAIN, category="cpu_op")
    builder.slice("mm", 150, 200, track=MAIN, category="cpu_op")
    trace = builder.build()
    assert critical_path(trace) == CriticalPath(
        1000,
        (PathPiece("host", trace.tracks.index(MAIN), 0, 1000),),
        (PathOwner("host", "outside of ops", 700), PathOwner("host", "mm", 200), PathOwner("host", "linear", 100)),
    )


def test_through_a_device_to_the_launch_that_it_waited_for() -> None:
    builder = TraceBuilder()
    step(builder, 1000)
    launch(builder, 50, 70, 100, "early")  # done before the next launch: not on the path
    launch(builder, 290, 320, 200, "first")
    launch(builder, 305, 530, 250, "second")  # launched while the first ran: behind it in the queue
    builder.slice("cudaDeviceSynchronize", 400, 400, track=MAIN, category="cuda_runtime")
    trace = builder.build()
    assert told(trace) == [
        ("host", "1", 0, 300),
        ("launch", "7", 300, 20),
        ("device", "7", 320, 460),
        ("host", "1", 780, 20),
        ("host", "1", 800, 200),
    ]
    assert PathOwner("device", "second", 250) in critical_path(trace).owners
    assert PathOwner("device", "device idle", 10) in critical_path(trace).owners


def test_a_wait_in_which_no_work_ended_is_the_hosts() -> None:
    builder = TraceBuilder()
    step(builder, 1000)
    launch(builder, 50, 70, 100)
    builder.slice("cudaDeviceSynchronize", 500, 10, track=MAIN, category="cuda_runtime")
    assert [piece[:2] for piece in told(builder.build())] == [("host", "1")] * 3


def test_work_that_outlasts_the_last_step_is_the_end() -> None:
    builder = TraceBuilder()
    step(builder, 200)
    launch(builder, 100, 150, 500)
    assert told(builder.build()) == [("host", "1", 0, 110), ("launch", "7", 110, 40), ("device", "7", 150, 500)]


def test_the_gil_hands_over_to_its_last_holder() -> None:
    builder = TraceBuilder()
    step(builder, 1000)
    builder.slice("collate", 200, 500, track=OTHER, category="cpu_op")
    builder.slice("GIL held: loader", 250, 350, track=OTHER_GIL, category="gil", args={"Thread": 3})
    builder.slice("GIL wait: main", 300, 300, track=MAIN_GIL, category="gil", args={"Thread": 1})
    builder.slice("GIL held: main", 600, 400, track=MAIN_GIL, category="gil", args={"Thread": 1})
    builder.slice("GIL held: main", 0, 200, track=MAIN_GIL, category="gil", args={"Thread": 1})
    builder.slice("GIL wait: loader", 150, 100, track=OTHER_GIL, category="gil", args={"Thread": 3})
    trace = builder.build()
    # the loader had it for the main thread's wait, and had itself waited until the main thread gave it up at 200
    assert told(trace) == [("host", "1", 0, 250), ("host", "3", 250, 350), ("host", "1", 600, 400)]
    assert PathOwner("host", "collate", 350) in critical_path(trace).owners


def test_a_wait_for_the_gil_without_a_known_holder_is_on_the_path_itself() -> None:
    builder = TraceBuilder()
    step(builder, 1000)
    builder.slice("GIL wait: main", 300, 300, track=MAIN_GIL, category="gil", args={"Thread": 1})
    trace = builder.build()
    assert told(trace) == [("host", "1", 0, 300), ("gil_wait", "1", 300, 300), ("host", "1", 600, 400)]
    assert PathOwner("gil_wait", "GIL wait", 300) in critical_path(trace).owners


def test_a_backward_pass_on_its_own_thread() -> None:
    builder = TraceBuilder()
    step(builder, 1000)
    builder.slice("aten::mm", 100, 100, track=MAIN, category="cpu_op")
    builder.slice("autograd::engine::evaluate_function: MmBackward0", 300, 400, track=ENGINE, category="cpu_op")
    builder.slice("aten::t", 350, 100, track=ENGINE, category="cpu_op")
    trace = builder.build()
    assert told(trace) == [("host", "1", 0, 300), ("host", "2", 300, 400), ("host", "1", 700, 300)]
    assert PathOwner("host", "aten::t", 100) in critical_path(trace).owners


def test_an_empty_trace_has_no_path() -> None:
    assert critical_path(TraceBuilder().build()) == CriticalPath(0, (), ())
