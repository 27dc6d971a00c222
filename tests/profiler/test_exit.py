"""Profiles when the interpreter ends, in a process of their own each."""

import subprocess
import sys
from pathlib import Path

import pytest

from perflab.profiler import chrome

PRELUDE = """
import atexit, os, signal, sys, threading, time
from perflab import runtime as rt
from perflab.profiler import Ring, profile

x = rt.ones((4,))
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-X", "faulthandler", "-c", PRELUDE + program, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    "program",
    [
        "prof = profile(); prof.start(); x + x",
        "prof = profile(with_stack=True); prof.start(); x + x",
        "prof = profile(ring=Ring(3, slower=2, signal=signal.SIGUSR1)); prof.start(); [prof.step() for _ in range(9)]",
        "[profile().start() for _ in range(10)]; x + x",
        "prof = profile(); prof.start(); os._exit(0)",
        "prof = profile(); prof.start(); os.fork(); x + x",
    ],
)
def test_a_profile_that_nobody_stops(program: str) -> None:
    done = run(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_handler_at_exit_may_stop_it(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    done = run(
        """
prof = profile(on_trace_ready=lambda prof: prof.export_chrome_trace(sys.argv[1]))
prof.start()
x + x
atexit.register(prof.stop)
""",
        str(file),
    )
    assert (done.returncode, done.stderr) == (0, "")
    trace = chrome.read(file)
    assert trace.name_of(trace.select(category="cpu_op")) == ["add"]


def test_sys_exit_in_the_block_saves_what_was_recorded(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    done = run(
        """
with profile(on_trace_ready=lambda prof: prof.export_chrome_trace(sys.argv[1])):
    x + x
    sys.exit(7)
""",
        str(file),
    )
    assert (done.returncode, done.stderr) == (7, "")
    trace = chrome.read(file)
    assert trace.name_of(trace.select(category="cpu_op")) == ["add"] and "reason" not in trace.metadata


def test_a_generator_that_is_left_in_the_midst_at_exit() -> None:
    done = run(
        """
def batches():
    with profile():
        while True:
            yield x + x

left = batches()
next(left)
"""
    )
    assert done.returncode == 0 and "Fatal" not in done.stderr


def test_threads_that_profile_on_while_it_ends() -> None:
    done = run(
        """
def work():
    while True:
        with profile() as prof:
            for _ in range(3):
                x + x
                prof.step()

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("bye")
"""
    )
    assert (done.returncode, done.stdout) == (0, "bye\n") and "Fatal" not in done.stderr


def test_a_thread_that_is_left_stops_it_after_the_main_thread(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    done = run(
        """
prof = profile(on_trace_ready=lambda prof: prof.export_chrome_trace(sys.argv[1]))
prof.start()

def work():
    threading.main_thread().join()
    x * x
    prof.step()
    prof.stop()

threading.Thread(target=work, name="the last").start()
""",
        str(file),
    )
    assert (done.returncode, done.stderr) == (0, "")
    trace = chrome.read(file)
    row = int(trace.select(category="cpu_op", name="mul")[0])
    assert trace.tracks[trace.slices.track[row]].name == "the last"
