"""The GIL's tracer in processes of their own: record by record, at exit, over forks, with signals."""

import subprocess
import sys


def run(program: str, *, timeout: float = 120) -> str:
    """What a Python process of its own writes; it must end well."""
    prelude = "import os, sys, threading, time\nfrom perflab.profiler.gil import GilRecorder\n"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", prelude + program], capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.strip()


def test_alone_it_is_held_throughout() -> None:
    program = """
from perflab.profiler.events import GIL_AFTER, GIL_BEFORE
recorder = GilRecorder()
sum(range(1000))
(hold,) = recorder.stop().holds
print(hold["thread"] == threading.get_native_id(), hold["requested"], hold["flags"] == GIL_BEFORE | GIL_AFTER)
"""
    assert run(program) == "True 0 True"


def test_a_full_ring_counts_what_is_lost() -> None:
    program = """
recorder = GilRecorder(room=64)
for _ in range(100): time.sleep(0)
record = recorder.stop()
print(len(record.holds), record.notes, (record.holds["released"][:-1] <= record.holds["acquired"][1:]).all())
"""
    assert run(program) == f"64 {{'gil': 'exact', 'gilLost': {101 - 64}}} True"


def test_overlapping_recordings_share_their_records() -> None:
    program = """
outer = GilRecorder()
time.sleep(0)
inner = GilRecorder()
time.sleep(0)
time.sleep(0)
inside = inner.stop().holds
time.sleep(0)
around = outer.stop().holds
print(len(inside), len(around), (inside[1:-1] == around[2:3]).all())
print(around[1]["acquired"] < inside[0]["acquired"], inside[-1]["released"] < around[3]["released"])
print(len(outer.stop().holds))
"""
    assert run(program).split() == ["3", "5", "True", "True", "True", "0"]


def test_exit_while_it_is_traced() -> None:
    program = """
recorder = GilRecorder()
def spin():
    while True: pass
def sleep():
    while True: time.sleep(0.0003)
for body in (spin, spin, sleep, sleep, sleep): threading.Thread(target=body, daemon=True).start()
time.sleep(0.05)
print("bye")
"""
    for _ in range(5):
        assert run(program) == "bye"


def test_a_forked_child_begins_anew() -> None:
    assert (
        run("""
import warnings; warnings.simplefilter("ignore")
recorder = GilRecorder()
stop = False
def work():
    while not stop: time.sleep(0.0002)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(30):
    child = os.fork()
    if not child:
        mine = threading.get_native_id()
        nothing = recorder.stop().holds
        fresh = GilRecorder()
        time.sleep(0.001)
        holds = fresh.stop().holds
        os._exit(0 if len(nothing) == 0 and len(holds) == 2 and set(holds["thread"]) == {mine} else 9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop = True
for thread in threads: thread.join()
holds = recorder.stop().holds
print(len(holds) > 100, bool((holds["acquired"][1:] >= holds["released"][:-1]).all()))
""")
        == "True True"
    )


def test_signals_and_children_by_exec() -> None:
    assert (
        run("""
import signal, subprocess
seen = 0
def handler(signal, frame):
    global seen
    seen += 1
signal.signal(signal.SIGALRM, handler)
recorder = GilRecorder()
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
end = time.time() + 0.3
def spin():
    while time.time() < end: pass
thread = threading.Thread(target=spin)
thread.start()
spin()
thread.join()
signal.setitimer(signal.ITIMER_REAL, 0)
for _ in range(5): subprocess.run(["true"], check=True)
holds = recorder.stop().holds
print(seen > 10, bool((holds["acquired"][1:] >= holds["released"][:-1]).all()))
""")
        == "True True"
    )
