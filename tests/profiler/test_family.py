"""Forked children of a process that profiles. Each test has a process of its own, as forks copy all of it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from perflab.profiler.events import ANNOTATION, EVENT, OP
from perflab.profiler.family import _read

PRELUDE = """
import os, signal, sys, threading, time
from collections import Counter
from perflab import runtime as rt
from perflab.profiler import profile, record_function, schedule
from perflab.runtime import _core
from perflab.runtime.data import DataLoader, TensorDataset

x = rt.ones((4,))

def fork(body):
    child = os.fork()
    if child:
        return child
    body()
    os._exit(0)

def wait(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def ops(prof, pid=None):
    slices, tracks = prof.trace.slices, prof.trace.tracks
    rows = [row for row in prof.trace.select(category="cpu_op").tolist() if tracks[slices.track[row]].pid == pid]
    return prof.trace.name_of(rows)
"""


def run(program: str, folder: Path) -> str:
    """What a process writes; it must end well, and leave no file in `folder`."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-X", "faulthandler", "-c", PRELUDE + program],
        capture_output=True, text=True, timeout=300, env=os.environ | {"TMPDIR": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert list(folder.iterdir()) == []
    return done.stdout.strip()


def test_a_child_is_a_process_of_the_trace(tmp_path: Path) -> None:
    out = run(
        """
def work():
    with record_function("of the child"):
        x * x
    thread = threading.Thread(target=lambda: x - x, name="its thread")
    thread.start()
    thread.join()

with profile() as prof:
    x + x
    child = fork(work)
    assert wait(child) == 0
prof.trace.check()
print(ops(prof, os.getpid()), ops(prof, child))
names = {(track.pid == child, track.name) for track in prof.trace.tracks if not track.name.endswith("GIL")}
print(sorted(names))
row, = prof.trace.select(name="of the child")
inner, = prof.trace.select(category="cpu_op", name="mul")
print(prof.trace.slices.parent[inner] == row, prof.trace.args_of(inner)["Input Dims"])
outer, = prof.trace.select(category="cpu_op", name="add")
print(prof.trace.slices.end[outer] <= prof.trace.slices.start[inner])
""",
        tmp_path,
    )
    assert out.splitlines() == [
        "['add'] ['mul', 'sub']",
        "[(False, 'MainThread'), (True, 'MainThread'), (True, 'its thread')]",
        "True [[4], [4]]",
        "True",
    ]


def test_a_child_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    out = run(
        """
reader, writer = os.pipe()

def work():
    for _ in range(70_000):  # three chunks
        x.shape, x + x
    os.write(writer, b"!")
    time.sleep(600)

with profile() as prof:
    child = fork(work)
    assert os.read(reader, 1) == b"!"
    os.kill(child, signal.SIGKILL)
    print(wait(child))
prof.trace.check()
print(Counter(ops(prof, child)))
""",
        tmp_path,
    )
    assert out.splitlines() == ["-9", "Counter({'add': 70000})"]


def test_workers_of_a_loader_are_recorded_when_a_window_begins(tmp_path: Path) -> None:
    """They were forked long before, and live on after it. A moment goes by until they know of it."""
    out = run(
        """
loader = DataLoader(TensorDataset(rt.randn(8, 4)), batch_size=2, num_workers=2, persistent_workers=True)
windows = []

def ready(prof):
    pids = {track.pid: track.process for track in prof.trace.tracks}
    stacks = sum(Counter(ops(prof, pid))["stack"] for pid, name in pids.items() if name.startswith("DataLoader worker"))
    windows.append((stacks, sorted(set(pids.values()))))

every = 4, ["DataLoader worker 0", "DataLoader worker 1", "python"]
with profile(schedule=schedule(wait=1, warmup=0, active=1), on_trace_ready=ready) as prof:
    while windows.count(every) < 2:
        for (batch,) in loader:
            pass
        prof.step()
del loader
print({stacks for stacks, _ in windows} <= {0, 1, 2, 3, 4})
""",
        tmp_path,
    )
    assert out == "True"


def test_children_of_children_and_those_with_a_profile_of_their_own(tmp_path: Path) -> None:
    out = run(
        """
def grandchild():
    x - x

def work():
    x * x
    with profile() as own:
        x / x
    assert own.trace.name_of(own.trace.select(category="cpu_op")) == ["div"]
    own.trace.check()
    assert wait(fork(grandchild)) == 0
    x + x

with profile() as prof:
    with profile() as inner:
        child = fork(work)
        assert wait(child) == 0
for one in (prof, inner):
    others = {track.pid for track in one.trace.tracks} - {os.getpid(), child}
    print(ops(one, child), [ops(one, pid) for pid in others])
""",
        tmp_path,
    )
    assert out.splitlines() == ["['mul', 'div', 'add'] [['sub']]"] * 2


def test_a_child_that_outlives_the_profile_stops_recording(tmp_path: Path) -> None:
    out = run(
        """
reader, writer = os.pipe()
go, gone = os.pipe()

def work():
    x * x
    os.write(writer, b"1")
    os.read(go, 1)
    end = time.monotonic() + 60
    while _core.is_recording() and time.monotonic() < end:
        time.sleep(0.001)
    x - x
    os.write(writer, b"0" if _core.is_recording() else b"2")

with profile() as prof:
    child = fork(work)
    os.read(reader, 1)
os.write(gone, b"!")
print(os.read(reader, 1), wait(child), ops(prof, child))
with profile() as later:
    x + x
print(ops(later, child), len({track.pid for track in later.trace.tracks}))
""",
        tmp_path,
    )
    assert out.splitlines() == ["b'2' 0 ['mul']", "[] 1"]


def test_what_a_child_drops_is_told(tmp_path: Path) -> None:
    out = run(
        """
def work():
    for _ in range(1000):
        x + x

with profile(max_events=300) as prof:
    child = fork(work)
    wait(child)
found = Counter(ops(prof, child))["add"]
memory = prof.trace.metadata["droppedEvents"] + found
print(0 < found <= 300, memory >= 1000)
""",
        tmp_path,
    )
    assert out == "True True"


def test_a_child_that_ends_as_python_does(tmp_path: Path) -> None:
    """It runs atexit handlers, and the with block's end."""
    out = run(
        """
saved = []
with profile(on_trace_ready=lambda prof: saved.append(os.getpid())) as prof:
    child = os.fork()
    if not child:
        x * x
        prof.step()
if child:
    wait(child)
    with profile() as later:
        second = fork(lambda: x - x)
        wait(second)
    print(saved == [os.getpid()], ops(later, second))
""",
        tmp_path,
    )
    assert out == "True ['sub']"


def test_forks_while_other_threads_record_and_fork(tmp_path: Path) -> None:
    out = run(
        """
def many():
    for _ in range(5):
        child = fork(lambda: [x * x for _ in range(10)])
        children.append(child)
        assert wait(child) == 0

def busy():
    while not stop.is_set():
        x + x

children, stop = [], threading.Event()
with profile() as prof:
    workers = [threading.Thread(target=busy) for _ in range(2)]
    forkers = [threading.Thread(target=many) for _ in range(2)]
    for thread in workers + forkers: thread.start()
    for thread in forkers: thread.join()
    stop.set()
    for thread in workers: thread.join()
prof.trace.check()
print([Counter(ops(prof, child)) for child in children] == [Counter(mul=10)] * 10)
""",
        tmp_path,
    )
    assert out == "True"


def test_where_there_is_no_room_for_files_children_are_left_out(tmp_path: Path) -> None:
    out = run(
        """
import tempfile
tempfile.mkdtemp = lambda **_: "/nowhere/at/all"
with profile() as prof:
    child = fork(lambda: x * x)
    print(wait(child))
    x + x
print(ops(prof, os.getpid()), ops(prof, child))
""",
        tmp_path,
    )
    assert out.splitlines() == ["0", "['add'] []"]


def files(folder: Path, events: np.ndarray, *log: tuple[bytes, bytes], chunks: int = 1) -> Path:
    """A child's files, as core/process_file.h draws them."""
    path = folder / "71-1.events"
    head = b"perflab1" + (5).to_bytes(8, "little") + (71).to_bytes(4, "little") + chunks.to_bytes(4, "little")
    path.write_bytes((head + (72).to_bytes(4, "little")).ljust(4096, b"\0") + events.tobytes())
    records = [kind + len(content).to_bytes(4, "little") + content for kind, content in log]
    path.with_suffix(".log").write_bytes(b"".join(records))
    return path


TEXTS = ((b"t", b""), (b"t", "schön".encode()), (b"s", b""))


def an_event(kind: int = OP, name: int = 0, t0: int = 10, t2: int = 20, shapes: int = 0, scope: int = 0) -> np.ndarray:
    event = np.zeros(1, dtype=EVENT)
    for field, value in (("kind", kind), ("name", name), ("t0", t0), ("t2", t2), ("shapes", shapes), ("scope", scope)):
        event[field] = value
    return event


def test_files_are_read(tmp_path: Path) -> None:
    shapes = np.array([2 | 0 << 8, 3, 4, 0 | 0 << 8], dtype="<i8").tobytes()
    names = ((b"n", b'{"process":"worker"}'), (b"n", b'{"thread":72,"name":"main"}'))
    events = np.concatenate([an_event(name=1), an_event(ANNOTATION, 1), an_event(shapes=1)])
    child = _read(files(tmp_path, events, *TEXTS, (b"s", shapes), *names), since=0)
    assert child is not None
    assert (child.pid, child.dropped, child.name, child.threads) == (71, 5, "worker", {72: "main"})
    assert child.strings == ["", "schön"]
    assert [[shape for _, shape in inputs] for inputs in child.shapes] == [[], [(3, 4), ()]]
    ((thread, read),) = child.events
    assert thread == 72 and read["kind"].tolist() == [OP, ANNOTATION, OP]


@pytest.mark.parametrize(
    "event",
    [
        an_event(kind=0),
        an_event(kind=99),
        an_event(name=1 << 20),
        an_event(ANNOTATION, 2),
        an_event(shapes=1),
        an_event(scope=2),
        an_event(t2=9),
        an_event(t0=1, t2=4),
    ],
)
def test_an_event_that_was_not_wholly_written_or_is_too_old_is_left_out(tmp_path: Path, event: np.ndarray) -> None:
    child = _read(files(tmp_path, np.concatenate([an_event(), event, an_event()]), *TEXTS), since=5)
    assert child is not None
    assert len(child.events[0][1]) == 2


def test_files_that_are_cut_short_are_read_up_to_there(tmp_path: Path) -> None:
    path = files(tmp_path, np.concatenate([an_event(ANNOTATION, 1, t0=number, t2=50) for number in range(9)]), *TEXTS)
    whole, log = path.read_bytes(), path.with_suffix(".log").read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        child = _read(path, since=0)
        read = 0 if child is None else sum(len(events) for _, events in child.events)
        assert read == max(0, (size - 4096) // 64)
    path.write_bytes(whole)
    for size in range(len(log)):
        path.with_suffix(".log").write_bytes(log[:size])
        child = _read(path, since=0)
        assert child is not None and child.strings == ["", "schön"][: len(child.strings)]
        assert bool(child.events) == (size >= len(log) - 5 and len(child.shapes) > 0)
    path.with_suffix(".log").unlink()
    assert _read(path, since=0) is None
