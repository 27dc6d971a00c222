// What it takes to record an event, measured with the code that records.
#pragma once

namespace perflab {

struct EventCosts {  // ns
  double op;         // of an op with its kernel, two inputs and an output that it allocates and that is freed
  double shapes;     // what the inputs' shapes are of that
  double event;      // of any other event
  double hold;       // of a hold of the GIL: the hooks take little more than the stamps
};
// The least of some tries, on this thread; some hundreds of microseconds. Throws Error(kValue) while something records.
EventCosts measure_event_costs();

}  // namespace perflab
