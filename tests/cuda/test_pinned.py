"""Pinned memory for CUDA, with the fake driver: who locks it, and that it waits for the copies that use it."""

from pathlib import Path

from .fake import run

COPIES = """
from perflab.runtime import memory
N = 1 << 20
source = rt.full((N,), 1.0).pin_memory()
place, locked = source.data_ptr(), calls("cuMemAllocHost_v2")
there = source.to("cuda", non_blocking=True)
told = [source.is_pinned("cuda:0"), source.is_pinned(), pending() > 0]
del source
other = rt.full((N,), 2.0).pin_memory()
told += [other.data_ptr() != place, pending() > 0]
back = there.to("cpu", non_blocking=True)
told += [back.is_pinned("cuda:0"), pending() > 0]
rt.cuda.synchronize()
told += [pending(), float(back.sum().item()) == N]
del other, back
again = rt.empty(N, pin_memory=True)
told += [again.is_pinned(), again.data_ptr() == place]
told += [locked > 0, calls("cuMemAllocHost_v2") - locked]
"""


def test_a_pinned_block_serves_again_when_its_copies_are_done(fake_driver: Path) -> None:
    *told, locked = run(fake_driver, COPIES)
    assert told == [True, True, True, True, True, True, True, 0, True, True, True, True]
    assert locked == 0  # one segment has room for all


BESIDE_PLAIN = """
pinned, plain = rt.zeros(4).pin_memory(), rt.zeros(4)
of_pinned, of_plain = pinned.to("cuda", non_blocking=True), plain.to("cuda", non_blocking=True)
pinned.fill_(1), plain.fill_(1)
told = [of_pinned.tolist(), of_plain.tolist(), of_plain.cpu().is_pinned()]
try:
    rt.empty(2, device="cuda", pin_memory=True)
except rt.DeviceError as error:
    told.append(str(error))
"""


def test_pinned_memory_is_read_when_the_copy_comes_to_it(fake_driver: Path) -> None:
    of_pinned, of_plain, is_pinned, refused = run(fake_driver, BESIDE_PLAIN)
    assert (of_pinned, of_plain, is_pinned) == ([1.0] * 4, [0.0] * 4, False)
    assert "memory of the CPU is pinned, not that of cuda:0" in refused
