"""google-benchmark, hyperfine, asv, criterion and go: small files as their documents draw them."""

import gzip
import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflab.benchmarks import formats
from perflab.benchmarks.errors import BenchmarkFormatError
from perflab.benchmarks.machine import UNKNOWN, Machine
from perflab.benchmarks.result import Benchmark, Result, Run

CREATED = datetime(2026, 1, 31, 12, tzinfo=UTC)
SHA = "6139294bff486a452e9758e3832f1967f3eae654"


def parse(document: Any) -> Run:
    text = document if isinstance(document, str) else json.dumps(document)
    return formats.parse(text.encode(), "bench", CREATED)


def refusal(document: Any) -> str:
    with pytest.raises(BenchmarkFormatError) as error:
        parse(document)
    assert "\n" not in str(error.value)
    return str(error.value).removeprefix("bench: ")


def zipped(files: dict[str, Any]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, document in files.items():
            archive.writestr(path, document if isinstance(document, str) else json.dumps(document))
    return made.getvalue()


def google(*entries: dict[str, Any], **context: Any) -> dict[str, Any]:
    return {"context": context, "benchmarks": list(entries)}


def test_google_benchmark() -> None:
    run = parse(
        google(
            {"name": "BM_Sort/n:64/threads:2", "run_name": "BM_Sort/n:64/threads:2", "run_type": "iteration",
             "iterations": 9, "real_time": 250, "cpu_time": 500, "time_unit": "us"},
            {"name": "BM_Sort/n:64/threads:2", "run_name": "BM_Sort/n:64/threads:2", "run_type": "iteration",
             "iterations": 9, "real_time": 251, "cpu_time": 500, "time_unit": "us"},
            {"name": "BM_Sort/n:64/threads:2_mean", "run_name": "BM_Sort/n:64/threads:2", "run_type": "aggregate",
             "aggregate_name": "mean", "real_time": 250.5, "time_unit": "us"},
            {"name": "BM_Only_median", "run_name": "BM_Only", "run_type": "aggregate", "aggregate_name": "median",
             "real_time": 3, "time_unit": "ms"},
            {"name": "BM_Only_BigO", "run_name": "BM_Only", "run_type": "aggregate", "aggregate_name": "BigO"},
            {"name": "BM_Bad", "run_type": "iteration", "error_occurred": True, "error_message": "no"},
            {"name": "BM_Skipped", "skipped": True},
            {"name": "BM_Old", "iterations": 1, "real_time": 7.5},
            date="2024-05-06T07:08:09+02:00", host_name="ada", num_cpus=8, library_version="v1.9.0",
            caches=[{"type": "Data", "level": 1, "size": 32768}, {"type": "Unified", "level": 2, "size": 1048576}],
        )
    )  # fmt: skip
    assert run.results == (
        Result(Benchmark("BM_Sort/n:64/threads:2", {"n": "64", "threads": "2"}), (250e-6, 251e-6)),
        Result(Benchmark("BM_Old"), (7.5e-9,)),
        Result(Benchmark("BM_Only"), (3e-3,)),
    )
    assert run.machine == Machine.of(name="ada", cpu="caches L1 32 KiB, L2 1024 KiB", cores=8, os="", python="")
    assert (run.tool, run.created) == ("google-benchmark v1.9.0", datetime(2024, 5, 6, 5, 8, 9, tzinfo=UTC))
    assert (run.project, run.commit, run.branch) == (None, None, None)


def test_google_benchmark_whose_number_of_cores_is_none() -> None:
    run = parse(google({"name": "a", "real_time": 1.5}, num_cpus=True))
    assert run.machine.cores == 0
    assert Run.from_json(run.to_json()) == run


def test_google_benchmark_that_has_no_results() -> None:
    empty = "no benchmark in it has a result; did all fail, or were all skipped? Run again"
    assert refusal(google()) == empty
    assert refusal(google({"name": "BM_x", "error_occurred": True})) == empty
    assert refusal(google({"real_time": 1})).startswith("an entry of benchmarks has no name")
    assert refusal(google({"name": "x", "real_time": 1, "time_unit": "h"})).startswith("x: its time_unit is 'h'")
    assert refusal(google({"name": "x"})) == "x: a sample is None, not a number; measure it again"


def test_hyperfine() -> None:
    results = [
        {"command": "sleep 0.1", "mean": 0.11, "median": 0.1, "times": [0.1, 0.12], "exit_codes": [0, 0]},
        {"command": "sort {n}", "median": 0.5, "mean": 0.6, "parameters": {"n": "100"}},
    ]
    run = parse({"results": results})
    assert run.results == (
        Result(Benchmark("sleep 0.1"), (0.1, 0.12)),
        Result(Benchmark("sort {n}", {"n": "100"}), (0.5,)),
    )
    assert (run.machine, run.created, run.tool) == (UNKNOWN, CREATED, "hyperfine")
    assert refusal({"results": [{"command": "x", "times": 3}]}).startswith("x: its times are no list")
    assert refusal({"results": [{"command": "x"}, 7]}).startswith("x: a sample is None")


ASV_FACTS = {"arch": "x86_64", "cpu": "Xeon", "machine": "ada", "num_cpu": "8", "os": "Linux", "numpy": "2.1"}
ASV = {
    "commit_hash": SHA, "date": 1485283774000, "python": "3.12", "params": ASV_FACTS, "env_vars": {"THREADS": "1"},
    "requirements": {"numpy": "2.1", "six": ""}, "version": 2,
    "result_columns": ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b",
                       "stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples", "profile"],
    "results": {
        "bench.Suite.time_add": [[0.1, None, float("nan"), 0.4], [["'a'", "'b'"], ["1", "2"]], "v", 1643870009025],
        "bench.time_sort": [[0.2], [], "v", 1643870010025, 1.5, [0.1], [0.3], [0.2], [0.2], [1], [2],
                            [[0.19, 0.21]]],
        "bench.peakmem_it": [[4096], [], "v", None],
        "bench.track_it": [[7], []],
        "bench.time_broken": [None, [], "v", 1643870009025],
    },
}  # fmt: skip
INDEX = {
    "bench.Suite.time_add": {"code": "", "param_names": ["kind", "n"], "unit": "seconds", "type": "time"},
    "bench.track_it": {"code": "", "param_names": [], "unit": "objects", "type": "track"},
    "version": 2,
}
ENVIRONMENT = {"numpy": "2.1", "THREADS": "1"}


