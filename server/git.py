"""What git says about the folder that a command runs in."""

import subprocess
from datetime import datetime
from pathlib import Path

from .schema import CommitFacts, Origin


def origin(folder: Path) -> Origin:
    """The project (name of the top folder), commit and branch that are checked out; None where git does not say."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    return Origin(
        project=Path(top).name if top else folder.resolve().name or None,
        commit=_git(folder, "rev-parse", "--verify", "HEAD"),
        branch=_git(folder, "symbolic-ref", "--quiet", "--short", "HEAD"),
    )


def facts(folder: Path, sha: str) -> CommitFacts | None:
    """What git says there of a commit; None where it knows no such commit."""
    told = _git(folder, "log", "-1", "--format=%aI%n%s", "--end-of-options", sha)
    if told is None:
        return None
    authored, _, subject = told.partition("\n")
    whole = _git(folder, "rev-parse", "--is-shallow-repository") == "false"
    release = _git(folder, "describe", "--tags", "--abbrev=0", sha) if whole else None
    return CommitFacts(
        sha=sha,
        subject=subject,
        authored=datetime.fromisoformat(authored),
        behind=_behind(folder, sha) if whole else None,
        release=release,
        released=_behind(folder, release) if release else None,
    )


def _behind(folder: Path, commit: str) -> int | None:
    counted = _git(folder, "rev-list", "--count", commit, "--")
    return None if counted is None else int(counted) - 1


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
