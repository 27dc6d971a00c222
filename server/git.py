"""What git says about the folder that a command runs in."""

import subprocess
from pathlib import Path

from .schema import Origin


def origin(folder: Path) -> Origin:
    """The project (name of the top folder), commit and branch that are checked out; None where git does not say."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    return Origin(
        project=Path(top).name if top else folder.resolve().name or None,
        commit=_git(folder, "rev-parse", "--verify", "HEAD"),
        branch=_git(folder, "symbolic-ref", "--quiet", "--short", "HEAD"),
    )


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
