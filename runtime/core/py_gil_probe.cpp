#include "py_gil_probe.h"

#include <unistd.h>

#include "py.h"
#include "recorder.h"

namespace perflab {

GilProbe::GilProbe(double interval_s) : ticker_(interval_s, "GIL probe", [this] { return sample(); }) {}

// False: the interpreter ends, and the GIL is not to be had any more.
bool GilProbe::sample() {
  if (!Py_IsInitialized()) return false;
  const int64_t asked = ticks();
  PyGILState_STATE state;
  try {
    state = PyGILState_Ensure();
  } catch (...) {  // Python ends threads that come this late, by unwinding them; see py_restore.h
    for (;;) pause();
  }
  const int64_t got = ticks();
  PyGILState_Release(state);
  ++samples_;
  if (!is_recording()) return true;
  Event& e = next_event();
  e = Event{};
  e.t0 = asked, e.t1 = e.t2 = got, e.kind = EventKind::kGil, e.name = intern("probe");
  return true;
}

}  // namespace perflab
