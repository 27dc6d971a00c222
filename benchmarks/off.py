"""What the recorder costs while it is off, in instructions under callgrind: the same on every machine, under any load.

    python -m perflab.benchmarks.off [CORE]

A training step of mlp_tiny is counted where the recorder was never on and where it was on and is off again, and with
CORE, a core that was built with -DPERFLAB_NEVER_RECORDS=ON, against that: it has no checks. `make off` builds that one
and runs this. Needs valgrind.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

STEPS = 20
# callgrind writes down what it counted when this function of libc is called, which nobody else calls
_MARK = "getppid"
GOAL = 1.005
_TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def main(arguments: list[str] | None = None) -> int:
    """Prints a table; 1 where a goal is missed, 2 where there is no valgrind."""
    parser = argparse.ArgumentParser(prog="python -m perflab.benchmarks.off", description=__doc__)
    parser.add_argument("core", nargs="?", type=Path, help="a core built with -DPERFLAB_NEVER_RECORDS=ON")
    parser.add_argument("--run", choices=("on", "off"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        run(options.run == "on", options.core)
        return 0
    if shutil.which("valgrind") is None:
        print("off: there is no valgrind here to count instructions with (Debian: apt install valgrind)")
        return 2
    never, after = step("off", None), step("on", None)
    met = report("recorder was on, then off / never on", after, never)
    if options.core:
        met &= report("never on / a core without checks", never, step("off", options.core))
    return 0 if met else 1


def report(what: str, instructions: float, of: float) -> bool:
    """A line; whether the ratio keeps to the goal."""
    ratio = instructions / of
    told = f"{what}: {instructions:,.0f} / {of:,.0f} instructions a step = {ratio:.4f} (goal: at most {GOAL})"
    print(told, flush=True)  # the next takes minutes
    return ratio <= GOAL


def step(before: str, core: Path | None) -> float:
    """Instructions of a step."""
    with TemporaryDirectory(prefix="perflab-off-") as folder:
        out = Path(folder) / "out"
        program = [sys.executable, "-m", "perflab.benchmarks.off", "--run", before, *([str(core)] if core else [])]
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", f"--dump-before={_MARK}", *program],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        if done.returncode:
            raise RuntimeError(f"off: the counted process ended with {done.returncode}:\n{done.stderr[-2000:]}")
        between = out.with_name("out.2")  # the first and the second call
        found = _TOTAL.search(between.read_text(encoding="utf-8")) if between.exists() else None
    if found is None:
        raise ValueError("callgrind wrote no total")
    return int(found.group(1)) / STEPS


def run(record_before: bool, core: Path | None) -> None:
    """Some steps in this process, which is counted, between two marks."""
    if core is not None:
        _use(core)
    from perflab import runtime
    from perflab.profiler import profile

    from .models import make_step

    runtime.set_num_threads(1)
    one_step = make_step(runtime, "mlp_tiny")
    if record_before:
        with profile():
            one_step()
    else:
        one_step()
    os.getppid()
    for _ in range(STEPS):
        one_step()
    os.getppid()


def _use(core: Path) -> None:
    """That file is the runtime's core from now on."""
    name = "perflab.runtime._core"
    spec = importlib.util.spec_from_file_location(name, core)
    if spec is None or spec.loader is None:
        raise ImportError(f"{core} is no compiled core")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])


if __name__ == "__main__":
    sys.exit(main())
