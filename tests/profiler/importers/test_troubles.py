"""Each trouble that traces from the wild have, in a small file of its own: what is read, and what is said of it."""

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from perflab.profiler import TraceFormatError, importers
from perflab.profiler.importers import Import, compressed

SAMPLES = Path(__file__).parents[2] / "data" / "traces"


def load(data: bytes | str | list[Any] | dict[str, Any], *, mask: bool = False) -> Import:
    if isinstance(data, list | dict):
        data = json.dumps(data)
    found = importers.read(io.BytesIO(data.encode() if isinstance(data, str) else data), mask=mask)
    found.trace.check()
    return found


def kinds(found: Import) -> dict[str, int]:
    return {finding.kind: finding.count for finding in found.findings}


def names(found: Import) -> list[str]:
    return found.trace.name_of(range(len(found.trace.slices)))


def event(phase: str, name: str = "x", ts: Any = 0, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "ts": ts, "pid": 1, "tid": 1, **more}


def test_events_that_are_not_sorted() -> None:
    found = load([event("X", "b", 5, dur=1), event("X", "a", 1, dur=1), event("X", "c", 9, dur=1)])
    assert names(found) == ["a", "b", "c"]
    assert kinds(found) == {"unsorted": 1}
    assert found.findings[0].examples == ("'a' at 1,000 ns (event 2)",)


def test_events_of_one_time_keep_their_order() -> None:
    found = load([event("X", name, 5, dur=1, tid=number) for number, name in enumerate("dacb")])
    assert names(found) == ["d", "a", "c", "b"]
    assert kinds(found) == {}


def test_flow_ends_without_starts_and_starts_without_ends() -> None:
    slices = [event("X", "a", 0, dur=9)]
    ends = [event("f", "flow", 1, id=1, bp="e"), event("s", "flow", 2, id=2), event("s", "flow", 3, id=3)]
    found = load(slices + ends)
    assert kinds(found) == {"lone-flow-start": 2, "lone-flow-end": 1}
    assert len(found.trace.flows) == 0
    assert kinds(load([*slices, event("s", "flow", 20, id=2), event("f", "flow", 30, id=2)])) == {"unbound-flow": 2}


def test_complete_events_that_cross_on_one_thread_are_both_kept() -> None:
    found = load([event("X", "a", 0, dur=10), event("X", "b", 5, dur=10)])
    assert names(found) == ["a", "b"]
    assert [found.trace.tracks[track].lane for track in found.trace.slices.track] == [0, 1]
    assert found.trace.slices.duration.tolist() == [10_000, 10_000]


def test_complete_events_without_a_duration_or_with_a_negative_one() -> None:
    found = load(
        [event("X", "a", 1), event("X", "b", 2, dur=-3), event("X", "c", 3, dur="-1"), event("X", "d", 4, dur=None)]
    )
    assert found.trace.slices.duration.tolist() == [0, 0, 0, 0]
    assert kinds(found) == {"no-duration": 2, "negative-duration": 2}


def test_begins_without_ends_reach_to_the_last_event_and_strays_are_left_out() -> None:
    found = load([event("B", "a", 1), event("E", "b", 2), event("X", "c", 3, dur=4)])
    assert names(found) == ["a", "c"]
    assert found.trace.slices.duration.tolist() == [6_000, 4_000]
    assert found.trace.args_of(0) == {"unfinished": True}
    assert kinds(found) == {"unfinished": 1, "stray-end": 1}


@pytest.mark.parametrize("tid", [2**40 + 1, -7, "stream 7", ""])
def test_thread_ids_keep_their_value(tid: Any) -> None:
    found = load([event("X", dur=1, tid=tid)])
    assert found.trace.tracks[0].tid == tid
    assert kinds(found) == {}
    assert load([{"ph": "X", "ts": 1, "dur": 1}]).trace.tracks[0].tid == 0


