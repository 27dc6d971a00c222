"""One process's run of what no benchmark tool measures: a function of no arguments, or any command."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from .beside import statement
from .environment import this_environment, variables
from .errors import GitError, MeasuringFailed
from .git import commit_of, is_dirty
from .interleave import TRACES
from .machine import this_machine
from .result import Benchmark, Result, Run

FUNCTION = re.compile(r"[\w.]+:[\w.]+")
ROUNDS = 20
TOOL = "perflab bench"


def bench(words: Sequence[str], folder: Path, rounds: int = ROUNDS) -> Run:
    """Times `module:function`, or else a command, as a run of the commit that is checked out in `folder`.

    Where the gate asks for a trace, a function that runs ops of perflab.runtime leaves one.

    Args:
        words: "module:function", imported from `folder` or from what is installed; or a command and its arguments.
        rounds: samples. One of a function lasts 2 ms and holds as many calls as fit; one of a command is a process.

    Raises:
        MeasuringFailed: it cannot be imported or run, or fails.
    """
    if rounds < 1:
        raise MeasuringFailed(f"{rounds} rounds measure nothing; give at least 1")
    is_function = len(words) == 1 and FUNCTION.fullmatch(words[0]) is not None
    if is_function:
        name, function = words[0], _function(words[0], folder)
        sample = statement("function()", {"function": function})
        if traces := os.environ.get(TRACES):
            from .suite import trace  # the profiler, which no other process needs

            trace(name, lambda: function, Path(traces) / "001.json.gz")
    else:
        name, sample = shlex.join(words), _command(words, folder)
    samples = tuple(sample() for _ in range(rounds))
    try:
        commit, dirty = commit_of(folder, "HEAD"), is_dirty(folder)
    except GitError:
        commit, dirty = None, False
    return Run(
        project=None,
        commit=commit,
        branch=None,
        machine=this_machine(),
        created=datetime.now(UTC),
        tool=TOOL,
        results=(Result(Benchmark(name), samples),),
        dirty=dirty,
        environment=this_environment() if is_function else variables(),  # what a command imports nobody sees
    )


def _function(target: str, folder: Path) -> Callable[[], object]:
    module, _, path = target.partition(":")
    sys.path.insert(0, str(folder))
    try:
        function: object = import_module(module)
        for name in path.split("."):
            function = getattr(function, name)
    except (ImportError, AttributeError) as error:
        raise MeasuringFailed(f"{target} cannot be imported ({error}); name it as module:function") from None
    finally:
        sys.path.remove(str(folder))
    if not callable(function):
        raise MeasuringFailed(f"{target} is {type(function).__name__}, not a function; name one without arguments")
    return function


def _command(words: Sequence[str], folder: Path) -> Callable[[], float]:
    def sample() -> float:
        begin = time.perf_counter()
        try:
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise MeasuringFailed(f"{words[0]} cannot be run ({error.strerror})") from None
        seconds = time.perf_counter() - begin
        if done.returncode:
            said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
            raise MeasuringFailed(f"{shlex.join(words)} ended with {done.returncode}, saying {said[-1]!r}; mend that")
        return seconds

    return sample
