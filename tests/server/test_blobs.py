import hashlib
import io
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import pytest

from perflab.server.blobs import CHUNK, Blobs, FolderBlobs, MemoryBlobs
from perflab.server.errors import LabRefused, NotFound
from perflab.server.s3 import S3Blobs

CONTENT = b"perflab" * CHUNK
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(params=["folder", "memory", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "s3":
        return S3Blobs(f"{request.getfixturevalue('bucket')}/{uuid4().hex}")
    return FolderBlobs(tmp_path / "blobs") if request.param == "folder" else MemoryBlobs()


def test_kept_bytes_come_back(blobs: Blobs) -> None:
    for _ in range(2):
        with blobs.stage(io.BytesIO(CONTENT)) as staged:
            assert (staged.sha256, staged.size) == (SHA, len(CONTENT))
            assert staged.path.read_bytes() == CONTENT
            blobs.keep(staged)
    with blobs.open(SHA) as file:
        assert file.read() == CONTENT


def test_what_is_not_kept_is_gone(blobs: Blobs) -> None:
    with blobs.stage(io.BytesIO(CONTENT)) as staged:
        path = staged.path
    assert not path.exists()
    with pytest.raises(NotFound, match=f"the lab has lost the file {SHA}; upload it again"):
        blobs.open(SHA)


def test_a_stream_that_breaks_leaves_nothing(tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise ConnectionError("gone")

    with pytest.raises(ConnectionError), FolderBlobs(tmp_path).stage(Broken()):
        pass
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file")
    with (
        pytest.raises(LabRefused, match=r"the lab cannot write to .* \(Not a directory\); choose another folder"),
        FolderBlobs(tmp_path / "blobs").stage(io.BytesIO(b"")),
    ):
        pass


def test_what_was_made_of_a_blob_is_kept_whole_or_not_at_all(blobs: Blobs) -> None:
    assert blobs.open_derived(SHA) is None
    for content in (b"first", b"second"):
        blobs.keep_derived(SHA, lambda file, content=content: file.write(content) and None)
        found = blobs.open_derived(SHA)
        assert found is not None
        with found:
            assert found.read() == content

    def fails(file: BinaryIO) -> None:
        file.write(b"half")
        raise ValueError

    with pytest.raises(ValueError):
        blobs.keep_derived(SHA, fails)
    found = blobs.open_derived(SHA)
    assert found is not None
    with found:
        assert found.read() == b"second"


def test_sizes_and_removal_are_of_a_file_with_what_was_made_of_it(blobs: Blobs) -> None:
    other = hashlib.sha256(b"other").hexdigest()
    for content in (CONTENT, b"other"):
        with blobs.stage(io.BytesIO(content)) as staged:
            blobs.keep(staged)
    blobs.keep_derived(SHA, lambda file: file.write(b"12345") and None)
    blobs.keep_derived(f"{SHA}.slices.1.parquet", lambda file: file.write(b"123") and None)
    assert blobs.sizes() == {SHA: len(CONTENT) + 8, other: 5}
    for _ in range(2):
        blobs.delete(SHA)
        assert blobs.sizes() == {other: 5}
    assert blobs.open_derived(SHA) is None
    with pytest.raises(NotFound):
        blobs.open(SHA)


def test_a_bucket_that_is_not_there_is_refused(bucket: str) -> None:
    with pytest.raises(LabRefused, match=r"the files at s3://nobody-made-this cannot be reached \(.*AWS_ENDPOINT_URL"):
        S3Blobs("s3://nobody-made-this").sizes()


def test_what_cannot_be_kept_beside_is_not_missed(tmp_path: Path) -> None:
    (tmp_path / "derived").write_text("in the way")
    blobs = FolderBlobs(tmp_path)
    blobs.keep_derived(SHA, lambda file: None)
    assert blobs.open_derived(SHA) is None
