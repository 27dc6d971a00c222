"""Memory of CUDA devices over the fake driver: whose turn it is, and how much there is."""

from pathlib import Path

from .fake import run
from .shim import Shim


def test_memory_comes_back_to_its_stream_and_from_cupy_s_allocator(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
x = rt.empty(1000, device="cuda")
first = x.data_ptr()
del x
y = rt.empty(1000, device="cuda")
told = [y.data_ptr() == first, first % 512]
with rt.cuda.Stream():
    told.append(rt.empty(1000, device="cuda").data_ptr() == first)
maps = calls("cuMemAlloc_v2")
for _ in range(20):
    z = (y * 2 + 1).sum()
told.append(calls("cuMemAlloc_v2") - maps)
malloc, free = _core.cuda_allocator_functions()
malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)(malloc)
free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(free)
block = malloc(None, 4096, 0)
told.append(block % 512)
free(None, block, 0)
told.append(malloc(None, 4096, 0) == block)
told.append(malloc(None, 1 << 40, 0))
""",
        shim,
    )
    assert told == [True, 0, False, 0, 0, True, None]


def test_memory_that_another_stream_uses_waits_for_it(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
x, side = rt.ones(1000, device="cuda"), rt.cuda.Stream()
side.wait_stream(rt.cuda.current_stream())
with side:
    y = x * 2
x.record_stream(side)
first = x.data_ptr()
del x
other = rt.empty(1000, device="cuda")
told = [str(side.device), other.data_ptr() == first]
side.synchronize()
told.append(rt.empty(1000, device="cuda").data_ptr() == first)
for wrong in (rt.cuda.Stream(1), None, 3):
    try:
        y.record_stream(wrong)
    except rt.PerflabError as error:
        told.append(str(error))
""",
        shim,
    )
    assert told == [
        "cuda:0", False, True,
        "record_stream: the stream is of cuda:1, and the tensor is on cuda:0",
        "record_stream: give a Stream of the tensor's device, not None",
        "record_stream: give a Stream of the tensor's device, not 3",
    ]  # fmt: skip


def test_memory_of_the_current_device_is_counted(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
x = rt.empty(1 << 20, device="cuda")  # 4 MiB
told = [rt.cuda.memory_allocated(), rt.cuda.memory_allocated(1), rt.cuda.memory_reserved() >= 4 << 20]
told.append(fake.fake_used(0) >= rt.cuda.memory_reserved())
del x
told += [rt.cuda.memory_allocated(), rt.cuda.max_memory_allocated()]
rt.cuda.reset_peak_memory_stats()
rt.cuda.empty_cache()
told += [rt.cuda.max_memory_allocated(), rt.cuda.memory_reserved(), rt.cuda.memory_stats()["segment.all.current"]]
rt.cuda.set_per_process_memory_fraction(0.01)  # of 256 MiB
try:
    rt.empty(1 << 20, device="cuda")
except MemoryError as error:
    told.append("memory" in str(error))
""",
        shim,
    )
    assert told == [4 << 20, 0, True, True, 0, 4 << 20, 0, 0, 0, True]


def test_no_memory_is_an_error_in_words_and_is_got_over(fake_driver: Path, shim: Shim) -> None:
    told = run(
        fake_driver,
        """
kept = rt.zeros(100 << 18, device="cuda")  # 100 of 256 MiB
try:
    rt.empty(200 << 18, device="cuda")
except MemoryError as error:
    told = [str(error)]
del kept
told.append(rt.zeros(200 << 18, device="cuda").shape[0] == 200 << 18)
""",
        shim,
    )
    assert "memory" in told[0] and told[1] is True, told