def test_asv() -> None:
    run = parse(ASV)
    assert run.results == (
        Result(Benchmark("bench.Suite.time_add", ENVIRONMENT | {"param1": "'a'", "param2": "1"}), (0.1,)),
        Result(Benchmark("bench.Suite.time_add", ENVIRONMENT | {"param1": "'b'", "param2": "2"}), (0.4,)),
        Result(Benchmark("bench.time_sort", ENVIRONMENT), (0.19, 0.21)),
        Result(Benchmark("bench.peakmem_it", ENVIRONMENT, "B"), (4096.0,)),
        Result(Benchmark("bench.track_it", ENVIRONMENT, "unit"), (7.0,)),
    )
    assert (run.commit, run.tool) == (SHA, "asv")
    assert run.created == datetime(2022, 2, 3, 6, 33, 30, 25000, tzinfo=UTC)
    assert run.machine == Machine.of(name="ada", cpu="Xeon", cores=8, os="Linux x86_64", python="CPython 3.12")


def test_asv_of_its_first_version() -> None:
    old = {"time_x": 0.25, "time_y": None, "time_z": {"params": [["1", "2"]], "result": [0.5, 0.75]}}
    run = parse({"commit_hash": SHA, "date": 1386688801000, "params": {}, "results": old, "version": 1})
    assert [(result.benchmark.name, dict(result.benchmark.params), result.samples) for result in run.results] == [
        ("time_x", {}, (0.25,)),
        ("time_z", {"param1": "1"}, (0.5,)),
        ("time_z", {"param1": "2"}, (0.75,)),
    ]
    assert run.created == datetime(2013, 12, 10, 15, 20, 1, tzinfo=UTC)


def test_a_folder_of_asv_is_a_run_for_each_file(tmp_path: Path) -> None:
    other = ASV | {"commit_hash": "f" * 40, "results": {"bench.track_it": [[9], [], "v", 1]}}
    machine = {"machine": "ada", "version": 1}
    files = {"benchmarks.json": INDEX, "ada/machine.json": machine, "ada/1.json": ASV, "ada/2.json": other}
    for path, document in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(json.dumps(document))
    (tmp_path / "graphs.html").write_text("<html>")
    runs = formats.read_all(tmp_path)
    assert [run.commit for run in runs] == ["f" * 40, SHA]  # by when they were measured
    by_name = {result.benchmark.name: result.benchmark for result in runs[1].results}
    assert by_name["bench.Suite.time_add"].params == ENVIRONMENT | {"kind": "'b'", "n": "2"}
    assert by_name["bench.track_it"].unit == "objects"
    assert formats.parse_all(zipped(files), "results.zip") == runs
    with pytest.raises(BenchmarkFormatError, match="it holds 2 runs where one is asked for; give the file of one"):
        formats.read(tmp_path)


def test_asv_with_results_that_do_not_fit_its_parameters() -> None:
    broken = {"commit_hash": SHA, "results": {"time_x": {"params": [["1", "2"]], "result": [0.5]}}}
    assert refusal(broken) == "time_x: it has 1 results for 2 parameters; run asv again"
    broken["results"] = {"time_x": {"params": "1", "result": [0.5]}}
    assert refusal(broken) == "time_x: its params are no lists; run asv again"


