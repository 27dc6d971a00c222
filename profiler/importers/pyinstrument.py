"""pyinstrument: its sessions (.pyisession), and what its JSON renderer writes.

A session holds the stack of every sample in order, so its slices are when things ran, as finely as it sampled. The
JSON tree holds sums: its slices stand one behind the other.
"""

from typing import TypeGuard

from ..builder import TraceBuilder
from ..errors import TraceFormatError
from ..trace import Json, Trace, Track
from .findings import Findings
from .speedscope import stretches

FORMAT = "pyinstrument"
SESSION_KEYS = {"frame_records", "start_time"}
TREE_KEYS = {"root_frame", "sample_count"}
_FURTHEST_S = 4e9
_ENDLESS = 500  # deeper trees than Python's own stack are no trees of Python


def read_session(document: dict[str, Json], name: str, findings: Findings) -> Trace:
    """Each thread a track, each stretch in which a function stays on the stack a slice; raises TraceFormatError."""
    records = document["frame_records"]
    if not isinstance(records, list):
        raise TraceFormatError(f"{name}: a pyinstrument session without its samples; save it again")
    builder = TraceBuilder(_metadata(document))
    frames: dict[str, int] = {}
    by_thread: dict[str, list[tuple[list[int], int]]] = {}
    for record in records:
        stack, seconds = record if isinstance(record, list) and len(record) == 2 else (None, None)
        if not isinstance(stack, list) or not all(isinstance(frame, str) for frame in stack) or not _is_time(seconds):
            findings.add("no-time", examples=[ascii(record)[:60]])
            continue
        thread = stack[0] if stack and "\0<thread>\0" in stack[0] else ""
        inner = [frame.split("\1")[0] for frame in (stack[1:] if thread else stack)]  # behind it: the line, the class
        numbers = [frames.setdefault(frame, len(frames)) for frame in inner]
        by_thread.setdefault(thread, []).append((numbers, round(seconds * 1e9)))
    listed = list(frames)
    for thread, samples in by_thread.items():
        label, _, tid, *_ = (thread or "MainThread\0<thread>\x001").split("\0")
        track = Track(1, int(tid) if tid.isdecimal() else tid, label, str(document.get("target_description") or ""))
        for frame, start, end in stretches(samples, 0):
            function, file, line = [*listed[frame].split("\0"), "", ""][:3]
            _add(builder, track, function, file, int(line) if line.isdecimal() else 0, start, end - start)
    return builder.build()


def read_tree(document: dict[str, Json], name: str, findings: Findings) -> Trace:
    """The tree of sums, children one behind the other inside their caller; raises TraceFormatError."""
    root = document["root_frame"]
    if root is not None and not isinstance(root, dict):
        raise TraceFormatError(f"{name}: a pyinstrument file without its tree of frames; render it again")
    findings.add("sums")
    builder = TraceBuilder(_metadata(document))
    track = Track(1, 1, "MainThread", str(document.get("target_description") or ""))
    waiting = [(root, 0, 0)] if root else []
    while waiting:
        frame, start, depth = waiting.pop()
        seconds = frame.get("time")
        if not _is_time(seconds) or depth > _ENDLESS:
            findings.add("no-time", examples=[ascii(frame.get("function"))[:60]])
            continue
        line = frame.get("line_no")
        _add(
            builder, track, str(frame.get("function", "")), str(frame.get("file_path") or ""),
            line if type(line) is int else 0, start, round(seconds * 1e9),
        )  # fmt: skip
        children = frame.get("children")
        for child in children if isinstance(children, list) else ():
            if isinstance(child, dict):
                waiting.append((child, start, depth + 1))
                start += round(child["time"] * 1e9) if _is_time(child.get("time")) else 0
    return builder.build()


def _metadata(document: dict[str, Json]) -> dict[str, Json]:
    began = document.get("start_time")
    return {"tool": FORMAT} | ({"baseTimeNanoseconds": round(began * 1e9)} if _is_time(began) else {})


def _is_time(value: Json) -> TypeGuard[float]:
    return type(value) in (int, float) and 0 <= value < _FURTHEST_S


def _add(builder: TraceBuilder, track: Track, name: str, file: str, line: int, start: int, duration: int) -> None:
    where: dict[str, Json] = {"file": file, "line": line} if file else {}
    builder.slice(name, start, duration, track=track, category="python_function", args=where)
