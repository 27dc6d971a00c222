#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "family.h"
#include "recorder.h"

namespace perflab {
namespace {

namespace fs = std::filesystem;

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/perflab-test-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }

  std::string content(const std::string& suffix) const {  // of the one file that ends so
    std::string found;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() != suffix) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      found.append(std::istreambuf_iterator<char>(file), {});
    }
    return found;
  }
  std::vector<uint32_t> names() const {  // of the events of its chunks
    const std::string bytes = content(".events");
    std::vector<uint32_t> all;
    for (size_t at = 4096; at + sizeof(Event) <= bytes.size(); at += sizeof(Event)) {
      Event e;
      std::memcpy(&e, bytes.data() + at, sizeof e);
      if (e.kind != EventKind{}) all.push_back(e.name);
    }
    return all;
  }
};

void record(uint32_t name) {
  Event& e = next_event();
  e.t0 = e.t1 = e.t2 = ticks();
  e.kind = EventKind::kOp, e.name = name;
}

template <class F>
int in_child(F body) {
  pid_t child = fork();
  if (!child) {
    body();
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  return status;
}

TEST(a_child_records_into_a_file) {
  Folder folder;
  lead_family(folder.path);
  let_family_record(100);
  CHECK(in_child([&] {
          CHECK(!is_recording());
          log_name("early");
          join_family(folder.path);
          CHECK(is_recording());
          intern("a text of the child");
          for (uint32_t i = 0; i < 120; ++i) record(i);
        }) == 0);
  stop_family();
  std::vector<uint32_t> expected(100);
  for (uint32_t i = 0; i < 100; ++i) expected[i] = i;
  CHECK(folder.names() == expected);
  const std::string log = folder.content(".log");
  CHECK(log.find("a text of the child") != std::string::npos && log.find("early") != std::string::npos);
  CHECK(folder.content(".events").substr(0, 9) == std::string("perflab1") + char(20));  // dropped
}

TEST(a_child_obeys_when_the_family_records_later) {
  Folder folder;
  lead_family(folder.path);
  int told[2];
  CHECK(!pipe(told));
  pid_t child = fork();
  if (!child) {
    join_family(folder.path);
    CHECK(!is_recording());
    record(1);  // in vain: nobody asks whether it may
    CHECK(write(told[1], "!", 1) == 1);
    while (!is_recording()) std::this_thread::yield();
    record(2);
    while (is_recording()) {
      CHECK(write(told[1], "!", 1) == 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    _exit(0);
  }
  char byte;
  CHECK(read(told[0], &byte, 1) == 1);
  let_family_record(100);
  CHECK(read(told[0], &byte, 1) == 1);
  stop_family();
  int status;
  waitpid(child, &status, 0);
  close(told[0]), close(told[1]);
  CHECK(status == 0);
  CHECK(folder.names() == std::vector<uint32_t>{2});
}

TEST(a_session_of_a_child_is_its_own) {
  Folder folder;
  lead_family(folder.path);
  let_family_record(100);
  CHECK(in_child([&] {
          join_family(folder.path);
          record(1);
          start_recording(10);
          for (uint32_t i = 2; i < 5; ++i) record(i);
          stop_recording();
          CHECK(is_recording() && !is_session());
          record(5);
          size_t count = 0;
          for (const Recorded& r : drain()) {
            for (size_t i = 0; i < r.count; ++i, ++count) CHECK(r.events[i].name == 2 + count || r.events[i].name == 5);
            release_chunk(r.chunk);
          }
          CHECK(count >= 3);
        }) == 0);
  stop_family();
  CHECK((folder.names() == std::vector<uint32_t>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace perflab
