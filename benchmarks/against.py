"""The work tree here against another commit: both are built, and measured in turn in one go."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from .errors import MeasuringFailed
from .folder import Measured, judge_measured, read
from .gate import GateOptions, GateReport, Side
from .git import checkout, commit_of, git, is_dirty, merge_base, suspected
from .interleave import Plan, measure, trace
from .stats import Verdict
from .suspects import settled, suspects


def judge_against(
    folder: Path, ref: str, plan: Plan, build: str | None, options: GateOptions, say: Callable[[str], None]
) -> GateReport:
    """Judges the work tree that `folder` is in against where it left `ref`.

    Args:
        ref: a branch, tag or commit. Base is the newest commit that both have behind them, so that what others added to
            a branch meanwhile is not held against this one.
        build: run by the shell in both trees, in `folder`'s place there; None where nothing is to be built.
        say: is told what runs now.

    Raises:
        GitError: git knows no such commit here.
        MeasuringFailed: a build failed.
    """
    top = Path(git(folder, "rev-parse", "--show-toplevel"))
    place = folder.resolve().relative_to(top)
    head = commit_of(top, "HEAD")
    tip = commit_of(top, ref)
    base = merge_base(top, head, tip)
    notes = []
    if base != tip:
        behind = int(git(top, "rev-list", "--count", f"{base}..{tip}"))
        notes.append(f"Base is where this branch left {ref}, {behind} commit{'s' if behind > 1 else ''} ago.")
    with checkout(top, base) as tree, TemporaryDirectory(prefix="perflab-runs-") as out:
        trees = {"base": tree / place, "head": top / place}
        for name, where in trees.items():
            if build is not None:
                say(f"building {name}")
                _build(build, name, where)
        try:
            notes += measure(plan, trees, Path(out), lambda before, after: suspects(before, after, options), say)
        except MeasuringFailed as error:  # as where the branch brings the first benchmarks
            said = f"{str(error)[0].upper()}{str(error)[1:]}."
            return GateReport(Side(base, 0), Side(head, 0), None, options, problem=said, notes=tuple(notes))

        def judged() -> GateReport:
            before = _labelled(read(Path(out) / "base"), base, dirty=False)
            after = _labelled(read(Path(out) / "head"), head, dirty=is_dirty(top))
            return settled(judge_measured(before, after, options, notes))

        report = judged()
        slower = [it.benchmark.name for it in report.findings if it.verdict == Verdict.REGRESSION]
        if not slower:
            return report
        say(f"profiling {len(slower)} that got slower")
        were = [old for old, new in options.renamed.items() if new in slower]
        notes += [suspected(top, base, head), *trace(plan, trees, Path(out), [*slower, *were])]
        return judged()


def _build(command: str, name: str, where: Path) -> None:
    done = subprocess.run(command, shell=True, cwd=where, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
        raise MeasuringFailed(f"building {name} ended with {done.returncode}, saying {said[-1]!r}; mend that first")


def _labelled(measured: Measured, commit: str, *, dirty: bool) -> Measured:
    """The runs with the commit that they are known to be of, whatever the tool found out."""
    return replace(measured, runs=[replace(run, commit=commit, dirty=dirty) for run in measured.runs])
