"""A folder with what the processes of one commit left: run files, and a trace where one was taken.

*.json      a run each, as pytest-benchmark or perflab wrote it
*.json.gz   traces of processes that were profiled, which are never among those that were timed
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perflab.profiler import chrome
from perflab.profiler.analysis.diff import diff

from . import formats
from .errors import BenchmarkFormatError
from .gate import GateOptions, GateReport, judge
from .result import Run

RUNS, TRACES = "*.json", "*.json.gz"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a folder holds: runs by name of file, and the traces' paths."""

    runs: Sequence[Run]
    traces: Sequence[Path]


def read(folder: Path) -> Measured:
    """What the folder holds; raises BenchmarkFormatError where a file cannot be read, or there is no folder."""
    if not folder.is_dir():
        raise BenchmarkFormatError(f"{folder} is no folder; name one with the run files of a commit")
    return Measured([formats.read(path) for path in sorted(folder.glob(RUNS))], sorted(folder.glob(TRACES)))


def judge_measured(base: Measured, head: Measured, options: GateOptions, notes: Sequence[str] = ()) -> GateReport:
    """Judges the runs of one folder against those of another; the first trace of each tells the causes."""
    difference = None
    if base.traces and head.traces:
        difference = diff(chrome.read(base.traces[0]), chrome.read(head.traces[0]))
    return judge(base.runs, head.runs, options, difference, notes)
