"""Uploaded files, kept by the SHA-256 of their bytes."""

import contextlib
import hashlib
import io
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from .errors import LabRefused, NotFound
from .settings import Settings

CHUNK = 1 << 20
LONGEST_UPLOAD_S = 24 * 3600
DIGITS = 64
_HASH = re.compile(rf"[0-9a-f]{{{DIGITS}}}(?![0-9a-f])")


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

    def sizes(self) -> Counter[str]:
        """The bytes of each kept file, with what was made of it, by its hash."""
        ...

    def delete(self, sha256: str) -> None:
        """Remove a file and what was made of it; one that is not there is no error."""
        ...

    def sweep(self) -> None:
        """Remove temporary files that processes left which were killed."""
        ...


def open_blobs(settings: Settings) -> Blobs:
    """Where the lab of these settings keeps its files; raises LabRefused."""
    url = settings.blobs_url
    if url is None:
        return FolderBlobs(settings.blobs)
    if not url.startswith("s3://"):
        raise LabRefused(f"PERFLAB_BLOBS_URL is {url}; name a bucket as in s3://bucket/prefix, or unset it")
    try:
        from .s3 import S3Blobs
    except ImportError:
        raise LabRefused("PERFLAB_BLOBS_URL names a bucket; install its client: pip install perflab[s3]") from None
    return S3Blobs(url)


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
                arrived = receive(stream, file, path)
            yield arrived
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
            raise missing(sha256) from None

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

    def sizes(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for path in self._folder.rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # another process removes one
                if (sha256 := hash_of(path.name)) and path.is_file():
                    found[sha256] += path.stat().st_size
        return found

    def delete(self, sha256: str) -> None:
        # What was made of it goes first: alone, it would not be found again.
        for path in [*self._derived(sha256).parent.glob(f"{sha256}*"), self._path(sha256)]:
            path.unlink(missing_ok=True)

    def sweep(self) -> None:
        # One of an upload in flight was written to just now.
        before = time.time() - LONGEST_UPLOAD_S
        for folder in (self._folder / "incoming", *(self._folder / "derived").glob("*")):
            for path in folder.glob("*"):
                with contextlib.suppress(FileNotFoundError):
                    if hash_of(path.name) is None and path.stat().st_mtime < before:
                        path.unlink()

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
            yield receive(stream, file, Path(file.name))

    def keep(self, staged: Staged) -> None:
        self.kept[staged.sha256] = staged.path.read_bytes()

    def open(self, sha256: str) -> BinaryIO:
        try:
            return io.BytesIO(self.kept[sha256])
        except KeyError:
            raise missing(sha256) from None

    def keep_derived(self, sha256: str, write: Callable[[BinaryIO], None]) -> None:
        file = io.BytesIO()
        write(file)
        self.derived[sha256] = file.getvalue()

    def open_derived(self, sha256: str) -> BinaryIO | None:
        return io.BytesIO(self.derived[sha256]) if sha256 in self.derived else None

    def sizes(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for name, content in (*self.kept.items(), *self.derived.items()):
            found[name[:DIGITS]] += len(content)
        return found

    def delete(self, sha256: str) -> None:
        self.kept.pop(sha256, None)
        for name in [name for name in self.derived if name.startswith(sha256)]:
            del self.derived[name]

    def sweep(self) -> None:
        pass


def hash_of(name: str) -> str | None:
    """The hash with which a file's name begins: that of a blob, or of the blob that it was made of."""
    found = _HASH.match(name)
    return found and found.group()


def missing(sha256: str) -> NotFound:
    """What is raised where a blob is not there."""
    return NotFound(f"the lab has lost the file {sha256}; upload it again")


def receive(source: BinaryIO, target: IO[bytes], path: Path) -> Staged:
    """Copy a stream to a file, which is at `path`."""
    digest = hashlib.sha256()
    size = 0
    while chunk := source.read(CHUNK):
        digest.update(chunk)
        target.write(chunk)
        size += len(chunk)
    target.flush()
    return Staged(path, digest.hexdigest(), size)
