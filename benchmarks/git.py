"""What the gate asks git: which commit a name means, how far apart two are, and a checkout of one beside the other."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .errors import GitError

SHOWN = 5  # commits of a sentence


def git(folder: Path, *arguments: str) -> str:
    """What git prints in that folder, without the last line's end.

    Raises:
        GitError: it ends badly, or there is no git; with what it said.
    """
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise GitError(f"git cannot be run ({error.strerror}); install it") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise GitError(f"git {arguments[0]} failed: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout.rstrip("\n")


def commit_of(folder: Path, name: str) -> str:
    """The whole SHA of the commit that a name means there: a branch, a tag, a SHA or its beginning."""
    try:
        return git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except GitError:
        cut, more = _advice(folder)
        raise GitError(f"git knows no commit {name!r} here{cut}; {more}") from None


def _advice(folder: Path) -> tuple[str, str]:
    """What to say, and to do, where a commit is not there."""
    if is_shallow(folder):
        return ", in a shallow clone", "fetch the rest (git fetch --unshallow; in actions/checkout, fetch-depth: 0)"
    return "", "fetch it, or name another"


def is_shallow(folder: Path) -> bool:
    """Whether the clone was cut off at some depth."""
    return git(folder, "rev-parse", "--is-shallow-repository") == "true"


def is_dirty(folder: Path) -> bool:
    """Whether tracked files differ from the commit."""
    return bool(git(folder, "status", "--porcelain", "--untracked-files=no"))


def ancestors(folder: Path, commit: str) -> list[str]:
    """The commit and its ancestors, newest first, on all sides of merges; as many as the clone has."""
    return git(folder, "rev-list", "--topo-order", commit, "--").splitlines()


def suspected(folder: Path, base: str, head: str) -> str:
    """A sentence on the commits that came between two, the newest first: what made head slower is among them."""
    commits = git(folder, "log", "--format=%h %s", f"{base}..{head}").splitlines()
    shown = "; ".join(commits[:SHOWN])
    more = f"; and {len(commits) - SHOWN} before them" if len(commits) > SHOWN else ""
    return f"Since base: {shown}{more}." if commits else "Since base: nothing that is committed."


def last_tag(folder: Path, commit: str) -> str | None:
    """The nearest tag behind a commit, not on it; None without one."""
    try:
        return git(folder, "describe", "--tags", "--abbrev=0", f"{commit}^")
    except GitError:
        return None


def merge_base(folder: Path, ours: str, theirs: str) -> str:
    """The newest commit that both have behind them: what a branch is fairly held against."""
    try:
        return git(folder, "merge-base", ours, theirs)
    except GitError:
        cut, more = _advice(folder)
        raise GitError(f"{ours[:12]} and {theirs[:12]} have no commit in common{cut}; {more}") from None


@contextmanager
def checkout(repository: Path, commit: str) -> Iterator[Path]:
    """A second work tree at that commit, for as long as it lasts."""
    with TemporaryDirectory(prefix="perflab-base-") as folder:
        tree = Path(folder) / commit[:12]
        git(repository, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            git(repository, "worktree", "remove", "--force", str(tree))
