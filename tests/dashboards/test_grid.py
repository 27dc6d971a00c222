"""The heat table of benchmarks by commits: its cells, without a browser."""

import re
from pathlib import Path

import pytest

from perflab.dashboards.grid import GridCell, GridRow, cells
from perflab.server.glances import Glances
from perflab.server.lab import LocalLab
from perflab.server.routes.project_views import GRID_COMMITS, grid_view
from perflab.server.settings import Settings

from . import history


def row(*found: GridCell | None) -> GridRow:
    return GridRow(suite="", title="test_add", address="/series", unit="s", base=1.0, base_commit="a" * 40, cells=found)


def test_colours_are_for_what_is_significant() -> None:
    drawn = row(GridCell(1.04, True), GridCell(1.3, True), GridCell(0.9, False), GridCell(1.3, None), None)
    assert cells(drawn) == "<td class=w1>+4<td class=w4>+30<td class=b3>\u221210<td>+30<td class=n>"
    assert drawn.tenths == "40,300,-100,300,"


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert cells(row(GridCell(0.9996, None), GridCell(1.004, None))) == "<td>0<td>0"


def test_a_regression_is_coloured_from_its_commit_on(tmp_path: Path) -> None:
    lab = LocalLab.open(Settings(lab=tmp_path / "lab"), create=True)
    history.fill(lab, 120, 9)
    view = grid_view(Glances(lab).of("trainer"))
    lab.close()
    assert [commit.sha for commit in view.commits] == [history.sha(number) for number in range(80, 120)]
    assert len(view.commits) == GRID_COMMITS
    found = {drawn.suite + drawn.title: drawn for drawn in view.rows}
    # The third benchmark is 14 % slower in the last fifth.
    slower = found["train/step.py::test_optimizer [size=64]"]
    worse = [cell.worse for cell in slower.cells if cell is not None]
    assert worse == [None] * 16 + [True] * 24
    assert slower.base_commit == history.sha(80)
    assert slower.cells[-1] is not None and slower.cells[-1].ratio == pytest.approx(1.14, rel=0.1)
    # The sixth was faster before all commits shown: that is its level now.
    assert all(cell is not None and cell.worse is None for cell in found["ops/pointwise.py::test_add [size=64]"].cells)
    # The last ended after 90 commits.
    ended = found["ops/pointwise.py::test_silu [size=64]"]
    assert [cell is None for cell in ended.cells] == [False] * 10 + [True] * 30
    assert re.fullmatch(r"[\d\-,]*", ended.tenths) and ended.tenths.endswith("," * 30)
