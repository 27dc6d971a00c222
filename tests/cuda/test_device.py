"""Tensors on CUDA, with the fake driver and the kernels compiled for the host: the core fills the kernels' parameters
in, launches them in the order of streams, and waits where values are read.
"""

from pathlib import Path

import pytest

from .fake import WITH_CUPY, run
from .shim import Shim


def test_ops_return_before_the_kernel_ends(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
x = rt.tensor([1.0, 2.0, 3.0], device="cuda")
told = [pending()]
y = x * 2 + 1
told.append(pending())
told += [y.tolist(), pending()]
z = rt.exp(x)
told += [round(z[0].item(), 3), pending(), str(x * 2), (x * 3).numpy().tolist()]
""",
        shim,
    )
    assert told == [0, 2, [3.0, 5.0, 7.0], 0, 2.718, 0, "tensor([2., 4., 6.], device='cuda:0')", [3.0, 6.0, 9.0]]


def test_streams_run_in_order_and_apart(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
x = rt.ones(4, device="cuda")
side = rt.cuda.Stream()
side.wait_stream(rt.cuda.current_stream())
with side:
    y = x * 5
    mark = side.record_event()
told = [side.query(), rt.cuda.default_stream().query()]
rt.cuda.current_stream().wait_event(mark)
z = y + x
told += [z.tolist(), side.query()]
""",
        shim,
    )
    assert told == [False, False, [6.0] * 4, True]


def test_classes_are_checked_by_the_next_call_that_waits(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
a = rt.tensor([[0.0, 0.0], [0.0, 1.0]], device="cuda", requires_grad=True)
before = pending()
loss = rt.nn.functional.cross_entropy(a, rt.tensor([1, -100]).to("cuda"))
loss.backward()
told = [pending() > before, round(loss.item(), 6), a.grad.tolist()]
rt.nn.functional.cross_entropy(a, rt.tensor([1, 2]).to("cuda"))
try:
    rt.cuda.synchronize()
except rt.IndexOutOfRange as error:
    told.append(str(error))
""",
        shim,
    )
    assert told[:3] == [True, 0.693147, [[0.5, -0.5], [0.0, 0.0]]]
    assert told[3] == "cuda:0: since it was waited for last, an op was given an index out of range"


def test_an_index_out_of_range_is_told_when_somebody_waits(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
x = rt.tensor([1.0, 2.0], device="cuda")
y = rt.take(x, rt.tensor([0, 5], device="cuda"))
try:
    rt.cuda.synchronize()
except rt.IndexOutOfRange as error:
    told = [str(error)]
rt.cuda.synchronize()  # told once
told.append((x + 1).tolist())
""",
        shim,
    )
    assert told == ["cuda:0: since it was waited for last, an op was given an index out of range", [2.0, 3.0]]


def test_tensors_on_two_devices_are_refused(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
told = []
for other in ("cuda:1", "cpu"):
    try:
        rt.ones(2, device="cuda") + rt.ones(2, device=other)
    except rt.DeviceError as error:
        told.append(str(error))
x = rt.tensor([1.0, 2.0], device="cuda:1")
told += [str(x.device), str(x.cuda(0).device), x.cuda(0).tolist(), str(x.cpu().device), x.is_cuda]
rt.cuda.set_device(1)
told.append(str(rt.ones(1, device="cuda").device))
""",
        shim,
    )
    words = "add: the tensors must be on one device, but are on cuda:0 and "
    assert [t.startswith(words + where) for t, where in zip(told[:2], ("cuda:1", "cpu"), strict=True)] == [True] * 2
    assert told[2:] == ["cuda:1", "cuda:0", [1.0, 2.0], "cpu", True, "cuda:1"]


def test_large_sums_are_split_over_blocks(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
import numpy as np
a = np.random.default_rng(0).integers(-9, 9, (3, 40000)).astype(np.float64)
x = rt.tensor(a, device="cuda")
told = []
for axis in (None, 0, 1):
    before = calls("cuLaunchKernel")
    told.append([bool((x.sum(axis).cpu().numpy() == a.sum(axis)).all()), calls("cuLaunchKernel") - before])
told.append(x.argmax().item() == int(a.argmax()))
""",
        shim,
    )
    assert told == [[True, 2], [True, 1], [True, 2], True]


TRAINING = """
from perflab.runtime import nn

def losses(device, optimizer):
    rt.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4)).to(device)
    x, y = rt.randn(32, 8).to(device), rt.randint(0, 4, (32,)).to(device)
    step = optimizer(net.parameters())
    found = []
    for _ in range(5):
        step.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        step.step()
        found.append(loss.item())
    return found

told = []
for optimizer in (
    lambda p: rt.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    lambda p: rt.optim.AdamW(p, lr=0.01, amsgrad=True),
    lambda p: rt.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    lambda p: rt.optim.Adagrad(p, lr=0.1),
):
    told.append([losses("cpu", optimizer), losses("cuda", optimizer)])
"""


def test_a_model_learns_as_on_the_cpu(fake_driver: Path, shim: Shim) -> None:
    for on_cpu, on_cuda in run(fake_driver, WITH_CUPY + TRAINING, shim):
        assert on_cuda == pytest.approx(on_cpu, rel=1e-4)
        assert on_cuda[-1] < on_cuda[0]


