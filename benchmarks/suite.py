"""One pytest-benchmark suite in several processes, as it is: what `pytest SUITE --perflab FOLDER` does.

A process says little about the next one (its memory lies elsewhere, its hashes are others), so the unit that the gate
counts is the process. Each leaves a run file in the folder. One more, which is not timed, leaves a trace of each
benchmark that runs ops of perflab.runtime: the gate tells from them why a benchmark regressed.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from perflab.profiler import profile

from . import formats
from .errors import MeasuringFailed
from .interleave import TRACES
from .result import Result, Run

# Set in the processes that are started here: they measure, and start none.
INSIDE = "PERFLAB_SUITE_PROCESS"
STEPS = 5  # of a trace: calls of what is measured
KEPT = 1000  # samples of a result: a fast function gives a hundred thousand


def run_in_processes(
    arguments: Sequence[str], where: Path, folder: Path, processes: int, say: Callable[[str], None]
) -> int:
    """Runs pytest with these arguments so many times; the exit code of the first that ends badly, else 0.

    Args:
        where: the folder that pytest was called in.
        folder: takes 001.json, 002.json ...; it is made where there is none.
        say: is told what each process came to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.glob("*.json")):
        raise MeasuringFailed(f"{folder} has run files already: empty it, or name another folder")
    for number in range(1, processes + 1):
        with TemporaryDirectory(prefix="perflab-") as place:
            file = Path(place) / "benchmark.json"
            code, said = _pytest([*arguments, "--benchmark-json", str(file)], where)
            if code:
                say(said)
                say(f"process {number} of {processes} ended with {code}; no more are started")
                return code
            if not file.exists() or not file.stat().st_size:
                raise MeasuringFailed("no benchmark ran: name tests that use the fixture `benchmark`")
            kept = _shortened(formats.read(file))
            (folder / f"{number:03}.json").write_text(kept.to_json(), encoding="utf-8")
            say(f"process {number} of {processes}: {len(kept.results)} benchmarks")
    code, said = _pytest([*arguments, "--benchmark-disable"], where, {TRACES: str(folder)})
    say(said if code else f"profiled: {len(list(folder.glob('*.json.gz')))} benchmarks run ops of perflab.runtime")
    return code


def _pytest(arguments: Sequence[str], where: Path, environment: Mapping[str, str] = {}) -> tuple[int, str]:
    """Runs pytest in a process of its own: exit code and what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=where,
        env={**os.environ, INSIDE: "1", **environment},
        capture_output=True,
        text=True,
        errors="replace",
    )
    return done.returncode, f"{done.stdout}{done.stderr}"


def trace(name: str, prepare: Callable[[], Callable[[], object]], path: Path) -> bool:
    """Profiles a few calls of what `prepare` makes ready; whether it ran an op, and a trace was written."""
    prepare()()  # a first call makes what later ones reuse
    with profile(metadata={"benchmark": name}) as prof:
        for call in [prepare() for _ in range(STEPS)]:
            call()
            prof.step()
    if not len(prof.trace.select(category="cpu_op")):
        return False
    prof.export_chrome_trace(path)
    return True


def _shortened(run: Run) -> Run:
    """The run with at most about KEPT samples of each benchmark, its extremes among them."""
    return replace(run, results=tuple(_thinned(result) for result in run.results))


def _thinned(result: Result) -> Result:
    samples = result.samples
    if len(samples) <= KEPT:
        return result
    extremes = {samples.index(min(samples)), samples.index(max(samples))}
    places = extremes.union(range(0, len(samples), -(-len(samples) // KEPT)))
    return replace(result, samples=tuple(samples[place] for place in sorted(places)))
