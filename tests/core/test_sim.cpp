#include <atomic>
#include <thread>
#include <vector>

#include "arrays.h"
#include "caching_allocator.h"
#include "check.h"
#include "sim.h"

namespace perflab {
namespace {

SimDevice& sim() { return sim_device(6); }

Array on_sim(int64_t n) {
  Array a;
  a.dtype = DType::kFloat32, a.ndim = 1, a.shape[0] = n;
  a.pack();
  fill_storage_on(sim().number(), a);
  return a;
}

void set_all(const Array& a, float value) {
  std::vector<Array> arrays;
  arrays.emplace_back(a);
  sim().call("set", std::move(arrays), a.numel, [value](std::span<Array> all) {
    for (int64_t i = 0; i < all[0].numel; ++i) all[0].as<float>()[i] = value;
  });
}

void add_one(const Array& a) {
  std::vector<Array> arrays;
  arrays.emplace_back(a);
  sim().call("add one", std::move(arrays), a.numel, [](std::span<Array> all) {
    for (int64_t i = 0; i < all[0].numel; ++i) all[0].as<float>()[i] += 1;
  });
}

bool all_are(const Array& a, float value) {
  const Array here = on_cpu(a);
  for (int64_t i = 0; i < here.numel; ++i)
    if (here.as<float>()[i] != value) return false;
  return true;
}

TEST(a_stream_does_its_work_in_order) {
  Array a = on_sim(1000);
  set_all(a, 0);
  for (int i = 0; i < 500; ++i) add_one(a);
  CHECK(all_are(a, 500));
}

TEST(streams_wait_for_each_other_where_they_are_told) {
  const Stream one = sim().new_stream(), two = sim().new_stream();
  CHECK(one != two && sim().stream_number(one) > 0 && sim().stream_number(0) == 0);
  Array a = on_sim(1 << 16);
  sim().synchronize();
  for (int round = 0; round < 50; ++round) {
    {
      StreamScope on(sim(), one);
      set_all(a, static_cast<float>(round));
    }
    sim().wait(two, one);
    {
      StreamScope on(sim(), two);
      add_one(a);
    }
    sim().wait(one, two);
  }
  sim().wait(0, two);
  CHECK(all_are(a, 50));
}

TEST(marks_are_passed_in_order) {
  std::atomic<bool> open{false};
  const Stream s = sim().new_stream();
  StreamScope on(sim(), s);
  sim().call("wait", {}, 0, [&](std::span<Array>) {
    while (!open) std::this_thread::yield();
  });
  auto first = sim().mark(s);
  CHECK(!SimDevice::has_passed(*first) && first->time == 0);
  open = true;
  sim().synchronize(*first);
  CHECK(SimDevice::has_passed(*first) && first->time > 0);
  sim().synchronize(s);
  CHECK(sim().is_idle(s));
}

TEST(what_a_task_throws_is_thrown_once_by_who_waits) {
  sim().call("fail", {}, 0, [](std::span<Array>) { throw Error(ErrorKind::kIndex, "first"); });
  sim().call("fail", {}, 0, [](std::span<Array>) { throw Error(ErrorKind::kIndex, "second"); });
  CHECK_THROWS(Error, sim().synchronize());
  sim().synchronize();
}

TEST(the_memory_of_a_simulated_device_has_an_end) {
  SimSource& source = sim().source();
  sim().synchronize();
  sim().allocator().empty_cache();
  const MemoryInfo before = source.info();
  source.set_capacity(64 << 20);
  void* a = source.map(40 << 20);
  CHECK(a && !source.map(40 << 20) && source.info().free == (24u << 20));
  void* b = source.map(20 << 20);
  CHECK(b > a);
  source.unmap(a, 40 << 20);
  CHECK(source.map(30 << 20) == a);  // first fit
  CHECK_THROWS(Error, source.set_capacity(1 << 20));
  source.unmap(a, 30 << 20), source.unmap(b, 20 << 20);
  source.set_capacity(before.total);
  CHECK(source.info().free == before.free);
}

TEST(threads_use_a_device_at_once) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; ++n)
    threads.emplace_back([n, &wrong] {
      StreamScope on(sim(), sim().new_stream());
      for (int round = 0; round < 30; ++round) {
        Array a = on_sim(1 << (4 + n));
        set_all(a, static_cast<float>(n));
        add_one(a);
        if (round % 10 == 9 && !all_are(a, static_cast<float>(n + 1))) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  sim().stop();  // and starts again
  Array a = on_sim(3);
  set_all(a, 2);
  CHECK(all_are(a, 2));
}

TEST(modelled_time_adds_up) {
  SimSpec spec;
  spec.flops.fill(1e9), spec.bandwidth = 1e9, spec.copy_bandwidth = 1e8, spec.launch_ns = 500;
  Array a = on_sim(1000);
  sim().begin_timeline();
  sim_clock().start(spec);
  const int64_t begin = sim_clock().now();
  set_all(a, 1);  // 4000 bytes: 4 us
  auto first = sim().mark(0);
  CHECK(first->time == begin + 500 + 4000 && sim_clock().now() == begin + 500);
  set_all(a, 2);
  auto second = sim().mark(0);
  CHECK(second->time == first->time + 4000 && sim_clock().now() == begin + 1000);
  on_cpu(a);  // a copy of 40 us, which the host waits for
  CHECK(sim_clock().now() == second->time + 40000);
  CHECK_THROWS(Error, sim_clock().start(spec));
  sim_clock().stop();
  CHECK(!sim_clock().is_on());
}

}  // namespace
}  // namespace perflab