def test_mixed_precision(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        WITH_CUPY
        + """
from perflab.runtime import nn
rt.manual_seed(0)
net = nn.Linear(4, 2).to("cuda")
step, scaler = rt.optim.SGD(net.parameters(), lr=0.1), rt.amp.GradScaler("cuda", init_scale=8.0)
told = []
for x in (rt.ones(3, 4), rt.full((3, 4), float("inf"))):
    before = net.weight.tolist()
    step.zero_grad()
    with rt.autocast("cuda", rt.float16):
        out = net(x.to("cuda"))
    scaler.scale(out.float().sum()).backward()
    scaler.step(step)
    scaler.update()
    told.append([out.dtype.name, net.weight.tolist() != before, scaler.get_scale()])
""",
        shim,
    )
    assert told == [["float16", True, 8.0], ["float16", False, 4.0]]


def test_without_cupy_an_op_that_needs_it_says_so(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
import builtins
real = builtins.__import__
def without(name, *args, **kwargs):
    if name == "cupy":
        raise ImportError(name)
    return real(name, *args, **kwargs)
builtins.__import__ = without
try:
    rt.linalg.inv(rt.ones(1, 1, device="cuda"))
except rt.DeviceError as error:
    told = str(error)
""",
        shim,
    )
    assert told == "inv: CuPy is not installed: pip install 'perflab[cuda12]', or 'perflab[cuda13]'"


def test_others_see_the_memory_through_cuda_array_interface(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
x = rt.ones(2, 3, device="cuda").T
shown = x.__cuda_array_interface__
told = [shown["shape"], shown["typestr"], shown["strides"], shown["data"][0] == x.data_ptr(), shown["version"],
        shown["stream"], *(hasattr(t, "__cuda_array_interface__") for t in (rt.ones(1), x.bfloat16()))]
""",
        shim,
    )
    assert told == [[3, 2], "<f4", [4, 12], True, 3, 1, False, False]


def test_the_profile_shows_kernels_on_the_tracks_of_their_streams(fake_driver: Path, shim: Shim) -> None:
    """The fake driver's clock goes on by a millisecond with each piece of work: a kernel between two events has 2."""
    told = run(
        fake_driver,
        WITH_CUPY
        + """
from perflab.profiler import cupti, profile
cupti.ONE_OP_IN = 1
x, w = rt.ones((4, 4), device="cuda"), rt.nn.Parameter(rt.ones((4, 4), device="cuda"))
step = rt.optim.SGD([w], lr=0.1)
with profile() as prof:
    y = (x * w).sum()
    y.backward()
    step.step()
    with rt.cuda.Stream():
        z = x @ x
    y.item()
trace = prof.trace
trace.check()
kernels, copies = trace.select(category="kernel"), trace.select(category="gpu_memcpy")
tracks = sorted({trace.tracks[t].name for t in trace.slices.track[kernels].tolist()})
calls = trace.select(category="cuda_runtime")
told = [trace.name_of(kernels), trace.name_of(copies), tracks, sorted(set(trace.name_of(calls))),
        len(trace.flows.name), trace.metadata["cudaTimes"],
        [round(ns / 1e6, 2) for ns in trace.slices.duration[kernels].tolist()][:2]]
""",
        shim,
    )
    names, copies, tracks, calls, flows, how, durations = told
    assert {"mul_native_float32", "sum_native_float32", "sgd", "matmul_native_float32"} <= set(names)
    assert copies == ["Memcpy DtoH"] and tracks == ["stream 0", "stream 1"]
    assert {"cudaLaunchKernel", "cudaMemcpyAsync"} <= set(calls)
    assert flows >= len(names) + 1 and how == "pairs of events around one op in 1 and each copy"
    assert durations == [2.0, 2.0]


def test_a_users_op_has_a_kernel_of_its_own_there(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        WITH_CUPY
        + """
@rt.library.custom_op("mylib::scaled")
def scaled(x: rt.Tensor, y: rt.Tensor, by: float = 2.0) -> rt.Tensor:
    return x * y * by
scaled.register_fake(lambda x, y, *, by: x)

@scaled.vjp
def _(ct, x, y, *, by: float):
    return ct * y * by, ct * x * by

x = rt.tensor([1.0, 2.0], device="cuda", requires_grad=True)
made = scaled(x, x, 3.0)
made.sum().backward()
told = [made.tolist(), str(made.device), x.grad.tolist(), scaled(x, 5.0).tolist()]

@scaled.register_kernel("cuda")
def _(x, y, *, by):
    assert x.device == y.device == "cuda:0"
    x.zero_()  # of a tensor that nobody else has
    return x - 1
told += [scaled(x, x).tolist(), scaled(x.cpu(), x.cpu()).tolist(), x.tolist()]
scaled.register_kernel("cuda", lambda x, y, *, by: x.sum())
try:
    scaled(x, x)
except rt.ShapeError as error:
    told.append(str(error))
""",
        shim,
    )
    assert told == [
        [3.0, 12.0],
        "cuda:0",
        [6.0, 12.0],
        [10.0, 20.0],
        [-1.0, -1.0],
        [2.0, 8.0],
        [1.0, 2.0],
        "mylib::scaled: its kernel gave shape (), its shape rule says (2,)",
    ]
