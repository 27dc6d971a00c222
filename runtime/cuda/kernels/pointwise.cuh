// One output element from one of each input. The bodies are made of the ops' declarations (sources.py).
#pragma once

constexpr int kMaxAttributes = 4;

struct Pointwise {
  Walk w;
  double attributes[kMaxAttributes];
};
