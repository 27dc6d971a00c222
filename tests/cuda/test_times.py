"""How a profile takes the times of CUDA devices: from CUPTI's records, else from pairs of events around some ops."""

from pathlib import Path

from .fake import WITH_CUPY, run
from .shim import Shim

WITH_CUPTI = (
    WITH_CUPY
    + """
import fake_cupti
from fake_cupti import ActivityKind as Kind
from perflab.profiler import profile
cupti = fake_cupti.install()
_core.cuda_set_blas_callback(list)  # CuPy multiplies
matmul = cupy.matmul
def two_kernels(*args, **kwargs):
    cupti.begin(Kind.MEMSET, 2_000, 7, bytes=64)
    cupti.begin(Kind.CONCURRENT_KERNEL, 5_000, 7, name="sgemm_128x64")
    return matmul(*args, **kwargs)
cupy.matmul = two_kernels
x = rt.ones((4, 4), device="cuda")
"""
)


def test_cuptis_records_are_on_the_tracks_of_streams_and_tied_to_launches(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        WITH_CUPTI
        + """
with profile() as prof:
    y = x @ x
    cupti.begin(Kind.CONCURRENT_KERNEL, 3_000, 7, name="of nobody, on a stream of ours")
    cupti.begin(Kind.MEMCPY, 4_000, 9, bytes=128, copy_kind=fake_cupti.ActivityMemcpyKind.DTOH)
    now = cupti.get_timestamp()
    for ns in (300, 500):
        cupti.add(Kind.OVERHEAD, start=now, end=now + ns, overhead_kind=1 << 16)
after = sorted(cupti.enabled)
trace = prof.trace
trace.check()
rows = [row for category in ("kernel", "gpu_memcpy", "gpu_memset") for row in trace.select(category=category).tolist()]
slices, args = trace.slices, trace.slice_args
told = {
    "work": [[trace.strings[slices.name[row]], trace.strings[slices.category[row]], int(slices.duration[row]),
              trace.tracks[slices.track[row]].name] for row in rows],
    "arrows": sorted([trace.strings[slices.name[a]], trace.strings[slices.name[b]]]
                     for a, b, name in zip(trace.flows.source, trace.flows.target, trace.flows.name)
                     if trace.strings[name] == "ac2g"),
    "in ops": sorted(trace.strings[slices.name[row]] for row in trace.select(category="cuda_runtime").tolist()
                     if slices.parent[row] >= 0),
    "times": trace.metadata["cudaTimes"], "overhead": trace.metadata["cuptiOverhead"],
    "sampled": "cudaTimesOneOpIn" in trace.metadata, "after": after,
    "bytes": sorted(args["bytes"].values[[r in rows for r in args["bytes"].rows.tolist()]].tolist()),
}
""",
        shim,
    )
    by_name = {name: (category, track) for name, category, _, track in told["work"]}
    assert by_name == {
        "Memset": ("gpu_memset", "stream 0"),
        "sgemm_128x64": ("kernel", "stream 0"),
        "of nobody, on a stream of ours": ("kernel", "stream 0"),
        "Memcpy DtoH": ("gpu_memcpy", f"stream {(1 << 16) + 9}"),
    }
    asked = {"Memset": 2_000, "sgemm_128x64": 5_000, "of nobody, on a stream of ours": 3_000, "Memcpy DtoH": 4_000}
    assert all(abs(ns - asked[name]) <= 3 for name, _, ns, _ in told["work"])  # rounded to ticks, and to ns
    assert told["arrows"] == [
        ["cudaLaunchKernel", "of nobody, on a stream of ours"],
        ["cudaLaunchKernel", "sgemm_128x64"],
        ["cudaMemcpyAsync", "Memcpy DtoH"],
        ["cudaMemsetAsync", "Memset"],
    ]
    assert told["in ops"] == ["cudaLaunchKernel", "cudaMemsetAsync"]  # in place of our launch
    assert told["times"] == "CUPTI activity records" and told["overhead"] == {"CUPTI_BUFFER_FLUSH": 800}
    assert told["bytes"] == [64, 128] and not told["sampled"] and told["after"] == []


def test_windows_share_cupti_and_each_has_its_own_time(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        WITH_CUPTI
        + """
names = lambda prof: prof.trace.name_of(prof.trace.select(category="kernel"))
kernel = lambda name: cupti.begin(Kind.CONCURRENT_KERNEL, 1, 7, name=name)
outer = profile()
outer.start()
kernel("first")
with profile() as inner:
    kernel("second")
kernel("third")
outer.stop()
kernel("fourth")
with profile() as later:
    kernel("fifth")
told = [names(outer), names(inner), names(later)]
""",
        shim,
    )
    assert told == [["first", "second", "third"], ["second"], ["fifth"]]


def test_a_ring_forgets_the_work_of_old_steps(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        WITH_CUPTI
        + """
from perflab.profiler import Ring
from perflab.profiler.cupti import CUPTI
with profile(ring=Ring(2)) as prof:
    for step in range(6):
        cupti.begin(Kind.CONCURRENT_KERNEL, 1, 7, name=f"in step {step}")
        cupti.activity_flush_all(1)
        prof.step()
    held = [work.name for work in CUPTI._work]
told = [sorted(prof.trace.name_of(prof.trace.select(category="kernel"))), held]
""",
        shim,
    )
    assert told == [["in step 4", "in step 5"], ["in step 4", "in step 5"]]


def test_where_cupti_refuses_pairs_of_events_take_the_times(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        WITH_CUPTI
        + """
cupti.refused = {Kind.OVERHEAD}
with profile() as prof:
    y = x.cpu()
trace = prof.trace
told = [trace.name_of(trace.select(category="gpu_memcpy")), sorted(cupti.enabled), trace.metadata["cuptiTrouble"],
        trace.metadata["cudaTimes"]]
""",
        shim,
    )
    how = "pairs of events around one op in 4 and each copy"
    assert told == [["Memcpy DtoH"], [], "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", how]


def test_pairs_of_events_are_around_one_op_in_four_and_every_copy(fake_driver: Path, shim: Shim) -> None:
    """In a loop of four ops, where each fourth would be the same one, every op has its turn."""
    told = run(
        fake_driver,
        """
from perflab.profiler import profile
from perflab.profiler.analysis.devices import device_use
sys.modules["cupti"] = None  # not installed
x = rt.ones((4, 4), device="cuda")
with profile() as prof:
    for _ in range(100):
        y = ((x * x) + x - x) / x
    for _ in range(5):
        y.cpu()
trace = prof.trace
kernels = trace.name_of(trace.select(category="kernel"))
calls = trace.name_of(trace.select(category="cuda_runtime"))
told = [len(kernels), sorted(set(kernels)), len(trace.select(category="gpu_memcpy")), calls.count("cudaLaunchKernel"),
        trace.metadata["cudaTimesOneOpIn"], len(device_use(trace))]
""",
        shim,
    )
    timed, names, copies, launches, one_in, devices = told
    assert 70 <= timed <= 130 and launches == 400 and copies == 5
    assert names == [f"{op}_native_float32" for op in ("add", "div", "mul", "sub")]
    assert one_in == 4 and devices == 0