def test_times_since_the_epoch_keep_their_nanoseconds() -> None:
    begin, end = "1621401187223005.001", "1621401187223005.003"  # a float of 53 bits knows 0.25 at most here
    found = load(
        f'[{{"ph":"X","name":"x","ts":{begin},"dur":0.001}},{{"ph":"B","name":"b","ts":{begin}}},'
        f'{{"ph":"E","name":"b","ts":{end}}},{{"ph":"X","name":"t","ts":"{end}","dur":"1.5"}}]'
    )
    assert found.trace.slices.start.tolist() == [1621401187223005001] * 2 + [1621401187223005003]
    assert found.trace.slices.duration.tolist() == [2, 1, 1500]


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "inf", "-inf", "nan"])
def test_words_that_are_no_numbers(word: str) -> None:
    text = (
        '[{"ph":"X","name":"a","ts":1,"dur":2,"args":{"v":WORD,"w":[WORD]}},'
        '{"ph":"C","name":"c","ts":2,"args":{"n":WORD}},{"ph":"X","name":"b","ts":WORD,"dur":1}]'
    )
    found = load(text.replace("WORD", word))
    assert names(found) == ["a"]
    assert found.trace.args_of(0) == {"v": None, "w": [None]}
    assert len(found.trace.counters) == 0
    assert kinds(found) == {"no-time": 1, "not-a-number": 1, "no-value": 1}


def test_raw_control_bytes_and_bytes_that_are_no_text() -> None:
    found = load(b'[{"ph":"X","name":"a\tb","ts":1,"dur":1},{"ph":"X","name":"c\xff","ts":2,"dur":1},'
                 b'{"ph":"B","name":"d\n","ts":4},{"ph":"E","name":"d\n","ts":5}]')  # fmt: skip
    assert names(found) == ["a\tb", "c\ufffd", "d\n"]
    assert kinds(found) == {"lossy-names": 1, "raw-text": 1}


def test_escapes_that_json_does_not_know() -> None:
    found = load(r'[{"ph":"X","name":"C:\data\x.py","ts":1,"dur":1}]')
    assert names(found) == [r"C:\data\x.py"]


def test_integers_of_more_than_64_bits() -> None:
    found = load([event("X", "a", 1, dur=1, args={"n": 2**64 + 1, "m": -(2**63), "u": 2**64 - 1})])
    assert found.trace.args_of(0) == {"n": 2**64 + 1, "m": -(2**63), "u": 2**64 - 1}
    assert kinds(found) == {}


def test_times_that_are_text_null_or_nothing() -> None:
    found = load([event("X", "a", "1.25", dur="2"), event("X", "b", None, dur=1), {"ph": "X", "name": "c", "dur": 1}])
    assert (names(found), found.trace.slices.start.tolist()) == (["a"], [1250])
    assert kinds(found) == {"no-time": 2}


def test_commas_too_many_and_too_few() -> None:
    one, two = (json.dumps(event("X", name, 1, dur=1)) for name in "ab")
    for text, odd in ((f"[{one},{two},]", 1), (f"[{one} {two}]", 1), (f"[{one},,{two}]", 1), (f"[,{one},{two}]", 1)):
        found = load(text)
        assert names(found) == ["a", "b"]
        assert kinds(found) == {"odd-commas": odd}


def test_a_list_that_lacks_its_bracket_is_cut() -> None:
    found = load(json.dumps([event("X", "a", 1, dur=1)])[:-1])
    assert names(found) == ["a"]
    assert kinds(found) == {"cut": 1}
    assert found.trace.metadata == {"truncated": True}


def test_what_follows_a_trace_is_left_out() -> None:
    found = load(json.dumps([event("X", "a", 1, dur=1)]) * 2)
    assert names(found) == ["a"]
    assert list(kinds(found)) == ["trailing"]


def test_damage_in_the_middle_keeps_what_came_before() -> None:
    found = load(json.dumps([event("X", "a", 1, dur=1)])[:-1] + ',{"ph":X},{"ph":"X","ts":2}]')
    assert names(found) == ["a"]
    assert "From byte" in found.findings[0].what
    assert kinds(found) == {"damaged": 1}


