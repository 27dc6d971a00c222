"""Names of threads on the timeline."""

import ctypes
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from perflab import runtime as rt
from perflab.profiler import Trace, profile
from perflab.profiler.threads import ThreadNames
from perflab.profiler.window import Window


def names_of_ops(trace: Trace) -> set[str]:
    """The names of the tracks on which ops lie."""
    return {trace.tracks[number].name for number in trace.slices.track[trace.select(category="cpu_op")].tolist()}


def test_threads_that_have_ended_have_their_names() -> None:
    """Nobody holds them any longer when the profile ends."""
    x = rt.ones((4,))
    with profile() as prof:
        for number in range(4):
            threading.Thread(target=lambda: x + x, name=f"reader {number}").start()
        with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
            pool.submit(lambda: x * x).result()
        for thread in threading.enumerate():
            if thread.name.startswith("reader"):
                thread.join()
    assert names_of_ops(prof.trace) == {"reader 0", "reader 1", "reader 2", "reader 3", "pool_0"}


def test_a_thread_that_outlives_the_profile_has_its_name() -> None:
    x, began, leave = rt.ones((4,)), threading.Event(), threading.Event()

    def work() -> None:
        x + x
        began.set()
        leave.wait()
        x * x

    with profile() as prof:
        thread = threading.Thread(target=work, name="survivor")
        thread.start()
        began.wait()
    leave.set()
    thread.join()
    assert names_of_ops(prof.trace) == {"survivor"}
    assert prof.trace.name_of(prof.trace.select(category="cpu_op")) == ["add"]


def test_many_threads_are_not_held() -> None:
    names = ThreadNames()
    started = []
    for number in range(600):
        thread = threading.Thread(target=int, name=f"short {number}")
        thread.start()
        thread.join()
        started.append(thread.native_id)
    read = names.read()
    names.stop()
    last = {native: number for number, native in enumerate(started)}  # the system uses an id again, in time
    assert {native: read[native] for native in last} == {native: f"short {number}" for native, number in last.items()}


def test_thread_start_is_pythons_own_again() -> None:
    own = threading.Thread.start
    with profile():
        with profile():
            assert threading.Thread.start is not own
        assert threading.Thread.start is not own
    assert threading.Thread.start is own


def test_who_hooks_over_it_stays() -> None:
    own = threading.Thread.start
    calls: list[str] = []
    names = ThreadNames()
    ours = threading.Thread.start

    def theirs(thread: threading.Thread) -> None:
        calls.append(thread.name)
        ours(thread)

    threading.Thread.start = theirs  # type: ignore[method-assign]
    try:
        names.stop()
        thread = threading.Thread(target=int, name="later")
        thread.start()
        thread.join()
        assert "later" in calls  # others' threads may have been started meanwhile
    finally:
        threading.Thread.start = own  # type: ignore[method-assign]


@pytest.mark.skipif(sys.platform != "linux", reason="the system's names of threads are read from /proc")
def test_a_thread_that_is_not_pythons_has_the_name_it_gave_itself() -> None:
    libc, thread = ctypes.CDLL(None), ctypes.c_ulong()
    names = ThreadNames()
    assert libc.pthread_create(ctypes.byref(thread), None, libc.pause, None) == 0
    try:
        assert libc.pthread_setname_np(thread, b"decoder 7") == 0
        names.note()
    finally:
        libc.pthread_cancel(thread)
        libc.pthread_join(thread, None)
        names.stop()
    read = names.read()
    assert "decoder 7" in read.values()
    assert read[threading.get_native_id()] == threading.current_thread().name


@pytest.mark.skipif(sys.platform != "linux", reason="the system's names of threads are read from /proc")
def test_the_samplers_thread_has_its_name() -> None:
    window = Window(1000, lambda: None, True, False)
    recording = window.end({})
    assert "stack sampler" in recording.threads.values()
