"""A git repository with a lab, for tests of the gate."""

import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import DEFAULT_LAB, Settings

if TYPE_CHECKING:
    from .conftest import Files, Perflab

AUTHOR = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
STEADY = (1.00, 1.01, 0.99, 1.02)
SLOWER = (1.20, 1.21, 1.19, 1.22)


class Repository:
    """A git repository in the folder that `perflab` runs in, and a lab there."""

    def __init__(self, folder: Path, perflab: "Perflab", files: "Files") -> None:
        self.folder, self.perflab, self.files = folder, perflab, files
        self._lab: LocalLab | None = None
        self._uploads = 0
        self.git("init", "--quiet", "--initial-branch=main")
        (folder / ".gitignore").write_text(".perflab\n*.json\n")
        self.git("add", ".gitignore")

    def git(self, *arguments: str) -> str:
        environment = {**os.environ, **AUTHOR}
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, name: str = "work") -> str:
        self.git("commit", "--quiet", "--allow-empty", "-m", name)
        return self.git("rev-parse", "HEAD")

    def measure(self, commit: str, *values: float, days: int = 0, dirty: bool = False, **of: Any) -> None:
        """A run for each value, `of` a benchmark or a machine as files.run takes them; the lab comes with the first."""
        if self._lab is None:
            self._lab = LocalLab.open(Settings(self.folder / DEFAULT_LAB), create=True)
        for value in values:
            self._uploads += 1
            path = self.files.run(f"{self._uploads}.json", value, minutes=self._uploads + days * 1440, **of)
            if dirty:
                path.write_text(path.read_text().replace('"dirty": false', '"dirty": true'))
            self._lab.upload(path, Label(name=path.name, said=Origin(project="demo", commit=commit)))

    def history(self, values: Sequence[float]) -> list[str]:
        """A commit for each value, measured once."""
        commits = [self.commit() for _ in values]
        for commit, value in zip(commits, values, strict=True):
            self.measure(commit, value)
        return commits

    def gate(self, *arguments: str) -> tuple[int, str]:
        code, out, err = self.perflab("gate", *arguments)
        return code, out + err

    def close(self) -> None:
        if self._lab is not None:
            self._lab.close()


def noise(count: int, seed: int = 0) -> list[float]:
    """Results around 1 with a spread of 1 %."""
    chance = random.Random(seed)
    return [chance.lognormvariate(0, 0.01) for _ in range(count)]
