"""Ranks of one run: put on one clock, and who waits for whom; with skews that are known beforehand."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflab.profiler import cli, importers
from perflab.profiler.analysis.ranks import CollectiveKind, CollectiveSkew, Ranks, ranks
from perflab.profiler.importers import Import

BASE = 1_700_000_000_000_000_000
FOLDER = Path(__file__).parents[3] / "shared" / "cases" / "traces"
# When each of three ranks arrives at four collectives, and when these end, in us.
ARRIVALS = {0: (100, 300, 500, 700), 1: (110, 290, 540, 700), 2: (130, 250, 500, 780)}
ENDS = (150, 320, 560, 800)


def event(name: str, start: int, duration: int, category: str = "kernel", tid: Any = "stream 7", **args: Any) -> Any:
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration, "pid": 0, "tid": tid, "args": args}


def rank(number: int, clock_us: int = 0, **document: Any) -> dict[str, Any]:
    """The trace of a rank whose clock is fast by `clock_us`; a kernel of 40 us is under way as each collective ends."""
    events = []
    for place, (start, end) in enumerate(zip(ARRIVALS[number], ENDS, strict=True)):
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)" if place < 3 else "ncclDevKernel_AllGather_RING"
        events.append(event(name, start + clock_us, end - start))
        events.append(event("gemm", end + clock_us - 10, 40, tid="stream 9"))
    return {"distributedInfo": {"rank": number}, "baseTimeNanoseconds": BASE, "traceEvents": events, **document}


def joined(*documents: dict[str, Any]) -> Import:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number, document in enumerate(documents):
            archive.writestr(f"{number}.json", json.dumps(document))
    found = importers.read(io.BytesIO(made.getvalue()))
    found.trace.check()
    return found


def said(found: Import) -> dict[str, str]:
    return {finding.kind: finding.what for finding in found.findings}


def looked(found: Import) -> Ranks:
    it = ranks(found.trace)
    assert it is not None
    return it


def test_who_arrives_last_and_how_long_the_others_wait() -> None:
    it = looked(joined(rank(0), rank(1), rank(2)))
    us = 1000
    assert it.skews == (
        CollectiveSkew("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", 100 * us, 30 * us, 2, 20 * us),
        CollectiveSkew("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", 250 * us, 50 * us, 0, 20 * us),
        CollectiveSkew("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", 500 * us, 40 * us, 1, 20 * us),
        CollectiveSkew("ncclDevKernel_AllGather_RING", "", 700 * us, 80 * us, 2, 20 * us),
    )
    by_rank = [(use.rank, use.waited_ns, use.delayed_ns, use.last) for use in it.uses]
    assert by_rank == [
        (0, (30 + 0 + 40 + 80) * us, (10 + 50) * us, 1),
        (1, (20 + 10 + 0 + 80) * us, (40 + 40) * us, 1),
        (2, (0 + 50 + 40 + 0) * us, (30 + 20 + 80 + 80) * us, 2),
    ]
    assert it.straggler is not None and it.straggler.rank == 2
    assert it.kinds == (
        CollectiveKind("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", 3, 40 * us, 50 * us, 60 * us, 190 * us, 2),
        CollectiveKind("ncclDevKernel_AllGather_RING", "", 1, 80 * us, 80 * us, 20 * us, 160 * us, 2),
    )


def test_communication_that_computation_hides() -> None:
    use = looked(joined(rank(0), rank(1), rank(2))).uses[0]
    us = 1000
    assert use.communication_ns == (50 + 20 + 60 + 100) * us
    assert use.compute_ns == 4 * 40 * us
    assert use.exposed_ns == use.communication_ns - 4 * 10 * us  # each kernel begins 10 us before a collective ends
    assert use.span_ns == (830 - 100) * us


def test_clocks_that_agree_are_left_alone() -> None:
    found = joined(rank(0), rank(1), rank(2))
    clock = looked(found).clock
    assert clock is not None
    assert (clock.method, clock.collectives, clock.uncertainty_ns) == ("agreed", 4, 0)
    assert clock.moved_ns == {"0": 0, "1": 0, "2": 0}
    assert said(found)["clocks-agree"] == "4 collectives end within 0 ns on all ranks: their clocks agree."


@given(st.integers(-5_000_000, 5_000_000), st.integers(-5_000_000, 5_000_000))
def test_clocks_that_are_off_are_put_right(second: int, third: int) -> None:
    right = looked(joined(rank(0), rank(1), rank(2)))
    found = joined(rank(0), rank(1, second), rank(2, third))
    it = looked(found)
    assert it.clock is not None
    assert it.clock.moved_ns == {"0": 0, "1": -second * 1000, "2": -third * 1000}
    assert it.clock.method == ("collectives" if second or third else "agreed")
    assert (it.uses, it.kinds, it.skews) == (right.uses, right.kinds, right.skews)
    assert ("clocks-aligned" in said(found)) == bool(second or third)


def test_what_the_ends_differ_by_is_the_uncertainty() -> None:
    off = rank(1, 5_000)
    for event, late in zip(off["traceEvents"][::2], (-4, 3, 1, 0), strict=True):
        event["dur"] += late
    found = joined(rank(0), off)
    clock = looked(found).clock
    assert clock is not None
    assert clock.moved_ns["1"] == -5_000_500  # the median of 5,000 us and -4, 0, 1, 3
    assert clock.uncertainty_ns == 4_200  # the quantile 0.95 of 4.5, 2.5, 0.5 and 0.5 us
    assert said(found)["clocks-aligned"] == (
        "The clock of 1 rank was off; 4 collectives that end together put them right, to within 4.2 us."
    )


def test_a_difference_below_the_scatter_moves_nothing() -> None:
    off = rank(1, 2)
    for event, late in zip(off["traceEvents"][::2], (-9, 8, 7, -6), strict=True):
        event["dur"] += late
    clock = looked(joined(rank(0), off)).clock
    assert clock is not None
    assert (clock.method, clock.moved_ns) == ("agreed", {"0": 0, "1": 0})
    assert clock.uncertainty_ns == 9_850  # the same of 7, 10, 9 and 4 us


def test_ranks_without_collectives_stay_on_their_clocks() -> None:
    documents = [rank(number, 1000 * number) for number in range(2)]
    for document in documents:
        document["traceEvents"] = document["traceEvents"][1::2]
    found = joined(*documents)
    assert said(found)["clocks-unknown"] == "Nothing tells how far the clocks of 2 ranks differ."
    it = looked(found)
    assert it.clock is not None and it.clock.method == "unknown"
    assert (it.skews, it.kinds, it.straggler) == ((), (), None)
    assert [use.exposed_ns for use in it.uses] == [0, 0]


def test_ranks_that_share_no_group_with_the_first_are_placed_through_others() -> None:
    def of_groups(number: int, groups: dict[str, int], clock: int) -> dict[str, Any]:
        events = [
            event("ncclDevKernel_AllReduce", 100 * place + offset + clock, 50,
                  **{"Process Group Name": group, "Seq": place, "Collective name": "allreduce"})
            for group, offset in groups.items()
            for place in range(4)
        ]  # fmt: skip
        return {"distributedInfo": {"rank": number}, "baseTimeNanoseconds": BASE, "traceEvents": events}

    found = joined(of_groups(0, {"a": 0}, 0), of_groups(1, {"a": 0, "b": 7}, 3_000), of_groups(2, {"b": 7}, -8_000))
    it = looked(found)
    assert it.clock is not None
    assert it.clock.moved_ns == {"0": 0, "1": -3_000_000, "2": 8_000_000}
    assert {(kind.kind, kind.group, kind.count) for kind in it.kinds} == {("allreduce", "a", 4), ("allreduce", "b", 4)}
    assert all(skew.skew_ns == 0 for skew in it.skews)


def test_numbers_of_torch_match_windows_that_differ() -> None:
    def window(number: int, sequence: range) -> dict[str, Any]:
        events = [event("ncclDevKernel_AllReduce", 100 * place + number, 50, Seq=place) for place in sequence]
        return {"distributedInfo": {"rank": number}, "baseTimeNanoseconds": BASE, "traceEvents": events}

    it = looked(joined(window(0, range(6)), window(1, range(2, 8))))
    assert [skew.start_ns for skew in it.skews] == [200_000, 300_000, 400_000, 500_000]
    without = [window(0, range(6)), window(1, range(2, 7))]
    for document in without:
        for each in document["traceEvents"]:
            del each["args"]
    assert looked(joined(*without)).skews == ()  # six and five: nothing tells which belong together


def test_a_run_on_cpus_with_gloo() -> None:
    documents = []
    for number, arrives in enumerate((10, 40)):
        events = [
            event("gloo:all_reduce", arrives + 100 * place, 80 - arrives, "user_annotation", 2) for place in range(3)
        ]
        events.append(event("aten::mm", 0, 50, "cpu_op", 1))
        documents.append({"distributedInfo": {"rank": number}, "baseTimeNanoseconds": BASE, "traceEvents": events})
    it = looked(joined(*documents))
    assert [(use.communication_ns, use.compute_ns, use.exposed_ns) for use in it.uses] == [
        (210_000, 50_000, 170_000),
        (120_000, 50_000, 110_000),
    ]
    assert [skew.skew_ns for skew in it.skews] == [30_000] * 3
    assert it.straggler is not None and it.straggler.delayed_ns == 90_000


@pytest.mark.parametrize("base", [2**62, 2**63, 2**70, -5, "soon", 1.5, True])
def test_zeros_that_no_clock_tells_are_none(base: Any) -> None:
    found = joined(rank(0, baseTimeNanoseconds=base), rank(1, -4_000_000_000_000_000, baseTimeNanoseconds=base))
    assert "baseTimeNanoseconds" not in found.trace.metadata or base is True
    far = joined(rank(0, 3_900_000_000_000_000), rank(1, -3_900_000_000_000_000))
    assert far.trace.slices.start.min() < far.trace.slices.start.max()


def test_one_rank_is_no_run_of_ranks() -> None:
    assert ranks(importers.read(io.BytesIO(json.dumps(rank(0)).encode())).trace) is None


def test_the_report_says_who_was_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.json").write_text(json.dumps(rank(number, 900 * number)))
    (folder / "README").write_text("three ranks")
    assert cli.main(["report", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "2 ranks were moved so that 4 collectives end together, to within 0 ns" in out
    assert "The others waited longest for rank 2: 210 us together, at 2 of 4 collectives." in out
    assert cli.main(["report", str(folder), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["ranks"]
    assert [use["delayed_ns"] for use in told["uses"]] == [60_000, 80_000, 210_000]
    assert told["clock"]["moved_ns"] == {"0": 0, "1": -900_000, "2": -1_800_000}


@pytest.mark.skipif(not FOLDER.is_dir(), reason="there are no sample traces beside the checkout")
def test_eight_ranks_of_dlrm() -> None:
    it = looked(importers.read(FOLDER / "dlrm_8_ranks.tar.gz"))
    assert len(it.skews) == 8
    assert it.clock is not None and it.clock.method == "agreed" and it.clock.uncertainty_ns < 10_000
    assert it.straggler is not None and (it.straggler.rank, it.straggler.last) == (7, 5)
    assert max(skew.skew_ns for skew in it.skews) == 7_624_000
