"""The documents say what is there: links, commands, options, tables, the op of CONTRIBUTING, docstrings."""

import argparse
import doctest
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.benchmarks.gate import GateReport, judge
from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Result, Run
from perflab.benchmarks.stats import least_p
from perflab.runtime import registry
from perflab.server.commands.gate import Gate

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(ROOT.glob("docs/*.md"))
GATE = (ROOT / "docs/gate.md").read_text(encoding="utf-8")
PACKAGES = (
    *("runtime", "runtime.random", "runtime.nn", "runtime.nn.functional", "runtime.nn.init", "runtime.nn.utils"),
    *("runtime.optim", "runtime.optim.lr_scheduler", "runtime.amp", "runtime.data", "runtime.utils", "profiler"),
)


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table under a heading line."""
    table = text.split(f"{heading}\n", 1)[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table[1:]]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_linked_files_are_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert target.startswith("https://") or (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_named_paths_and_targets_are_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for path in re.findall(r"`((?:runtime|profiler|server|dashboards|benchmarks|tests|docs)/[\w./]*)`", text):
        assert (ROOT / path).exists(), path
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test"} <= targets
    assert set(re.findall(r"(?:^ {4}|`)make ([a-z-]+)", text, re.MULTILINE)) <= targets


def test_the_picture_of_the_layers_is_what_its_script_makes() -> None:
    script = ROOT / "docs/pictures/layers.py"
    spec = spec_from_file_location("layers", script)
    assert spec and spec.loader
    layers: Any = module_from_spec(spec)
    spec.loader.exec_module(layers)
    assert script.with_name("layers.svg").read_text(encoding="utf-8") == layers.svg()
    for row in layers.ROWS:
        for package in row:
            assert (ROOT / package.name.removeprefix("perflab.")).is_dir()


def test_the_block_diagrams_are_what_the_allocator_does() -> None:
    """In a process of its own, whose device nothing else has used."""
    story = "import memory; from perflab.dashboards import blockmap; print(blockmap.story(memory.blocks()), end='')"
    pictures = ROOT / "docs/pictures"
    made = subprocess.run([sys.executable, "-c", story], cwd=pictures, check=True, capture_output=True, text=True)
    assert made.stdout == (pictures / "blocks.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "width"), [("dashboard", 1440), ("timeline", 1400)])
def test_pictures_of_the_dashboard_are_small_pngs(name: str, width: int) -> None:
    picture = (ROOT / f"docs/pictures/{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(picture[16:20]) == width
    assert len(picture) < 300_000


@pytest.fixture
def own_table() -> Iterator[None]:
    """What a test declares is not swept by others."""
    before = dict(registry.OPS)
    yield
    registry.OPS.clear()
    registry.OPS.update(before)


@pytest.mark.usefixtures("own_table")
def test_the_op_of_contributing_works() -> None:
    snippet = re.search(r"^```python\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
    assert snippet
    # the file that it would stand in has what it uses
    namespace = {**vars(import_module("perflab.runtime.ops.pointwise"))}
    exec(compile(snippet[1], "CONTRIBUTING.md", "exec"), namespace)
    squareplus = namespace["squareplus"]
    registry.check(squareplus.record)
    values = np.linspace(-30, 30, 13)
    a = rt.tensor(values, requires_grad=True)
    out = squareplus(a)
    np.testing.assert_allclose(out.detach().numpy(), (values + np.sqrt(values**2 + 4)) / 2)
    out.sum().backward()
    assert a.grad is not None
    np.testing.assert_allclose(a.grad.numpy(), 0.5 + values / np.sqrt(values**2 + 4) / 2)
    example = doctest.DocTestParser().get_doctest(
        squareplus.__doc__, {"squareplus": squareplus, "tensor": rt.tensor}, "squareplus", None, 0
    )
    assert doctest.DocTestRunner().run(example) == (0, 1)
    found = rt.testing.check_op(squareplus)
    assert list(found) == list(rt.testing.KINDS) and len(found) == 12
    assert all(re.fullmatch(r"[1-9]\d* samples?", words) for words in found.values()), found


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_have_a_docstring(name: str) -> None:
    module = import_module(f"perflab.{name}")
    public = getattr(module, "__all__", [key for key, value in vars(module).items() if is_own(module, key, value)])
    assert module.__doc__
    missing = [key for key in public if (value := getattr(module, key)) is not None and not value.__doc__]
    assert not missing


def is_own(module: Any, name: str, value: Any) -> bool:
    return inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")


def test_the_options_of_the_gate_are_those_of_the_command() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    Gate().prepare_parser(parser)
    declared = {action.option_strings[0] for action in parser._actions if action.option_strings}
    told = {re.match(r"`(--[a-z-]+)", row[0]) for row in rows(GATE, "| option | default | meaning |")}
    assert {found[1] for found in told if found} == declared


def test_the_runs_that_the_gate_needs() -> None:
    told = {int(runs): int(most) for runs, most in rows(GATE, "| runs a side | enough for so many benchmarks |")}
    assert told == {runs: int(0.05 / least_p(runs, runs)) for runs in (4, 5, 6, 7, 8)}


HERE, THERE = (Machine.of(name=cpu, cpu=cpu, cores=2, os="Linux x86_64", python="CPython 3.11") for cpu in ("A", "B"))


def runs(count: int, machine: Machine = HERE, **seconds: float) -> list[Run]:
    """Runs with one result for each named benchmark."""
    results = tuple(Result(Benchmark(name, {}), (value,)) for name, value in seconds.items())
    facts = {"project": "training", "commit": "ba5e" * 10, "branch": None, "tool": "a test", "results": results}
    return [Run(machine=machine, created=datetime(2026, 1, 31, tzinfo=UTC), **facts) for _ in range(count)]  # type: ignore[arg-type]


def sentences(report: GateReport) -> list[str]:
    found = [report.problem, *(finding.reason for finding in report.findings)]
    return [re.sub(r"\([^()]*, [^()]*\)", "(...)", sentence) for sentence in found if sentence]


def test_the_sentences_of_the_gate_that_could_not_judge() -> None:
    step, other = runs(5, step=1.0), runs(5, step=1.0, other=1.0)
    reports = [
        judge(step, []),
        judge(step, runs(5)),
        judge(step, runs(1, step=1.0) + runs(1, THERE, step=1.0)),
        judge([], step),
        judge(runs(5, THERE, step=1.0), step),
        judge(runs(5), step),
        judge(step, other),
        judge(other, step),
        judge(runs(5, step=0.0), step),
        judge(runs(3, step=1.0), runs(3, step=2.0)),
    ]
    told = [row[1] for row in rows(GATE, "| case | what the report says |")]
    assert [re.sub(r"\(failed, .*?\)", "(...)", sentence) for sentence in told] == [
        sentence for report in reports for sentence in sentences(report)
    ]


@pytest.mark.parametrize("name", ["pytorch.md", "answers.md"])
def test_what_a_page_shows_is_so(name: str) -> None:
    page = ROOT / "docs" / name
    test = doctest.DocTestParser().get_doctest(page.read_text(encoding="utf-8"), {"rt": rt}, page.name, str(page), 0)
    report: list[str] = []
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    assert not doctest.DocTestRunner(verbose=False, optionflags=options).run(test, out=report.append).failed, report
    assert len(test.examples) > 8
