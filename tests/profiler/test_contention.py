from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.contention import Blocked, Convoy, GilThread, blocked, convoys, gil_threads
from perflab.profiler.analysis.gil import IGNORED, THREAD

MS = 1_000_000
NAMES = {1: "main", 2: "loader", 3: "writer"}


def made(*acquisitions: tuple[int, int, int, int] | tuple[int, int, int, int, int]) -> Trace:
    """(thread, asked, acquired, released, asked to let go or nothing) of each, in ms."""
    builder = TraceBuilder()
    for number, name in NAMES.items():
        builder.track(Track(1, number, name, "python"))
    for thread, asked, acquired, released, *request in acquisitions:
        track = Track(1, thread + 10_000_000, f"{NAMES[thread]} GIL", "python")
        args = {THREAD: thread}
        if acquired > asked:
            length = (acquired - asked) * MS
            builder.slice("GIL wait", asked * MS, length, track=track, category="gil", args=args)
        if request:
            args |= {IGNORED: (released - request[0]) * MS}
        length = (released - acquired) * MS
        builder.slice("GIL held", acquired * MS, length, track=track, category="gil", args=args)
    trace = builder.build()
    trace.check()
    return trace


CROWD = made((1, 0, 0, 50, 45), (2, 10, 50, 55), (3, 20, 60, 61), (1, 52, 61, 100))


def test_each_threads_share() -> None:
    assert gil_threads(CROWD) == [
        GilThread(0, 2, 89 * MS, 50 * MS, 9 * MS, 9 * MS, 1, 5 * MS),
        GilThread(1, 1, 5 * MS, 5 * MS, 40 * MS, 40 * MS, 0, 0),
        GilThread(2, 1, 1 * MS, 1 * MS, 40 * MS, 40 * MS, 0, 0),
    ]


def test_who_held_it_while_others_waited() -> None:
    assert blocked(CROWD)[:2] == [Blocked(1, 0, 40 * MS, 1), Blocked(2, 0, 30 * MS, 1)]
    pairs = {(pair.waiter, pair.holder): pair.ns // MS for pair in blocked(CROWD)}
    assert pairs == {(1, 0): 40, (2, 0): 30, (2, 1): 5, (0, 1): 3, (0, 2): 1}
    # of 40 and 9 ms that writer and main waited, nobody held it for 5


def test_a_convoy() -> None:
    """The loader reads again and again, and each time waits a switch interval behind the main thread."""
    found = []
    for turn in range(6):
        begin = turn * 60
        found += [(1, max(begin - 1, 0), begin, begin + 50), (2, begin, begin + 50, begin + 52)]
    trace = made(*found)
    assert convoys(trace) == [Convoy(1, 0, 0, 352 * MS, 6, 300 * MS, 12 * MS)]
    assert convoys(made(*found[:8])) == [], "four in a row may be chance"


def test_threads_that_share_fairly_are_no_convoy() -> None:
    turns = [(1 + turn % 2, max(0, 5 * turn - 5), 5 * turn, 5 * turn + 5) for turn in range(20)]
    assert convoys(made(*turns)) == []


def test_a_trace_without_a_gil() -> None:
    empty = TraceBuilder().build()
    assert (gil_threads(empty), blocked(empty), convoys(empty)) == ([], [], [])
