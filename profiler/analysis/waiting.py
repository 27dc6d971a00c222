"""Functions of Python's library that wait: their time is somebody else's, and no code of theirs can be made faster."""

import re

import numpy as np

from ..trace import Trace
from .functions import SAMPLED, FunctionTime

_IN_LIBRARY = re.compile(r"(.*/(?:python3\.\d+t?|Lib)/)(.+)")  # its folder, the file in it
_WAITS = {
    "multiprocessing/connection.py": ("_recv", "poll", "wait"),
    "multiprocessing/popen_fork.py": ("poll", "wait"),
    "selectors.py": ("select",),
    "socket.py": ("accept", "readinto"),
    "subprocess.py": ("_communicate", "_try_wait"),
    "threading.py": ("_wait_for_tstate_lock", "acquire", "join", "wait"),
}


def waits(function: FunctionTime) -> bool:
    """Whether what takes its time is to wait."""
    return bool(library_of(function))


def library_of(function: FunctionTime) -> str:
    """The folder of Python's library, which a function that waits lies in; "" for others."""
    place = _IN_LIBRARY.fullmatch(function.file)
    return place[1] if place and function.name in _WAITS.get(place[2], ()) else ""


def waiting_part(trace: Trace, function: FunctionTime) -> str:
    """The label of the program's own function that a function waits longest for, "" where only the library does."""
    library, slices, args = library_of(function), trace.slices, trace.slice_args
    rows = trace.select(category=SAMPLED, name=function.name)
    files = args.get("file")
    if not library or files is None or not len(rows):
        return ""
    table = list(map(str, files.table or ()))
    theirs = np.array([file.startswith(library) and "site-packages" not in file for file in table], dtype=bool)
    code = np.full(len(slices), -1, dtype=np.int64)
    code[files.rows] = files.values
    is_one = np.array([file == function.file for file in table], dtype=bool)
    rows = rows[is_one[code[rows]] & (code[rows] >= 0)]
    part, climbing = rows.copy(), np.arange(len(rows))
    while len(climbing):
        part[climbing] = slices.parent[part[climbing]]
        climbing = climbing[part[climbing] >= 0]
        climbing = climbing[(code[part[climbing]] < 0) | theirs[code[part[climbing]]]]
    found = part >= 0
    if not found.any():
        return ""
    line = args["line"].dense(len(slices)) if "line" in args else np.zeros(len(slices), dtype=np.int64)
    places = np.stack((slices.name[part[found]].astype(np.int64), code[part[found]], line[part[found]]))
    kinds, kind = np.unique(places, axis=1, return_inverse=True)
    name, file, at = kinds[:, np.bincount(kind.reshape(-1), slices.duration[rows[found]]).argmax()].tolist()
    return FunctionTime(trace.strings[name], table[file], at, 0, 0).label
