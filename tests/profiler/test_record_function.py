"""Names on the timeline."""

import threading

import pytest

from perflab.profiler import profile, record_function


def names(prof: profile) -> list[str]:
    return prof.trace.name_of(prof.trace.select(category="user_annotation"))


def test_a_part_has_its_name_and_lies_in_the_one_around_it() -> None:
    with profile() as prof, record_function("step"):
        with record_function("forward") as part:
            assert part.name == "forward"
        with record_function("backward 💥"):
            pass
    assert names(prof) == ["step", "forward", "backward 💥"]
    assert prof.trace.slices.depth[prof.trace.select(category="user_annotation")].tolist() == [0, 1, 1]


def test_it_decorates_functions() -> None:
    @record_function("load")
    def load(number: int, *, by: int = 1) -> int:
        """Doc."""
        return number * by

    assert load(3, by=2) == 6
    with profile() as prof:
        assert load(4) == 4
        load(5)
    assert (load.__doc__, load.__name__) == ("Doc.", "load")
    assert names(prof) == ["load", "load"]


def test_the_name_may_be_named_and_subclasses_may_make_their_own() -> None:
    class Numbered(record_function):
        def __init__(self, name: str, number: int = 0) -> None:
            self.number = number

        def __new__(cls, name: str, number: int = 0) -> "Numbered":
            return super().__new__(cls, f"{name} {number}")

    class Plain(record_function):
        pass

    assert record_function(name="a").name == Plain("a").name == Plain(name="a").name == "a"
    assert (Numbered("a", 3).name, Numbered("a", number=3).number) == ("a 3", 3)
    for wrong in ({"title": "a"}, {"name": "a", "more": 1}, {}):
        with pytest.raises(TypeError):
            record_function(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Plain: the name must be a str, not int"):
        Plain(3)  # type: ignore[arg-type]


def test_a_name_is_entered_many_times_and_by_many_threads() -> None:
    part = record_function("again")
    with profile() as prof:
        for _ in range(3):
            with part:
                pass
        thread = threading.Thread(target=lambda: record_function("again").__enter__().__exit__(None, None, None))
        thread.start()
        thread.join()
    assert names(prof) == ["again"] * 4


def test_an_exception_passes_and_the_part_is_recorded() -> None:
    with profile() as prof, pytest.raises(ZeroDivisionError), record_function("fails"):
        raise ZeroDivisionError
    assert names(prof) == ["fails"]


def test_what_began_before_or_ends_after_the_recording_is_left_out() -> None:
    outside, inside = record_function("outside"), record_function("inside")
    prof = profile()
    with outside:
        prof.start()
    with inside:
        prof.stop()
    assert names(prof) == []


@pytest.mark.parametrize("arguments", [(), (3,), ("a", "b")])
def test_it_takes_one_str(arguments: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        record_function(*arguments)  # type: ignore[arg-type]
