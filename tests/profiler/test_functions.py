"""Functions of sampled stacks: own and total time, by definition."""

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.advice import advise
from perflab.profiler.analysis.averages import key_averages
from perflab.profiler.analysis.functions import IMPORTING, FunctionTime, python_functions
from perflab.profiler.analysis.waiting import waiting_part, waits

STACK = Track(1, 20_000_001, "main Python", "python")
MAIN = Track(1, 1, "main", "python")
IMPORT = "<frozen importlib._bootstrap>"


def sampled(*slices: tuple[str, str, int, int, int]) -> Trace:
    """A trace of slices: name, file, line, start, duration."""
    builder = TraceBuilder()
    for name, file, line, start, duration in slices:
        args = {"file": file, "line": line}
        builder.slice(name, start, duration, track=STACK, category="python_function", args=args)
    return builder.build()


def test_own_and_total_time() -> None:
    trace = sampled(
        ("main", "/a/work.py", 1, 0, 100),
        ("load", "/a/work.py", 9, 10, 30),
        ("load", "/a/work.py", 9, 50, 40),
        ("len", "<built-in>", 0, 60, 5),
    )
    assert python_functions(trace) == [
        FunctionTime("load", "/a/work.py", 9, 65, 70),
        FunctionTime("main", "/a/work.py", 1, 30, 100),
        FunctionTime("len", "<built-in>", 0, 5, 5),
    ]
    assert [each.label for each in python_functions(trace)] == ["load (work.py:9)", "main (work.py:1)", "len"]


def test_recursion_counts_once_in_the_total() -> None:
    trace = sampled(("f", "a.py", 1, 0, 100), ("g", "a.py", 5, 10, 80), ("f", "a.py", 1, 20, 60))
    assert [(each.name, each.self_ns, each.total_ns) for each in python_functions(trace)] == [
        ("f", 80, 100),
        ("g", 20, 80),
    ]


def test_functions_of_one_name_are_told_apart() -> None:
    trace = sampled(("<lambda>", "a.py", 1, 0, 10), ("<lambda>", "a.py", 2, 10, 20), ("<lambda>", "b.py", 1, 30, 40))
    assert [(each.file, each.line, each.self_ns) for each in python_functions(trace)] == [
        ("b.py", 1, 40),
        ("a.py", 2, 20),
        ("a.py", 1, 10),
    ]


def test_import_is_one_function() -> None:
    trace = sampled(
        ("main", "a.py", 1, 0, 1000),
        ("_find_and_load", IMPORT, 1000, 100, 800),
        ("_load_unlocked", IMPORT, 600, 110, 700),
        ("loads", "<built-in>", 0, 120, 50),
        ("<module>", "b.py", 1, 200, 300),
        ("_find_and_load", IMPORT, 1000, 250, 100),
    )
    found = {each.name: (each.self_ns, each.total_ns) for each in python_functions(trace)}
    assert found == {IMPORTING: (600, 800), "<module>": (200, 300), "main": (200, 1000)}


def test_slices_without_files_and_traces_without_samples() -> None:
    builder = TraceBuilder()
    builder.slice("f", 0, 10, track=STACK, category="python_function")
    assert python_functions(builder.build()) == [FunctionTime("f", "", 0, 10, 10)]
    assert python_functions(TraceBuilder().build()) == []


def test_with_steps_what_is_outside_of_them_does_not_count() -> None:
    builder = TraceBuilder()
    for name, start, duration in (("main", 0, 1000), ("load", 0, 150), ("train", 200, 500), ("save", 700, 300)):
        args = {"file": "a.py", "line": 1}
        builder.slice(name, start, duration, track=STACK, category="python_function", args=args)
    for number, start in enumerate((100, 400)):
        builder.slice(f"ProfilerStep#{number}", start, 250, track=MAIN, category="user_annotation")
    assert [(each.name, each.self_ns, each.total_ns) for each in python_functions(builder.build())] == [
        ("train", 400, 400),
        ("main", 50, 500),
        ("load", 50, 50),
    ]


def test_sampled_functions_are_no_ops() -> None:
    assert not key_averages(sampled(("main", "a.py", 1, 0, 100))).rows


LIBRARY = "/usr/lib/python3.11/"


def waiting() -> Trace:
    """`fetch`, of a package, waits for 300 ns by way of the library, `main` for 200; 100 are a `wait` of its own."""
    package = LIBRARY + "site-packages/pipe.py"
    return sampled(
        ("main", "/a/work.py", 1, 0, 1000),
        ("get", LIBRARY + "queue.py", 154, 0, 200),
        ("wait", LIBRARY + "threading.py", 295, 0, 200),
        ("wait", "/a/threading.py", 7, 200, 100),
        ("fetch", package, 9, 400, 350),
        ("get", LIBRARY + "queue.py", 154, 400, 300),
        ("wait", LIBRARY + "threading.py", 295, 400, 300),
    )


def test_functions_that_wait_and_for_whom() -> None:
    trace = waiting()
    waited = [each for each in python_functions(trace) if waits(each)]
    assert waited == [FunctionTime("wait", LIBRARY + "threading.py", 295, 500, 500)]
    assert waiting_part(trace, waited[0]) == "fetch (pipe.py:9)"
    alone = sampled(("select", LIBRARY + "selectors.py", 451, 0, 10))
    assert waiting_part(alone, python_functions(alone)[0]) == ""


def test_waiting_is_no_code_to_make_faster() -> None:
    wait, own = advise(waiting())
    assert (wait.title, wait.saving_ns) == ("See what fetch (pipe.py:9) waits for", 500)
    assert wait.evidence == "it waits in wait (threading.py:295) for 500 ns of 1 us (50%)"
    assert (own.title, own.saving_ns) == ("Look at main (work.py:1) first", 350)
