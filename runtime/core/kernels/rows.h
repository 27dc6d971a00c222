// A row of numbers joined to one: by sum or by maximum. Included by bodies, once for each CPU level; no guard.

namespace perflab::LEVEL {

namespace {

template <class T, int kBytes = 64>
using Vec [[gnu::vector_size(kBytes)]] = T;

// `join` works on numbers and on vectors of them alike; `Total` is what many blocks of a row are gathered in.
struct Sum {
  template <class T>
  using Total = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  template <class T>
  static constexpr T first() {
    return T(0);
  }
  template <class V>
  static void join(V& a, const V& b) {
    if constexpr (std::is_integral_v<V>) {
      a = static_cast<V>(static_cast<std::make_unsigned_t<V>>(a) + static_cast<std::make_unsigned_t<V>>(b));
    } else {
      a += b;
    }
  }
};

struct Max {
  template <class T>
  using Total = T;
  template <class T>
  static constexpr T first() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  template <class V>
  static void join(V& a, const V& b) {  // not-a-number wins
    a = (b > a) | (b != b) ? b : a;
  }
};

// The numbers of a vector joined to one, halves upon halves; that is also how the rounding errors of a sum stay small.
template <class R, class T, int kBytes>
inline T fold(const Vec<T, kBytes>& v) {
  if constexpr (kBytes == 2 * sizeof(T)) {
    T total = v[0];
    R::join(total, v[1]);
    return total;
  } else {
    Vec<T, kBytes / 2> halves[2];
    std::memcpy(halves, &v, sizeof v);
    R::join(halves[0], halves[1]);
    return fold<R, T, kBytes / 2>(halves[0]);
  }
}

// Joins up to a few thousand contiguous floating-point numbers.
template <class R, class T>
inline T join_block(const T* p, int64_t n) {
  constexpr int64_t kLanes = sizeof(Vec<T>) / sizeof(T);
  if (n < kLanes) {
    T total = R::template first<T>();
    for (int64_t i = 0; i < n; ++i) R::join(total, p[i]);
    return total;
  }
  const Vec<T> none = Vec<T>{} + R::template first<T>();
  Vec<T> a = none, b = none, c = none, d = none;
  int64_t i = 0;
  auto meet = [&](Vec<T>& sum, int64_t at) {
    Vec<T> v;
    std::memcpy(&v, p + at, sizeof v);
    R::join(sum, v);
  };
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    meet(a, i), meet(b, i + kLanes), meet(c, i + 2 * kLanes), meet(d, i + 3 * kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) meet(a, i);
  R::join(a, b), R::join(c, d), R::join(a, c);
  T total = fold<R, T, sizeof(Vec<T>)>(a);
  for (; i < n; ++i) R::join(total, p[i]);
  return total;
}

// n numbers, `step` elements apart.
template <class R, class T>
inline auto join_row(const T* p, int64_t n, int64_t step) {
  using Total = typename R::template Total<T>;
  constexpr int64_t kBlock = 4096;
  Total total = R::template first<Total>();
  if (step == 1 && std::is_floating_point_v<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      for (int64_t at = 0; at < n; at += kBlock) {
        R::join(total, static_cast<Total>(join_block<R>(p + at, n - at < kBlock ? n - at : kBlock)));
      }
    }
  } else if (step == 1) {
    // Loops over bool do not vectorise: they are read as the bytes that they are.
    using Byte = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    const Byte* bytes = reinterpret_cast<const Byte*>(p);
    for (int64_t i = 0; i < n; ++i) R::join(total, static_cast<Total>(bytes[i]));
  } else {
    for (int64_t i = 0; i < n; ++i) R::join(total, static_cast<Total>(p[i * step]));
  }
  return total;
}

// The sum of f(i) for i below n, in many lanes; f is arithmetic that vectorises.
template <class T, class F>
inline T sum_of(int64_t n, const F& f) {
  constexpr int kLanes = 128 / sizeof(T);
  constexpr int64_t kBlock = 4096;
  double total = 0;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t end = n - at < kBlock ? n : at + kBlock;
    T lanes[kLanes] = {};
    int64_t i = at;
    for (; i + kLanes <= end; i += kLanes) {
      for (int j = 0; j < kLanes; ++j) lanes[j] += f(i + j);
    }
    for (int j = 0; i + j < end; ++j) lanes[j] += f(i + j);
    for (int k = kLanes / 2; k > 0; k /= 2) {
      for (int j = 0; j < k; ++j) lanes[j] += lanes[j + k];
    }
    total += lanes[0];
  }
  return static_cast<T>(total);
}

}  // namespace

}  // namespace perflab::LEVEL
