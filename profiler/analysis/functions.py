"""Functions of Python, from a track of sampled stacks: which of them took the time."""

from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from ..trace import Int64s, Trace
from .enclosing import outermost
from .intervals import Cover
from .steps import steps

SAMPLED = "python_function"  # category of the slices
IMPORTING = "(importing modules)"
_IMPORTS = "<frozen importlib"  # begins the files of Python's own import


@dataclass(frozen=True, slots=True)
class FunctionTime:
    """A function, `file` and `line` of its definition (the line is 0 where it is not written in Python), and its time.

    self_ns: in its own code. total_ns: with all that it called.
    """

    name: str
    file: str
    line: int
    self_ns: int
    total_ns: int

    @property
    def label(self) -> str:
        """The name, and where it is."""
        return f"{self.name} ({PurePath(self.file).name}:{self.line})" if self.line else self.name


def python_functions(trace: Trace) -> list[FunctionTime]:
    """The functions of the sampled stacks, by falling self time; within the steps alone, where a trace has steps.

    Python's own import counts as one function.
    """
    slices, strings = trace.slices, trace.strings
    rows = trace.select(category=SAMPLED)
    files = trace.slice_args.get("file")
    table = ["", *map(str, files.table or ())] if files is not None else [""]
    code, line = np.zeros(len(slices), dtype=np.int64), np.zeros(len(slices), dtype=np.int64)
    if files is not None and files.table is not None:
        code[files.rows] = 1 + files.values
    if "line" in trace.slice_args:
        line = trace.slice_args["line"].dense(len(slices))
    keys = np.stack((slices.name.astype(np.int64), code, line))[:, rows]
    is_import = np.array([file.startswith(_IMPORTS) for file in table], dtype=bool)[keys[1]]
    within = np.zeros(len(slices) + 1, dtype=bool)  # the last one for no row
    within[rows[is_import]] = True
    is_import |= (keys[2] == 0) & within[slices.parent[rows]]  # what it calls of C
    keys[:, is_import] = -1
    kinds, function = np.unique(keys, axis=1, return_inverse=True)
    function = function.reshape(-1)
    duration, count = _duration(trace, rows), kinds.shape[1]
    of_row = np.full(len(slices) + 1, -1, dtype=np.int64)  # the last one for no row
    of_row[rows] = function
    caller = of_row[slices.parent[rows]]
    own = _sums(function, duration, count) - _sums(caller[caller >= 0], duration[caller >= 0], count)
    is_outer = outermost(trace, rows, function)
    total = _sums(function[is_outer], duration[is_outer], count)
    found = [
        FunctionTime(strings[name], table[file], at, *ns) if name >= 0 else FunctionTime(IMPORTING, "", 0, *ns)
        for (name, file, at), ns in zip(kinds.T.tolist(), np.stack((own, total), axis=1).tolist(), strict=True)
    ]
    found = [each for each in found if each.total_ns]
    return sorted(found, key=lambda each: (-each.self_ns, -each.total_ns, each.name))


def _duration(trace: Trace, rows: Int64s) -> Int64s:
    """Of slices, as far as they lie in steps."""
    loop = steps(trace)
    if not loop:
        return trace.slices.duration[rows]
    start, duration = np.array([(step.start, step.duration) for step in loop], dtype=np.int64).T
    return Cover.union(start, duration).within(trace.slices.start[rows], trace.slices.end[rows])


def _sums(function: Int64s, values: Int64s, count: int) -> Int64s:
    return np.bincount(function, values, minlength=count).astype(np.int64)
