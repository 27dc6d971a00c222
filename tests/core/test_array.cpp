#include <thread>
#include <vector>

#include "array.h"
#include "check.h"
#include "shapes.h"

namespace perflab {
namespace {

Array filled(std::initializer_list<int64_t> shape, DType dtype = DType::kFloat32) {
  Array a;
  a.dtype = dtype;
  for (int64_t n : shape) a.shape[a.ndim++] = n;
  a.pack();
  a.fill_storage();
  return a;
}

TEST(a_storage_dies_with_its_last_array) {
  const int64_t before = live_storage_bytes();
  {
    Array a = filled({4, 8});
    CHECK(live_storage_bytes() == before + 128);
    CHECK(a.sole() && reinterpret_cast<uintptr_t>(a.data) % 64 == 0);
    Array b = a, view;
    view.alias(a);
    CHECK(a.storage->refs == 3 && !a.sole());
    a.drop();
    Array moved = std::move(b);
    CHECK(!b.storage && moved.storage->refs == 2);
    moved = std::move(view);
    CHECK(moved.sole());
    CHECK(live_storage_bytes() == before + 128);
  }
  CHECK(live_storage_bytes() == before);
}

[[gnu::noinline]] Array scalar(double value) {
  Array a;
  a.set_scalar(value);
  return a;
}

TEST(a_copied_scalar_points_at_its_own_cell) {
  Array a = scalar(2.5), b = a;
  std::vector<Array> moved;
  moved.push_back(std::move(b));
  a.set_scalar(1.0);
  CHECK(moved[0].data == moved[0].cell && scalar_as<double>(moved[0]) == 2.5);
  CHECK(scalar_as<int64_t>(moved[0]) == 2 && a.numel == 1 && a.ndim == 0);
}

TEST(layout_is_measured) {
  Array a = filled({2, 3, 4});
  CHECK(a.numel == 24 && a.strides[0] == 12 && a.strides[2] == 1 && a.bytes() == 96);
  std::swap(a.shape[0], a.shape[2]), std::swap(a.strides[0], a.strides[2]);
  a.measure();
  CHECK(a.numel == 24 && !a.contig);
  Array row = filled({1, 5});
  row.strides[0] = 77;  // of a single row, nothing follows from it
  row.measure();
  CHECK(row.contig);
  Array none = filled({0, 3});
  CHECK(none.numel == 0 && none.contig);
  CHECK(show(a) == "(4, 3, 2)" && show(filled({5})) == "(5,)");
}

int released = 0;

TEST(adopted_memory_goes_back_to_its_owner) {
  double items[3] = {};
  Storage* s = adopt_storage(items, sizeof items, &released, [](Storage* s) { ++*static_cast<int*>(s->owner); });
  CHECK(s->data == items);
  retain(s);
  release(s);
  CHECK(released == 0);
  release(s);
  CHECK(released == 1);
}

struct Counted {
  std::atomic<uint32_t> refs{1};
  static inline std::atomic<int> alive{0};
  Counted() { ++alive; }
  ~Counted() { --alive; }
};
void destroy(Counted* c) noexcept { delete c; }

TEST(a_count_holds_across_threads) {
  {
    Ref<Counted> owner(new Counted);
    std::vector<std::thread> pool;
    for (int t = 0; t < 4; ++t)
      pool.emplace_back([mine = owner] {
        for (int i = 0; i < 20'000; ++i) {
          Ref<Counted> copy = mine;
          Ref<Counted> other = Ref<Counted>::share(copy.get());
          copy = other;
        }
      });
    owner = Ref<Counted>();
    for (auto& t : pool) t.join();
    pool.clear();
    CHECK(!owner);
  }
  CHECK(Counted::alive == 0);
}

TEST(shapes_are_interned_by_value) {
  Array a = filled({2, 3}), b = filled({3, 4}), c = filled({2, 3}), d = filled({2, 3}, DType::kInt64), scalar;
  scalar.set_scalar(1.0f);
  auto id = [](std::vector<const Array*> in) { return intern_shapes(in.data(), static_cast<int>(in.size())); };
  const uint32_t ab = id({&a, &b});
  CHECK(id({}) == 0 && ab != 0);
  CHECK(id({&c, &b}) == ab);
  CHECK(id({&b, &a}) != ab && id({&a}) != ab && id({&d, &b}) != ab && id({&a, &b, &scalar}) != ab);
  CHECK(id({&scalar}) != id({&scalar, &scalar}));
  Array turned = filled({4, 2, 3}), other = filled({3, 2, 4});  // of one hash
  const uint32_t first = id({&turned});
  CHECK(id({&other}) != first && id({&turned}) == first);
  auto all = interned_shapes();
  CHECK(all[0].empty());
  CHECK(all[ab] == std::vector<Spec>{{DType::kFloat32, {2, 3}}, {DType::kFloat32, {3, 4}}});
  CHECK(all[id({&scalar})] == std::vector<Spec>{{DType::kFloat32, {}}});
}

TEST(threads_agree_on_interned_shapes) {
  std::vector<std::vector<uint32_t>> ids(4);
  std::vector<std::thread> pool;
  for (auto& mine : ids)
    pool.emplace_back([&mine] {
      Array a;
      a.ndim = 2;
      const Array* in[] = {&a};
      for (int64_t i = 0; i < 2'000; ++i) {
        a.shape[0] = i % 1'000, a.shape[1] = 7;
        mine.push_back(intern_shapes(in, 1));
      }
    });
  for (auto& t : pool) t.join();
  auto all = interned_shapes();
  for (auto& mine : ids) {
    CHECK(mine == ids[0]);
    for (size_t i = 0; i < mine.size(); ++i) CHECK(all[mine[i]][0].shape[0] == static_cast<int64_t>(i % 1'000));
  }
}

}  // namespace
}  // namespace perflab
