"""Many writers at once."""

from concurrent.futures import ThreadPoolExecutor

from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings

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