def test_items_that_are_no_events() -> None:
    found = load([event("X", "a", 1, dur=1), 7, None, {"ph": 3}, {"name": "?"}, {}])
    assert kinds(found) == {"unknown-event": 4}


def test_metadata_that_is_nested_too_deeply_is_left_out() -> None:
    deep: Any = 0
    for _ in range(400):
        deep = [deep]
    found = load({"traceEvents": [event("X", dur=1)], "deep": deep, "n": 1}, mask=True)
    assert (found.trace.metadata, kinds(found)) == ({"n": 1}, {"not-json": 1})


def test_metadata_of_any_kind() -> None:
    told = {"s": "x", "n": 1.5, "l": [1, {"a": None}], "d": {"b": True}, "z": None}
    assert load({**told, "traceEvents": [event("X", dur=1)]}).trace.metadata == told
    assert load({"traceEvents": [event("X", dur=1)], **told}).trace.metadata == told


PLAIN = json.dumps([event("X", "a", 1, dur=1), event("X", "b", 3, dur=1)]).encode()


NO_DATA = b"\x5e\x2a\x4d\x18\x03\0\0\0abc"  # a frame of zstd that is passed over: where to seek, as some tools write it


def packed(kind: str, data: bytes) -> bytes:
    file = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("trace.json", data)
    elif kind == "tar":
        with tarfile.open(fileobj=file, mode="w") as tar:
            entry = tarfile.TarInfo("trace.json")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return {
        "gzip": lambda: gzip.compress(data),
        "gzip members": lambda: gzip.compress(data[:20]) + gzip.compress(data[20:]) + b"\0" * 512,
        "gzip twice": lambda: gzip.compress(gzip.compress(data)),
        "zstd": lambda: zstandard.compress(data),
        "zstd frames": lambda: zstandard.compress(data[:20]) + zstandard.compress(data[20:]),
        "zstd table": lambda: NO_DATA.join((b"", *map(zstandard.compress, (data[:20], data[20:])), b"")),
    }.get(kind, file.getvalue)()  # fmt: skip


