"""The table of docs/importers.md is what the doctor says, where the sample traces lie beside the checkout."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = ROOT.parent / "shared" / "cases" / "traces"


@pytest.mark.skipif(not FOLDER.is_dir(), reason="there are no sample traces beside the checkout")
def test_the_table_is_what_the_doctor_says() -> None:
    spec = spec_from_file_location("doctor_table", ROOT / "docs/doctor_table.py")
    assert spec and spec.loader
    made: Any = module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.table(FOLDER) in made.PAGE.read_text(encoding="utf-8")