CRITERION = {
    "criterion/fib/iter/20/new/benchmark.json": {"full_id": "fib/iter/20", "value_str": "20", "title": "x"},
    "criterion/fib/iter/20/new/sample.json": {"iters": [10.0, 20.0], "times": [1000.0, 2100.0]},
    "criterion/fib/iter/20/new/estimates.json": {"mean": {"point_estimate": 9.0}, "median": {"point_estimate": 8.0}},
    "criterion/fib/iter/20/base/estimates.json": {"mean": {"point_estimate": 1.0}},
    "criterion/norm/new/estimates.json": {"mean": {"point_estimate": 7.0}, "median": {"point_estimate": 6.5}},
    "criterion/report/index.html": "<html>",
}


def test_a_folder_of_criterion() -> None:
    (run,) = formats.parse_all(zipped(CRITERION), "criterion.zip", CREATED)
    assert run.results == (
        Result(Benchmark("fib/iter/20", {"value": "20"}), (100e-9, 105e-9)),
        Result(Benchmark("criterion/norm"), (6.5e-9,)),
    )
    assert (run.tool, run.machine, run.created) == ("criterion", UNKNOWN, CREATED)


def test_the_csv_of_criterion() -> None:
    new = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count"
    run = parse(f"{new}\nFib,Iter,,,,1000,ns,10\nFib,Iter,,,,2100,ns,20\nFib,Rec,20,,,3,cycles,2\n")
    assert run.results == (
        Result(Benchmark("Fib/Iter"), (100e-9, 105e-9)),
        Result(Benchmark("Fib/Rec/20", {"value": "20"}, "cycles"), (1.5,)),
    )
    old = parse("group,function,value,sample_time_nanos,iteration_count\nFib,Iter,,1000,10\n")
    assert old.results == (Result(Benchmark("Fib/Iter"), (100e-9,)),)
    assert "lacks its measured value" in refusal(f"{new}\nFib,Iter,,,,,ns,10\n")


def test_messages_of_cargo_criterion() -> None:
    done = {"reason": "benchmark-complete", "id": "norm", "unit": "us", "measured_values": [30.0, 90.0],
            "iteration_count": [10, 20]}  # fmt: skip
    run = parse(json.dumps(done) + "\n" + json.dumps({"reason": "group-complete", "group_name": "norm"}))
    assert run.results == (Result(Benchmark("norm"), (3e-6, 4.5e-6)),)
    assert "do not match" in refusal(json.dumps(done | {"iteration_count": [1]}) + "\n{}")
    assert "a sample is of 0 iterations" in refusal(json.dumps(done | {"iteration_count": [0, 1]}) + "\n{}")


GO = """goos: linux
goarch: amd64
pkg: example.com/fib
cpu: AMD EPYC 7B13
BenchmarkFib/n=10/memo=on-8   \t 5000000\t       325 ns/op\t      16 B/op\t       2 allocs/op
BenchmarkFib/n=10/memo=on-8   \t 5000000\t       310.5 ns/op\t      16 B/op\t       2 allocs/op
BenchmarkCopy-8\t100\t 1.5e+03 ns/op\t 2048.00 MB/s
BenchmarkOdd
--- BENCH: BenchmarkOdd-8
    fib_test.go:9: 3 ns/op or so
PASS
ok  \texample.com/fib\t2.208s
"""


def test_go_bench() -> None:
    run = parse(GO)
    fib, params = "example.com/fib.BenchmarkFib/n=10/memo=on", {"n": "10", "memo": "on"}
    assert run.results == (
        Result(Benchmark(fib, params), (325e-9, 310.5e-9)),
        Result(Benchmark(fib, params, "B/op"), (16.0, 16.0)),
        Result(Benchmark(fib, params, "allocs/op"), (2.0, 2.0)),
        Result(Benchmark("example.com/fib.BenchmarkCopy"), (1.5e-6,)),
        Result(Benchmark("example.com/fib.BenchmarkCopy", {}, "MB/s", "higher"), (2048.0,)),
    )
    assert run.machine == Machine.of(name="", cpu="AMD EPYC 7B13", cores=8, os="linux amd64", python="")
    assert (run.commit, run.created, run.tool) == (None, CREATED, "go test -bench")
    assert parse(f"commit: {SHA}\n{GO}").commit == SHA


def test_go_bench_as_json() -> None:
    events = [{"Action": "start"}, *({"Action": "output", "Output": line} for line in GO.splitlines(keepends=True))]
    assert parse("\n".join(map(json.dumps, events))).results == parse(GO).results


def test_what_any_harness_can_write() -> None:
    run = parse({"format": "perflab.run", "version": 1, "results": [{"name": "add", "samples": [0.25, 0.5]}]})
    assert run == Run(None, None, None, UNKNOWN, CREATED, "", (Result(Benchmark("add"), (0.25, 0.5)),))


