"""What happens when a module has been imported."""

import importlib
import sys
from pathlib import Path

import pytest

from perflab.profiler.when_imported import call_when_imported


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of one that can be imported, and was not."""
    (tmp_path / "imported_later.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "imported_later", raising=False)
    return "imported_later"


def fail() -> None:
    pytest.fail("it was not imported")


def test_it_is_called_once_when_the_import_has_ended(module: str) -> None:
    found: list[int] = []
    before = list(sys.meta_path)
    call_off = call_when_imported(module, lambda: found.append(sys.modules[module].value))
    importlib.import_module("json")
    assert found == []
    loaded = importlib.import_module(module)
    assert found == [1] and sys.meta_path == before
    importlib.import_module(module)
    assert not call_off()
    assert type(loaded.__loader__).__name__ == "SourceFileLoader"
    assert loaded.__spec__ is not None and loaded.__spec__.loader is loaded.__loader__
    assert importlib.reload(loaded).value == 1 and found == [1]


def test_a_module_that_is_there_is_there_at_once() -> None:
    found: list[str] = []
    call_off = call_when_imported("sys", lambda: found.append("sys"))
    assert found == ["sys"] and not call_off()


def test_called_off_it_leaves_nothing_behind(module: str) -> None:
    before = list(sys.meta_path)
    assert call_when_imported(module, fail)()
    assert sys.meta_path == before
    importlib.import_module(module)


def test_two_that_wait_for_one_module(module: str) -> None:
    found: list[int] = []
    before = list(sys.meta_path)
    offs = [call_when_imported(module, lambda number=number: found.append(number)) for number in (1, 2, 3)]  # type: ignore[misc]
    assert offs[1]()
    importlib.import_module(module)
    assert sorted(found) == [1, 3] and sys.meta_path == before


def test_a_module_that_is_not_there_or_fails_is_not_called_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fails_to_import.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name, error in (("no_such_module_at_all", ImportError), ("fails_to_import", ZeroDivisionError)):
        call_off = call_when_imported(name, fail)
        with pytest.raises(error):
            importlib.import_module(name)
        call_off()
