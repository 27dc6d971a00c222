"""Many writers at once."""

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import event

from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from perflab.server.store import Store

from .conftest import BASE, Files


def test_uploads_at_once_are_neither_lost_nor_doubled(settings: Settings, files: Files) -> None:
    paths = [files.run(f"{number}.json", 1.0 + number) for number in range(6)]
    labs = [LocalLab.open(settings, create=True) for _ in range(2)]

    def upload(turn: int) -> bool:
        path = paths[turn % len(paths)]
        return labs[turn % len(labs)].upload(path, Label(name=path.name, said=Origin(commit=BASE))).new

    with ThreadPoolExecutor(8) as pool:
        new = list(pool.map(upload, range(4 * len(paths))))
    assert sum(new) == len(paths)
    [series] = labs[0].series("demo", "step")
    assert sorted(point.median for point in series.points) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    for lab in labs:
        lab.close()


def test_an_upload_asks_the_database_little(store: Store, local: LocalLab, files: Files) -> None:
    """What is there is asked for at once, what is new is not looked for first."""
    said: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        said.append(statement)

    first, second = files.run("first.json", 1.0), files.run("second.json", 2.0)
    label = Label(name="run.json", said=Origin(commit=BASE))
    local.upload(first, label)
    event.listen(store._engine, "before_cursor_execute", note)
    assert local.upload(second, label).new
    asked = [each.split()[:3] for each in said if not each.startswith("BEGIN") and "advisory" not in each]
    assert [words[0] if words[0] == "SELECT" else words[2] for words in asked] == [
        *("SELECT", "SELECT"),  # whether names are masked; the project, commit, machine, branch and run
        *("run", "upload"),
        *("SELECT", "result"),  # the benchmarks
    ]
    said.clear()
    assert not local.upload(second, label).new
    assert not any(each.startswith("INSERT INTO r") for each in said)
