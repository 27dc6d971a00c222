"""Other people's tools read a trace of ours: what they made of it against what is in it.

`make readers` installs them.
"""

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import Trace, chrome, profile, record_function
from perflab.profiler.analysis.enclosing import nearest
from perflab.profiler.analysis.ops import OPS, of_category
from perflab.runtime import nn, optim

TOOLS = Path(__file__).parents[2] / "build" / "readers"
PYTHON = TOOLS / "bin" / "python"
SPEEDSCOPE = TOOLS / "node_modules" / "speedscope" / "dist" / "release" / "index.html"
CHECKOUT = os.environ.get("TRACELENS", "")  # of AMD-AGI/TraceLens, which is in no registry

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="the tools are not installed: make readers")

HTA = """
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="", include_last_profiler_step=True)
table, symbols = analysis.t.get_trace(0), analysis.t.symbol_table.get_sym_table()
names = [(symbols[category], symbols[name]) for category, name in zip(table["cat"], table["name"])]
dims = table.loc[[name == ("cpu_op", "matmul") for name in names], "input_dims"]
print(json.dumps([names, sorted(set(map(str, dims)))]))
"""

TRACELENS = """
from TraceLens.TreePerf import TreePerfAnalyzer
tree = TreePerfAnalyzer.from_file(sys.argv[1]).tree
above = lambda one: tree.events_by_uid[one["parent"]]["name"] if one.get("parent") is not None else ""
print(json.dumps([(one["name"], above(one)) for one in tree.events if one.get("cat") == "cpu_op"]))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few steps of training."""
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = optim.Adam(model.parameters())
    x, y = rt.randn(16, 16), rt.randint(0, 10, (16,))
    with profile() as prof:
        for _ in range(5):
            with record_function('forward \u2603 "quoted"'):
                loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            prof.step()
    path = tmp_path_factory.mktemp("readers") / "trace.json.gz"
    prof.export_chrome_trace(path)
    return path


@pytest.fixture(scope="module")
def trace(path: Path) -> Trace:
    return chrome.read(path)


def found_by(program: str, path: Path, **environment: str) -> Any:
    """What a program of the tools' Python prints at last."""
    done = subprocess.run(
        [PYTHON, "-c", "import json, sys\n" + program, path],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_hta_finds_every_slice(path: Path, trace: Trace) -> None:
    names, dims = found_by(HTA, path)
    rows = range(len(trace.slices))
    categories = [trace.strings[number] for number in trace.slices.category.tolist()]
    expected = Counter(zip(categories, trace.name_of(rows), strict=True))
    assert Counter(map(tuple, names)) == expected
    assert {"[[16, 16], [16, 32]]", "[[16, 32], [32, 10]]"} <= set(dims)


@pytest.mark.skipif(not CHECKOUT, reason="say where it is: make readers TRACELENS=<a checkout of AMD-AGI/TraceLens>")
def test_tracelens_builds_the_same_tree_of_ops(path: Path, trace: Trace) -> None:
    is_op = of_category(trace, OPS)
    rows = np.flatnonzero(is_op)
    above = nearest(trace, trace.slices.parent[rows], is_op).tolist()
    parents = ["" if row < 0 else trace.name_of([row])[0] for row in above]
    expected = Counter(zip(trace.name_of(rows), parents, strict=True))
    assert Counter(map(tuple, found_by(TRACELENS, path, PYTHONPATH=CHECKOUT))) == expected


def test_speedscope_shows_it_without_a_complaint(path: Path, trace: Trace) -> None:
    from playwright.sync_api import sync_playwright

    told: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--allow-file-access-from-files"]
        )
        page = browser.new_page()
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(f"stack: {error}"))
        page.goto(SPEEDSCOPE.as_uri())
        page.set_input_files("input[type=file]", path)
        page.get_by_text("Sandwich").click()
        page.get_by_text("Symbol Name").wait_for()
        rows = [row.locator("td").all_inner_texts() for row in page.locator("tr").all()]
        browser.close()
    assert "Importing as Trace Event Format profile" in told
    assert not [text for text in told if "stack" in text or "still open" in text]
    names = {cells[2].strip().split(" {")[0] for cells in rows if len(cells) == 3 and cells[0].endswith("%)")}
    assert {"ProfilerStep#0", 'forward \u2603 "quoted"', "cross_entropy"} <= names
    assert names <= set(trace.strings)
