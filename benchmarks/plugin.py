"""The pytest plugin: times a suite in several processes, and holds what it does against a file of exact counters.

    pytest benchmarks --perflab runs
    pytest benchmarks --benchmark-disable --perflab-counters benchmarks/counters.json
    pytest benchmarks --benchmark-disable --perflab-counters benchmarks/counters.json --perflab-update

A benchmark is a test that uses pytest-benchmark's `benchmark` fixture. After it has passed, the function that it gave
to the fixture is called twice more, the second time under the profiler. pytest loads this file in every project, so
what it needs is imported where it is used.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .fixture import Prepare, Watching

if TYPE_CHECKING:
    from .counters import Counters, CountersFile


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("perflab")
    group.addoption(
        "--perflab",
        metavar="FOLDER",
        type=Path,
        help="time the benchmarks in several processes, and leave a run file of each in FOLDER for `perflab gate`",
    )
    group.addoption(
        "--perflab-processes",
        metavar="N",
        type=int,
        default=5,
        help="how many processes --perflab starts (default: 5)",
    )
    group.addoption(
        "--perflab-counters",
        metavar="FILE",
        type=Path,
        help="fail where a benchmark calls other ops, or takes other memory, than FILE says; times do not matter",
    )
    group.addoption(
        "--perflab-update",
        action="store_true",
        help="write what the benchmarks count now to the file of --perflab-counters",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        'perflab(time="2%", counters="exact"): the smallest change of time that matters here, and whether counters are '
        'held: "off" where what the benchmark does depends on time',
    )
    if traces := os.environ.get("PERFLAB_SUITE_TRACES"):
        config.pluginmanager.register(_Traced(Path(traces)), "perflab-traces")
    path: Path | None = config.getoption("perflab_counters")
    if path is None:
        if config.getoption("perflab_update"):
            raise pytest.UsageError("--perflab-update writes a file of counters: name it with --perflab-counters")
        return
    _need_benchmarks_in_one_process(config, "--perflab-counters")
    config.pluginmanager.register(_Held(path, update=config.getoption("perflab_update")), "perflab-counters")


def _need_benchmarks_in_one_process(config: pytest.Config, option: str) -> None:
    if config.getoption("numprocesses", None):
        raise pytest.UsageError(f"{option} needs the benchmarks in one process: leave out -n")
    if not config.pluginmanager.hasplugin("benchmark"):
        raise pytest.UsageError(f"{option} needs pytest-benchmark's benchmarks: install pytest-benchmark")


def _refuse_what_times_nothing(config: pytest.Config) -> None:
    _need_benchmarks_in_one_process(config, "--perflab")
    for option in ("disable", "skip"):
        if config.getoption(f"benchmark_{option}") and not config.getoption("benchmark_enable"):
            raise pytest.UsageError(
                f"--perflab times benchmarks, and --benchmark-{option} is on: leave it out, or add --benchmark-enable"
            )
    if config.getoption("perflab_processes") < 1:
        raise pytest.UsageError("--perflab-processes needs at least 1")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    folder: Path | None = config.getoption("perflab")
    if folder is None or "PERFLAB_SUITE_PROCESS" in os.environ:
        return None
    _refuse_what_times_nothing(config)
    from .errors import BenchmarkError
    from .suite import run_in_processes

    call = config.invocation_params
    try:
        return run_in_processes(call.args, call.dir, call.dir / folder, config.getoption("perflab_processes"), _say)
    except BenchmarkError as error:
        raise pytest.UsageError(str(error)) from None


def _say(what: str) -> None:
    print(f"perflab: {what}", flush=True)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_json(output_json: dict[str, Any]) -> None:
    """What was around is told beside what --perflab measures; the JSON of others stays as it is."""
    if "PERFLAB_SUITE_PROCESS" in os.environ:
        from .environment import this_environment

        output_json["perflab"] = {"environment": this_environment()}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    marker, fixture = pyfuncitem.get_closest_marker("perflab"), pyfuncitem.funcargs.get("benchmark")
    if marker is not None and fixture is not None and "time" in marker.kwargs:
        fixture.extra_info["perflab.time"] = _share(marker.kwargs["time"])  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for marker in (marker for item in items for marker in item.iter_markers("perflab")):
        _refuse_what_means_nothing(marker)
    only = os.environ.get("PERFLAB_ONLY")  # set where the gate measures again what may have changed
    if only is not None:
        named = set(json.loads(only))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in named])
        items[:] = [item for item in items if item.nodeid in named]


def _refuse_what_means_nothing(marker: pytest.Mark) -> None:
    """A word misspelt would leave a benchmark unguarded."""
    odd = [*map(repr, marker.args), *sorted(marker.kwargs.keys() - {"time", "counters"})]
    if odd:
        raise pytest.UsageError(f'perflab({", ".join(odd)}): give time="2%", counters="exact", or counters="off"')
    counters = marker.kwargs.get("counters", "exact")
    if counters not in ("exact", "off"):
        raise pytest.UsageError(f'perflab(counters={counters!r}): give "exact" or "off"')
    if "time" in marker.kwargs:
        _share(marker.kwargs["time"])


def _share(text: object) -> float:
    """ "2%" as 0.02."""
    number = text.removesuffix("%").strip() if isinstance(text, str) and text.endswith("%") else ""
    try:
        return float(number) / 100
    except ValueError:
        raise pytest.UsageError(f'perflab(time={text!r}): give a share such as "2%"') from None


class _Held(Watching):
    """One session's counters beside those of the file."""

    def __init__(self, path: Path, *, update: bool) -> None:
        self._path = path
        self._update = update
        self._base = self._read()
        self._head: dict[str, Counters] = {}
        self._files: set[str] = set()
        self._collected: set[str] = set()

    def _read(self) -> CountersFile:
        from .counters import CountersFile
        from .errors import BenchmarkFormatError

        try:
            return CountersFile.from_json(self._path.read_bytes())
        except FileNotFoundError:
            if self._update:
                return CountersFile({})
            raise pytest.UsageError(f"there is no {self._path}: write it with --perflab-update") from None
        except (OSError, BenchmarkFormatError) as error:
            raise pytest.UsageError(f"{self._path}: {error}") from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if not any("::" in argument for argument in config.args):  # else only some tests of these files are collected
            # before -k and -m take some away: those are not gone
            self._collected.update(item.nodeid for item in items)
            self._files.update(item.nodeid.partition("::")[0] for item in items)
        super().pytest_collection_modifyitems(config, items)

    def watched(self, name: str, prepare: Prepare) -> None:
        from .counters import count, differences

        prepare()()
        counted = count(prepare())
        if not counted.ops:
            return  # it runs nothing of perflab.runtime
        self._head[name] = counted
        if self._update:
            return
        if name not in self._base.benchmarks:
            pytest.fail(f"{self._path} does not know this benchmark: write it anew with --perflab-update", False)
        changed = differences(self._base.benchmarks[name], counted)
        if changed:
            lines = "\n  ".join(changed)
            pytest.fail(
                f"it does not do what {self._path} says:\n  {lines}\n"
                "Mend it, or accept this with --perflab-update and commit the file.",
                False,
            )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == 0 and self._problem():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif exitstatus == 0 and self._update:
            self._write()

    def _problem(self) -> str | None:
        """Why a session whose tests all passed does not pass, a sentence."""
        if not self._head:
            return "no benchmark ran an op of perflab.runtime: nothing was held"
        gone = self._gone()
        if gone and not self._update:
            return f"{self._path} has benchmarks that are gone: {', '.join(gone)}; write it anew with --perflab-update"
        return None

    def _gone(self) -> list[str]:
        return sorted(
            name
            for name in self._base.benchmarks
            if name.partition("::")[0] in self._files and name not in self._collected
        )

    def _write(self) -> None:
        from .counters import CountersFile

        kept = {name: it for name, it in self._base.benchmarks.items() if name not in self._gone()}
        partial = self._path.with_name(f".{self._path.name}.partial")
        partial.write_text(CountersFile(kept | self._head).to_json(), encoding="utf-8")
        partial.replace(self._path)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        problem = self._problem()
        if problem:
            terminalreporter.write_line(f"perflab: {problem}", red=True)
        elif self._update:
            terminalreporter.write_line(f"perflab: {self._path} holds {len(self._head)} benchmarks of this session")
        else:
            terminalreporter.write_line(f"perflab: {len(self._head)} benchmarks held against {self._path}")


class _Traced(Watching):
    """Leaves a trace of each benchmark that runs ops of perflab.runtime."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def watched(self, name: str, prepare: Prepare) -> None:
        from .suite import trace

        self._count += trace(name, prepare, self._folder / f"{self._count + 1:03}.json.gz")
