// Runs every test, or those whose names contain the argument.
#include <atomic>
#include <cstring>

#include "check.h"

namespace perflab::test {

static std::atomic<int> failures{0};

std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

void fail(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  ++failures;
}

}  // namespace perflab::test

int main(int argc, char** argv) {
  using namespace perflab::test;
  int failed = 0, ran = 0;
  for (const Test& t : tests()) {
    if (argc > 1 && !std::strstr(t.name, argv[1])) continue;
    const int before = failures;
    t.body();
    ++ran, failed += failures != before;
    if (failures != before) std::fprintf(stderr, "failed: %s\n", t.name);
  }
  std::printf("%d tests, %d failed\n", ran, failed);
  return failed || !ran;
}
