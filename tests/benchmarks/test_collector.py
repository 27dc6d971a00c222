import gc

import pytest

from perflab.benchmarks.collector import collector_rests


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_rests_inside_and_is_then_as_it_was(collects):
    was = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        with pytest.raises(ZeroDivisionError), collector_rests():
            inside = gc.isenabled()
            raise ZeroDivisionError
        assert (inside, gc.isenabled()) == (False, collects)
    finally:
        (gc.enable if was else gc.disable)()
