"""What a process did besides its ops: Python's functions, the GIL, garbage, the memory that the system gave it."""

from ..quantity import plain
from .answers import Answers, GilUse
from .section import FEW, Section, Table, share, short, size, sparkline, time

_WORTH = 0.005  # of the whole: garbage below that is no section


def python(it: Answers) -> Section | None:
    """Sampled functions."""
    if not it.functions:
        return None
    rows = tuple(
        (short(each.label), time(each.self_ns), share(each.self_ns, it.sampled_ns), time(each.total_ns))
        for each in it.functions
    )
    where = " within its steps" if it.summary.steps else ""
    head = f"Of the thread that was sampled{where}: what ran by itself, and with all that it called."
    return Section("Python", (head,), (Table(("function", "self", "share", "total"), rows),))


def garbage(it: Answers) -> Section | None:
    """Collections by generation."""
    whole = sum(each.ns for each in it.garbage)
    if not whole or whole < _WORTH * it.summary.span_ns:
        return None
    head = (
        f"Collections took {time(whole)}, {share(whole, it.summary.span_ns)} of the time, and freed"
        f" {plain(sum(each.collected for each in it.garbage))} objects."
    )
    rows = tuple(
        (
            str(each.generation),
            time(each.ns),
            time(each.longest_ns),
            plain(each.count),
            plain(each.collected),
        )
        for each in it.garbage
    )
    return Section("Garbage", (head,), (Table(("generation", "time", "longest", "collections", "freed"), rows),))


def tasks(it: Answers) -> Section | None:
    """What asyncio ran."""
    if not it.coroutines:
        return None
    heads = tuple(
        f"The loop of {loop.thread} ran tasks for {share(loop.run_ns, loop.span_ns)} of {time(loop.span_ns)};"
        f" {plain(loop.tasks)} tasks in {plain(loop.steps)} steps, the longest {time(loop.longest_ns)}:"
        " nothing else ran on the loop meanwhile."
        for loop in it.loops
    )
    rows = tuple(
        (
            short(each.coroutine), time(each.run_ns), time(each.longest_ns), plain(each.steps), plain(each.tasks),
            time(each.wait_ns),
        )
        for each in it.coroutines[:FEW]
    )  # fmt: skip
    waits = sorted(((ns, each.coroutine, name) for each in it.coroutines for name, ns in each.waits), reverse=True)
    waited = tuple((short(f"{coroutine} in {name}"), time(ns)) for ns, coroutine, name in waits[:FEW])
    tables = (Table(("coroutine", "running", "longest step", "steps", "tasks", "waiting"), rows),)
    return Section("Tasks", heads, tables + ((Table(("waited", "time"), waited),) if waited else ()))


def resident(it: Answers) -> str | None:
    """A sentence about the process's memory."""
    if it.resident is None:
        return None
    use = it.resident
    return (
        f"The process had {size(use.first_bytes)} at first, {size(use.peak_bytes)} at most and"
        f" {size(use.last_bytes)} at the end: {sparkline(use.curve)}"
    )


def gil(it: Answers) -> Section | None:
    """Who held the GIL, who waited for it, and for whom."""
    if not it.gil_threads:
        return None
    span, waits = it.summary.span_ns, it.summary.gil_wait_ns
    tables = [Table(_GIL, tuple(_gil_row(use, span) for use in it.gil_threads[:FEW]))]
    if it.gil:
        pairs = tuple((short(pair.waiter), pair.holder, time(pair.ns), plain(pair.waits)) for pair in it.gil[:FEW])
        tables.append(Table(("waited", "while held by", "time", "waits"), pairs))
    first = it.gil_threads[0]
    heads = [f"{first.name} held it for {share(first.held_ns, span)} of the time."]
    heads.append(f"All threads together waited for it for {time(waits)}." if waits else "Nobody waited for it.")
    if it.gil_unheld_ns > _MUCH * waits:
        heads.append(f"For {time(it.gil_unheld_ns)} nobody held it: who gets it has to be woken, by a free processor.")
    heads += [
        f"{one.thread} waited {time(one.waited_ns)} in {plain(one.acquisitions)} turns to hold it for"
        f" {time(one.held_ns)}, while {one.holder} held it: such a thread is better off in a process of its own."
        for one in it.convoys
    ]
    return Section("The GIL", tuple(heads), tuple(tables))


_MUCH = 0.1
_GIL = ("thread", "held", "share", "longest", "waited", "longest wait", "times")


def _gil_row(use: GilUse, span: int) -> tuple[str, ...]:
    return (
        short(use.name), time(use.held_ns), share(use.held_ns, span), time(use.longest_hold_ns), time(use.waited_ns),
        time(use.longest_wait_ns), plain(use.acquisitions),
    )  # fmt: skip