@pytest.mark.parametrize(
    "kind", ["gzip", "gzip members", "gzip twice", "zstd", "zstd frames", "zstd table", "zip", "tar"]
)
def test_what_packs_a_trace_is_taken_off(kind: str) -> None:
    found = load(packed(kind, PLAIN))
    assert names(found) == ["a", "b"]
    assert kinds(found) == {}


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_archives_that_were_tampered_with_are_refused_in_one_sentence(kind: str) -> None:
    data = packed(kind, PLAIN)
    for damaged in (data[: len(data) // 2], data[:5] + data[9:], data.replace(b"trace.json", b"trace.js"), data[:-4]):
        try:
            load(damaged)
        except TraceFormatError as error:
            assert "\n" not in str(error)


def test_a_file_without_a_name_in_an_archive_is_read() -> None:
    assert names(load(packed("zip", PLAIN).replace(b"trace.json", b"\0" * 10))) == ["a", "b"]


def test_gzip_inside_tar_inside_gzip() -> None:
    assert names(load(gzip.compress(packed("tar", gzip.compress(PLAIN))))) == ["a", "b"]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_compressed_data_that_is_cut_gives_what_came_before(kind: str) -> None:
    events = [event("X", f"name {number}", number, dur=1) for number in range(20_000)]
    data = packed(kind, json.dumps(events).encode())
    found = load(data[: len(data) * 3 // 4])
    assert 0 < len(found.trace.slices) < 20_000
    assert names(found) == [f"name {number}" for number in range(len(found.trace.slices))]
    assert kinds(found) == {"compressed-cut": 1, "cut": 1}


def test_gzip_that_two_processes_wrote_is_read_up_to_the_damage() -> None:
    events = [event("X", f"name {number}", number, dur=1) for number in range(20_000)]
    data = bytearray(gzip.compress(json.dumps(events).encode()))
    middle = len(data) // 2
    data[middle : middle + 64] = bytes(64)
    found = load(bytes(data))
    assert found.findings[0].severity == "error"
    assert "compressed-damaged" in kinds(found) or "damaged" in kinds(found)


@pytest.mark.parametrize("kind", ["gzip", "zstd", "zip"])
def test_a_bomb_is_refused(kind: str) -> None:
    data = packed(kind, b"[" + b" " * (8 << 20) + PLAIN[1:])
    assert len(data) < 20_000
    with pytest.raises(TraceFormatError, match="it unpacks to more than 4 MiB"):
        importers.read(io.BytesIO(data), 4 << 20)


def test_a_bomb_of_zstd_never_comes_whole() -> None:
    data = zstandard.compress(bytes(256 << 20))
    assert len(data) < compressed.PIECE  # it is one piece of the file
    sizes = [len(out) for out in compressed.Zstd().unpack(data)]
    assert sum(sizes) == 256 << 20
    assert max(sizes) <= 32 << 20


def test_zstd_with_a_window_larger_than_128_mib_is_refused() -> None:
    for log, is_read in ((27, True), (30, False)):
        packer = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=log))
        stream = packer.compressobj()
        data = stream.compress(PLAIN) + stream.flush()
        if is_read:
            assert names(load(data)) == ["a", "b"]
        else:
            with pytest.raises(TraceFormatError, match="the zstd data is damaged"):
                load(data)


def test_holes_of_a_sparse_file_in_a_tar_are_counted() -> None:
    entry = tarfile.TarInfo("trace.json")
    entry.type, entry.size = tarfile.GNUTYPE_SPARSE, 512
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    header[386:398], header[398:410] = b"%011o " % 0, b"%011o " % 512  # the first piece: at 0, of 512 bytes
    header[483:495] = b"%011o " % (1 << 30)  # how large it is with its holes
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    data = bytes(header) + PLAIN.ljust(512) + bytes(1024)
    with pytest.raises(TraceFormatError, match="it unpacks to more than 4 MiB"):
        importers.read(io.BytesIO(data), 4 << 20)


def test_as_many_arguments_as_events() -> None:
    found = load([event("X", "a", number, dur=1, args={f"key {number}": number}) for number in range(3000)])
    assert len(found.trace.slice_args) == 3000
    assert found.trace.args_of(2999) == {"key 2999": 2999}


def test_tools_that_say_they_dropped_events() -> None:
    told = {"viztracer_metadata": {"version": "0.16", "overflow": True}}
    found = load({"traceEvents": [event("X", dur=1)], **told})
    assert found.format == "VizTracer"
    assert (found.findings[0].kind, found.findings[0].severity) == ("dropped", "error")
    found = load({"traceEvents": [event("X", dur=1)], "versions": {"perflab": "0.1.0"}, "droppedEvents": 12})
    assert (found.format, kinds(found)) == ("perflab", {"dropped": 12})


def test_tools_are_known_by_what_they_write() -> None:
    assert load([event("X", dur=1, cat="cpu_op")]).format == "torch.profiler"
    assert load([event("X", dur=1)]).format == "Chrome JSON"
    host = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/host:CPU"}}
    assert load({"displayTimeUnit": "ns", "traceEvents": [host, event("X", dur=1), {}]}).format == "JAX / XProf"


@pytest.mark.parametrize("name", ["torch_step.json", "perflab_step.json"])
def test_a_trace_cut_at_every_byte_is_read_up_to_there(name: str) -> None:
    whole = (SAMPLES / name).read_bytes().rstrip()
    document = json.loads(whole)
    ends: list[int] = []  # of the events in the text
    decoder, text = json.JSONDecoder(), whole.decode()
    at = text.index("[", text.index('"traceEvents"')) + 1
    for _ in document["traceEvents"]:
        at = text.index("{", at)
        at = decoder.raw_decode(text, at)[1]
        ends.append(at)
    read: dict[int, list[str]] = {}
    for cut in range(1, len(whole)):
        found = load(whole[:cut])
        events = sum(end <= cut for end in ends)
        if events not in read:
            read[events] = names(load({"traceEvents": document["traceEvents"][:events]}))
        assert names(found) == read[events], cut
        assert kinds(found)["cut"] == 1
        assert found.trace.metadata["truncated"] is True
