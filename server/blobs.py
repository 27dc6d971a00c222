"""Uploaded files, kept by the SHA-256 of their bytes."""

import contextlib
import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from .errors import LabRefused, NotFound

CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that has arrived whole but is not kept yet: it can be read at `path` until its `stage` block ends."""

    path: Path
    sha256: str
    size: int


class Blobs(Protocol):
    """A place for files. Nothing is ever changed in place, so a hash names the same bytes for good."""

    def stage(self, stream: BinaryIO) -> AbstractContextManager[Staged]:
        """Copy a stream to a temporary file, which is gone when the block ends."""
        ...

    def keep(self, staged: Staged) -> None:
        """Keep a staged file for good; keeping the same bytes again changes nothing."""
        ...

    def open(self, sha256: str) -> BinaryIO:
        """The kept bytes of that hash; raises NotFound."""
        ...

    def keep_derived(self, sha256: str, write: Callable[[BinaryIO], None]) -> None:
        """Keep what was made of a blob and can be made again; where it cannot be kept, it is made again each time."""
        ...

    def open_derived(self, sha256: str) -> BinaryIO | None:
        """What was made of the blob of that hash; None where it was not kept."""
        ...


class FolderBlobs:
    """Blobs as files `ab/abcdef...` in a folder; temporary files lie beside them, so that keeping one is a rename."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def stage(self, stream: BinaryIO) -> Iterator[Staged]:
        incoming = self._folder / "incoming"
        if not self._folder.parent.is_dir():
            # The database still answers from its deleted file: an upload would go there and be lost.
            raise LabRefused(f"the lab's folder {self._folder.parent} is gone; put it back, or name another")
        try:
            incoming.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=incoming)
        except OSError as error:
            raise LabRefused(
                f"the lab cannot write to {incoming} ({error.strerror}); choose another folder with --lab"
            ) from error
        path = Path(name)
        try:
            with open(descriptor, "wb") as file:
                sha256, size = _copy(stream, file)
            yield Staged(path, sha256, size)
        finally:
            path.unlink(missing_ok=True)

    def keep(self, staged: Staged) -> None:
        target = self._path(staged.sha256)
        if target.exists():
            return
        target.parent.mkdir(exist_ok=True)
        with open(staged.path, "rb") as file:
            os.fsync(file.fileno())
        staged.path.replace(target)

    def open(self, sha256: str) -> BinaryIO:
        try:
            return open(self._path(sha256), "rb")
        except FileNotFoundError:
            raise _missing(sha256) from None

    def keep_derived(self, sha256: str, write: Callable[[BinaryIO], None]) -> None:
        target = self._derived(sha256)
        with contextlib.suppress(OSError):
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
                try:
                    write(file)  # type: ignore[arg-type]
                    file.flush()
                    os.replace(file.name, target)
                except BaseException:
                    os.unlink(file.name)
                    raise

    def open_derived(self, sha256: str) -> BinaryIO | None:
        with contextlib.suppress(OSError):
            return open(self._derived(sha256), "rb")
        return None

    def _derived(self, sha256: str) -> Path:
        return self._folder / "derived" / sha256[:2] / sha256

    def _path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256


class MemoryBlobs:
    """Blobs in memory, for tests and throw-away labs."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.derived: dict[str, bytes] = {}

    @contextlib.contextmanager
    def stage(self, stream: BinaryIO) -> Iterator[Staged]:
        with tempfile.NamedTemporaryFile() as file:
            sha256, size = _copy(stream, file)
            file.flush()
            yield Staged(Path(file.name), sha256, size)

    def keep(self, staged: Staged) -> None:
        self.kept[staged.sha256] = staged.path.read_bytes()

    def open(self, sha256: str) -> BinaryIO:
        try:
            return io.BytesIO(self.kept[sha256])
        except KeyError:
            raise _missing(sha256) from None

    def keep_derived(self, sha256: str, write: Callable[[BinaryIO], None]) -> None:
        file = io.BytesIO()
        write(file)
        self.derived[sha256] = file.getvalue()

    def open_derived(self, sha256: str) -> BinaryIO | None:
        return io.BytesIO(self.derived[sha256]) if sha256 in self.derived else None


def _missing(sha256: str) -> NotFound:
    return NotFound(f"the lab has lost the file {sha256}; upload it again")


def _copy(source: BinaryIO, target: IO[bytes]) -> tuple[str, int]:
    digest = hashlib.sha256()
    size = 0
    while chunk := source.read(CHUNK):
        digest.update(chunk)
        target.write(chunk)
        size += len(chunk)
    return digest.hexdigest(), size
