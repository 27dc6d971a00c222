// A row of numbers joined to one: by sum or by maximum. Included by bodies, once for each CPU level; no guard.

namespace perflab::LEVEL {

namespace {

template <class T>
using Vec [[gnu::vector_size(64)]] = T;

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

// Halves upon halves, which is also how the rounding errors of a sum stay small.
template <class R, class T>
inline T fold(const T* lanes, int n) {
  T half[sizeof(Vec<T>) / sizeof(T)];
  for (int i = 0; i < n; ++i) half[i] = lanes[i];
  for (int m = n / 2; m > 0; m /= 2) {
    for (int i = 0; i < m; ++i) R::join(half[i], half[i + m]);
  }
  return half[0];
}

// Joins up to a few thousand contiguous floating-point numbers.
template <class R, class T>
inline T join_block(const T* p, int64_t n) {
  constexpr int64_t kLanes = sizeof(Vec<T>) / sizeof(T);
  T total = R::template first<T>();
  int64_t i = 0;
  if (n >= kLanes) {
    Vec<T> sums[4], v[4];
    for (Vec<T>& s : sums) s = Vec<T>{} + R::template first<T>();
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      std::memcpy(v, p + i, sizeof v);
      for (int k = 0; k < 4; ++k) R::join(sums[k], v[k]);
    }
    for (; i + kLanes <= n; i += kLanes) {
      std::memcpy(v, p + i, sizeof v[0]);
      R::join(sums[0], v[0]);
    }
    R::join(sums[0], sums[1]);
    R::join(sums[2], sums[3]);
    R::join(sums[0], sums[2]);
    T lanes[kLanes];
    std::memcpy(lanes, sums, sizeof lanes);
    total = fold<R>(lanes, kLanes);
  }
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
    for (int64_t i = 0; i < n; ++i) R::join(total, static_cast<Total>(p[i]));
  } else {
    for (int64_t i = 0; i < n; ++i) R::join(total, static_cast<Total>(p[i * step]));
  }
  return total;
}

}  // namespace

}  // namespace perflab::LEVEL