def test_packed_files_are_unpacked() -> None:
    assert formats.parse(gzip.compress(GO.encode()), "bench.gz", CREATED) == parse(GO)
    assert formats.parse(zipped({"out.log": GO}), "bench.zip", CREATED) == parse(GO)
    with pytest.raises(BenchmarkFormatError, match=r"bench.gz: The compressed data ends at byte \d+"):
        formats.parse(gzip.compress(GO.encode() * 99)[:-30], "bench.gz")


def test_a_folder_of_runs_holds_them_all(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"{number}.json").write_text(
            Run(None, SHA, None, UNKNOWN, CREATED.replace(minute=number), "t", parse(GO).results).to_json()
        )
    assert [run.created.minute for run in formats.read_all(tmp_path)] == [0, 1]
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(BenchmarkFormatError, match=r"x.json: the JSON is cut short"):
        formats.read_all(tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["result", "params", "samples", "name", "unit", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.sampled_from([google({"name": "a"}), {"results": [{"command": "x", "times": [1]}]}, ASV, {"context": 3},
                     {"format": "perflab.run", "version": 1}]),
    st.dictionaries(st.sampled_from(["benchmarks", "results", "params", "commit_hash", "context", "date", "python",
                                     "result_columns", "requirements", "created", "machine", "tool"]), json_values),
)  # fmt: skip
def test_any_document_is_a_run_or_a_sentence(document: dict[str, Any], changes: dict[str, Any]) -> None:
    try:
        parse({**document, **changes})
    except BenchmarkFormatError as error:
        assert str(error).startswith("bench: ")


@given(st.sampled_from([GO, "group,function,value,unit,sample_measured_value,iteration_count\na,b,,ns,1,1\n",
                        '{"reason": "benchmark-complete", "id": "x", "measured_values": [1], "iteration_count": [1]}']),
       st.integers(0, 400), st.text("\t {}[],.:-1eE/nN\"\n", max_size=6))  # fmt: skip
def test_any_text_is_a_run_or_a_sentence(text: str, at: int, added: str) -> None:
    try:
        parse(text[:at] + added + text[at:])
    except BenchmarkFormatError as error:
        assert str(error).startswith("bench: ")


# By name: an archive tells when it was packed, and every process of pytest-xdist packs its own.
RESULTS_OR_NOT = {
    "go": (GO.encode(), True),
    "gzip": (gzip.compress(GO.encode()), True),
    "asv": (json.dumps(ASV).encode(), True),
    "criterion": (zipped(CRITERION), True),
    "a file of benchmarks in an archive": (zipped({"benchmarks.json": INDEX}), True),
    "a trace in an archive": (zipped({"rank0.json": {"traceEvents": []}}), False),
    "a trace": (b'{"traceEvents": [{"args": {"results": 1}}]}', False),
    "nothing": (b"", False),
    "the start of a zip": (b"PK\x03\x04", False),
    "the start of a gzip": (b"\x1f\x8b\x08", False),
    "every byte": (bytes(range(256)), False),
}


@pytest.mark.parametrize(("content", "is_one"), RESULTS_OR_NOT.values(), ids=RESULTS_OR_NOT)
def test_results_are_told_from_traces(content: bytes, is_one: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert formats.holds_results(path) is is_one


SAMPLES = {
    "pytest-benchmark": {"benchmarks": [{"name": "x", "stats": {"min": 1}}], "commit_info": {},
                         "datetime": "2026-01-31T12:00:00", "version": "5.3.1"},
    "google-benchmark": google({"name": "x", "real_time": 1}),
    "hyperfine": {"results": [{"command": "x", "times": [1]}]},
    "asv": ASV,
    "criterion": "group,function,value,unit,sample_measured_value,iteration_count\nx,,,s,1,1\n",
    "go test": GO,
    "perflab": {"format": "perflab.run", "version": 1, "tool": "perflab", "results": []},
}  # fmt: skip


def test_the_page_of_formats_lists_what_is_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "benchmark_formats.md").read_text(encoding="utf-8")
    table = page.split("|---|---|---|\n", 1)[1].split("\n\n")[0].splitlines()
    tools = [row.strip("|").split(" | ")[0].strip() for row in table]
    assert [parse(SAMPLES[tool]).tool.startswith(tool) for tool in tools] == [True] * len(SAMPLES)
    assert len(formats.DOCUMENTS) + len(formats.TEXTS) == len(SAMPLES)
    own = parse(page.split("```json\n")[1].split("```")[0])
    assert own.results == (
        Result(Benchmark("decode", {"tokens": "128"}), (0.0213, 0.0209, 0.0211)),
        Result(Benchmark("throughput", {}, "tokens/s", "higher"), (6134.0,)),
    )
