"""Uploaded files in a bucket of S3 or of a service that speaks like it."""

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from .blobs import CHUNK, Staged, hash_of, missing, receive
from .errors import LabRefused


class S3Blobs:
    """Blobs as objects `ab/abcdef...` under a prefix.

    Credentials, region and endpoint come from the environment, under the names that AWS gives them: AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL.
    """

    def __init__(self, url: str) -> None:
        """Blobs at `s3://bucket/prefix`; raises LabRefused where that is no address of a bucket."""
        self._url = url
        try:
            self._store = S3Store.from_url(
                url,
                client_options={
                    "allow_http": os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"),
                    "timeout": timedelta(minutes=10),  # of a whole answer, which may be a large trace
                },
                retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=30)},
            )
        except (BaseError, ValueError) as error:
            raise self._refused(error) from error

    @contextlib.contextmanager
    def stage(self, stream: BinaryIO) -> Iterator[Staged]:
        with tempfile.NamedTemporaryFile() as file:
            yield receive(stream, file, Path(file.name))

    def keep(self, staged: Staged) -> None:
        with self._errors():
            if not self._has(_place(staged.sha256)):
                obstore.put(self._store, _place(staged.sha256), staged.path)

    def open(self, sha256: str) -> BinaryIO:
        file = self._fetch(_place(sha256))
        if file is None:
            raise missing(sha256)
        return file

    def keep_derived(self, sha256: str, write: Callable[[BinaryIO], None]) -> None:
        with tempfile.NamedTemporaryFile() as file:
            write(file)  # type: ignore[arg-type]
            file.flush()
            with contextlib.suppress(BaseError):
                obstore.put(self._store, _derived(sha256), Path(file.name))

    def open_derived(self, sha256: str) -> BinaryIO | None:
        with contextlib.suppress(LabRefused):
            return self._fetch(_derived(sha256))
        return None

    def sizes(self) -> Counter[str]:
        found: Counter[str] = Counter()
        with self._errors():
            for page in obstore.list(self._store):
                for each in page:
                    if sha256 := hash_of(each["path"].rpartition("/")[2]):
                        found[sha256] += each["size"]
        return found

    def delete(self, sha256: str) -> None:
        with self._errors():
            beside = obstore.list(self._store, prefix=_derived(sha256).rpartition("/")[0]).collect()
            # What was made of it goes first: alone, it would not be found again.
            for place in [each["path"] for each in beside if hash_of(each["path"].rpartition("/")[2]) == sha256]:
                obstore.delete(self._store, place)
            obstore.delete(self._store, _place(sha256))

    def sweep(self) -> None:
        pass  # an object is there whole or not at all

    def _has(self, place: str) -> bool:
        try:
            obstore.head(self._store, place)
        except FileNotFoundError:
            return False
        return True

    def _fetch(self, place: str) -> BinaryIO | None:
        """A copy of an object, which is gone when it is closed; readers go back and forth in a file."""
        with self._errors(), contextlib.ExitStack() as stack:
            file = stack.enter_context(tempfile.TemporaryFile())
            try:
                for piece in obstore.get(self._store, place).stream(min_chunk_size=CHUNK):
                    file.write(piece)
            except FileNotFoundError:
                return None
            file.seek(0)
            stack.pop_all()
            return file

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> LabRefused:
        reason = str(error).split("\n", 1)[0]
        return LabRefused(
            f"the files at {self._url} cannot be reached ({reason}); look at PERFLAB_BLOBS_URL and at "
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL"
        )


def _place(sha256: str) -> str:
    return f"{sha256[:2]}/{sha256}"


def _derived(sha256: str) -> str:
    return f"derived/{_place(sha256)}"
