// A backward pass runs each node on the stream of its forward call.
#pragma once
#include <vector>

#include "device.h"
#include "node.h"

namespace perflab {

class StreamTurns {
 public:
  ~StreamTurns() {
    for (const Begun& b : begun_) device(b.device).set_current_stream(b.stream);
  }
  // Makes the node's stream the current one.
  void enter(const Node* n) {
    Device& d = device(n->device);
    begin(d);
    if (d.current_stream() == n->stream) return;
    d.set_current_stream(n->stream);
    for (const Begun& u : used_)
      if (u.device == n->device && u.stream == n->stream) return;
    used_.push_back({n->device, n->stream});
  }
  // The streams that were current before the pass go on when it is done.
  void finish() {
    for (const Begun& b : begun_)
      for (const Begun& u : used_)
        if (u.device == b.device && u.stream != b.stream) device(b.device).wait(b.stream, u.stream);
  }

 private:
  struct Begun {
    int device;
    Stream stream;
  };
  void begin(Device& d) {
    for (const Begun& b : begun_)
      if (b.device == d.number()) return;
    begun_.push_back({d.number(), d.current_stream()});
  }
  std::vector<Begun> begun_, used_;
};

}  // namespace perflab
