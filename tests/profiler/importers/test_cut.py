"""Archives and databases that were cut short: what stands before the cut is read, and the doctor says so."""

import io
import json
import sqlite3
import tarfile
import zipfile
from typing import Any

import pytest

from perflab.profiler import TraceFormatError, importers
from perflab.profiler.doctor import examine
from perflab.profiler.importers import lenient, nsight

from .test_formats import nsys_export
from .test_troubles import event, kinds, load, names

FIRST = json.dumps([event("X", f"a {number}", number, dur=1) for number in range(3)]).encode()
SECOND = json.dumps([event("X", f"b {number}", number, dur=1) for number in range(3)]).encode()


def zipped(**options: Any) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", **options) as archive:
        archive.writestr("a.json", FIRST)
        archive.writestr("folder/b.json", SECOND)
    return made.getvalue()


def tarred() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in (("a.json", FIRST), ("b.json", SECOND)):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()[: 5 * 512]  # without the zeros at its end: two headers, one and two blocks


def counts_by_cut(data: bytes) -> list[int]:
    """Slices that are read of the archive cut at each byte, -1 where it is refused; all that is read is sound."""
    found = []
    for cut in range(1, len(data)):
        if not any(data[cut - 1 : cut + 1]):  # between zeros, of which a tar has many
            continue
        try:
            read = importers.read(io.BytesIO(data[:cut]))
        except TraceFormatError as error:
            assert "\n" not in str(error)
            found.append(-1)
            continue
        read.trace.check()
        if cut < data.rindex(b"b 2"):
            assert examine(read).verdict == "incomplete", cut
        found.append(len(read.trace.slices))
    return found


@pytest.mark.parametrize("data", [zipped(), tarred()], ids=["zip", "tar"])
def test_an_archive_cut_at_every_byte_gives_what_stands_before(data: bytes) -> None:
    counts = counts_by_cut(data)
    assert counts == sorted(counts)
    assert set(counts) == {-1, 0, 1, 2, 3, 4, 5, 6}


def test_packed_files_of_a_cut_zip_are_found_by_their_headers() -> None:
    data = zipped(compression=zipfile.ZIP_DEFLATED)
    cut = data[: data.index(b"PK\x01\x02")]  # the list of the files, at the end
    found = load(cut)
    assert sorted(names(found)) == ["a 0", "a 1", "a 2", "b 0", "b 1", "b 2"]
    assert kinds(found)["archive-cut"] == 1
    assert next(finding for finding in found.findings if finding.kind == "archive-cut").what == (
        f"The zip archive ends at byte {len(cut):,}, before its end."
    )


def test_a_zip_that_was_written_as_a_stream_is_found_too() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    made = Pipe()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:  # sizes stand behind the data
        archive.writestr("a.json", FIRST)
        archive.writestr("b.json", SECOND)
    data = made.getvalue()
    assert len(load(data[: data.index(b"PK\x01\x02")]).trace.slices) == 6


def test_damage_in_a_cut_zip_keeps_what_came_before() -> None:
    data = bytearray(zipped(compression=zipfile.ZIP_DEFLATED))
    data[data.index(b"folder/b.json") + len(b"folder/b.json")] = 0x07  # a kind of block that there is not
    found = load(bytes(data[: data.index(b"PK\x01\x02")]))
    assert names(found) == ["a 0", "a 1", "a 2"]
    assert {"archive-cut": 1, "compressed-damaged": 1}.items() <= kinds(found).items()


def test_a_zip_that_begins_like_one_and_holds_nothing_is_refused() -> None:
    with pytest.raises(TraceFormatError, match="the zip archive is damaged"):
        load(zipped()[:20])


def test_a_cut_database_gives_the_tables_that_are_there() -> None:
    data = nsys_export()
    whole = load(data).trace
    pages = len(data) // 4096
    counts = [len(load(data[: 4096 * page]).trace.slices) for page in range(1, pages + 1)]
    assert counts == sorted(counts)
    assert counts[-1] == len(whole.slices) > counts[-2] > 0
    found = load(data[:-1])
    assert kinds(found)["cut"] == 1
    assert "cut" not in kinds(load(data))


def test_the_size_that_a_database_promises(tmp_path: Any) -> None:
    path = tmp_path / "x.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA page_size = 65536")
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()
    assert nsight._promised(path) == path.stat().st_size == 2 * 65536


FRAMES = {"shared": {"frames": [{"name": 'main, [the "first"]'}, {"name": "f"}]}}
EVENTS = [{"type": kind, "frame": frame, "at": at} for kind, frame, at in (("O", 0, 0), ("O", 1, 1), ("C", 1, 2))]
DOCUMENTS = {
    "speedscope": FRAMES | {"profiles": [{"type": "evented", "unit": "seconds", "events": EVENTS}]},
    "pyinstrument session": {"start_time": 1.5, "frame_records": [[["f"], 0.25], [["g"], 0.25], [["f", "h"], 0.25]]},
    "pyinstrument tree": {"sample_count": 3, "root_frame": {
        "function": "f", "time": 1, "children": [{"function": "g", "time": 0.5}, {"function": "h", "time": 0.25}]}},
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_profile_cut_at_every_byte_gives_what_stands_before(name: str) -> None:
    data = json.dumps(DOCUMENTS[name]).encode()
    whole = names(load(data))
    before = 0
    for cut in range(1, len(data)):
        found = load(data[:cut])
        assert kinds(found)["cut"] == 1
        assert examine(found).verdict == "incomplete"
        count = len(found.trace.slices)
        assert before <= count
        assert names(found) == whole[:count]
        before = count
    assert before == len(whole)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "b": [2, {"c": "}]"', {"a": 1, "b": [2, {}]}),
        ('{"a": [1, 23', {"a": [1]}),
        ('{"a": "x", "b": "[{', {"a": "x"}),
        ('{"a": "x\\', {}),
        ('{"a": {"b": [true, null], "c', {"a": {"b": [True, None]}}),
    ],
)
def test_what_is_whole_in_a_cut_text(text: str, value: Any) -> None:
    assert lenient.closed(text.encode()) == value
