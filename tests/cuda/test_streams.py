"""Devices, streams and events, with the fake driver: what is given to a stream waits until somebody waits for it."""

from pathlib import Path

from .fake import run


def test_devices(fake_driver: Path) -> None:
    told = run(
        fake_driver,
        """
told = [rt.cuda.is_available(), rt.cuda.device_count(), rt.cuda.current_device(), rt.cuda.get_device_name(),
        rt.cuda.get_device_capability("cuda:1"), rt.cuda.mem_get_info(1)[1]]
with rt.cuda.device(1):
    told += [rt.cuda.current_device(), rt.cuda.get_device_name("cuda")]
rt.cuda.set_device("cuda:1")
told.append(rt.cuda.current_device())
for wrong in (lambda: rt.cuda.set_device(2), lambda: rt.cuda.Stream("cuda:7"), lambda: rt.cuda.synchronize("cpu")):
    try:
        wrong()
    except rt.PerflabError as error:
        told.append(f"{type(error).__name__}: {error}")
""",
    )
    assert told == [
        True, 2, 0, "Fake GPU 0", [9, 0], 256 << 20, 1, "Fake GPU 1", 1,
        "DeviceError: there is no device cuda:2: there are 2, counted from 0",
        "DeviceError: there is no device cuda:7: there are 2, counted from 0",
        "ArgumentError: 'cpu' is no CUDA device: use 'cuda', 'cuda:0' or 0",
    ]  # fmt: skip


def test_streams_and_events(fake_driver: Path) -> None:
    told = run(
        fake_driver,
        """
a, b = rt.cuda.Stream(), rt.cuda.Stream(priority=-1)
told = [rt.cuda.current_stream() == rt.cuda.default_stream(), a == b, len({rt.cuda.Stream() for _ in range(40)})]
with a:
    told.append(rt.cuda.current_stream() == a)
    with rt.cuda.stream(b), rt.cuda.stream(None):
        told.append(rt.cuda.current_stream() == b)
    told.append(rt.cuda.current_stream() == a)
    begin, end = rt.cuda.Event(enable_timing=True), rt.cuda.Event(enable_timing=True)
    told.append(begin.query())  # never recorded: it has passed
    begin.record()
    a.record_event(end)
told.append([begin.query(), a.query(), b.query()])
b.wait_stream(a)
b.synchronize()
told.append([begin.query(), end.query(), begin.elapsed_time(end)])
try:
    begin.elapsed_time(rt.cuda.Event())
except rt.ArgumentError as error:
    told.append(str(error))
with rt.cuda.device(1):
    elsewhere = rt.cuda.Event()
try:
    elsewhere.record(a)
except rt.DeviceError as error:
    told.append(str(error))
""",
    )
    assert told == [
        True, False, 32, True, True, True, True, [False, False, True], [True, True, 1.0],
        "elapsed_time: make both events with enable_timing=True, and record both",
        "an event of cuda:1 cannot be recorded in a stream of cuda:0",
    ]  # fmt: skip


def test_current_streams_and_devices_are_each_thread_s_own(fake_driver: Path) -> None:
    told = run(
        fake_driver,
        """
import threading
told = []
with rt.cuda.Stream(), rt.cuda.device(1):
    def look():
        told.extend([rt.cuda.current_device(), rt.cuda.current_stream(0) == rt.cuda.default_stream(0)])
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
""",
    )
    assert told == [0, True]


def test_synchronize_waits_for_all_streams_and_errors_have_the_driver_s_words(fake_driver: Path) -> None:
    told = run(
        fake_driver,
        """
event = rt.cuda.Stream().record_event()
told = [event.query(), fake.fake_pending()]
rt.cuda.synchronize()
told += [event.query(), fake.fake_pending()]
try:
    _core.cuda_load_function(0, b"no such image\\0", "f")
except rt.DeviceError as error:
    told.append(str(error))
""",
    )
    assert told == [
        False, 1, True, 0, "CUDA: cuModuleLoadData failed: CUDA_ERROR_INVALID_VALUE: it was made so",
    ]  # fmt: skip
