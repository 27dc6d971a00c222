// One output element from one of each input. Included by bodies, once for each CPU level; no guard. F is a function
// object: the loops are instantiated with it and vectorised. That of a unary op may hold attributes.

namespace perflab::LEVEL {

namespace {

// In place, and with a donated buffer, the output is an input: each element is read before it is written, which is all
// that ivdep promises.
template <class F, class T, class O>
[[gnu::flatten, gnu::noinline]] void unary_row(F f, const T* a, O* o, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = f(a[i]);
}

template <class T, class O, class F>
void unary_strided(F f, const Array& a, Array& o) {
  const Layout* operands[] = {&o, &a};
  Walk w(operands, 2);
  if (w.empty()) return;
  each_row(w, w.n, [f](const Walk& w) {
    if (w.step[0] == sizeof(O) && w.step[1] == sizeof(T)) {
      unary_row(f, w.as<T>(1), w.as<O>(0), w.n);
    } else {
      for (int64_t i = 0; i < w.n; ++i) {
        *reinterpret_cast<O*>(w.p[0] + i * w.step[0]) = f(*reinterpret_cast<T*>(w.p[1] + i * w.step[1]));
      }
    }
  });
}

template <class T, class O = T, class F>
void apply(F f, const Array& a, Array& o) {
  if (o.numel == 1) {
    *o.as<O>() = f(*a.as<T>());
  } else if (a.contig && o.contig && a.numel == o.numel) {
    const T* from = a.as<T>();
    O* to = o.as<O>();
    share(o.numel, kShare, [=](int64_t i, int64_t end) { unary_row(f, from + i, to + i, end - i); });
  } else {
    unary_strided<T, O>(f, a, o);
  }
}

template <class F, class T, class O = T>
void unary(In in, int, const Attrs&, Array* out, int) {
  apply<T, O>(F{}, *in[0], out[0]);
}

template <class F, class T, class O>
[[gnu::flatten, gnu::noinline]] void binary_row(const T* a, const T* b, O* o, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = F{}(a[i], b[i]);
}

template <class F, class T, class O>
[[gnu::flatten, gnu::noinline]] void binary_row_right(const T* a, T b, O* o, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = F{}(a[i], b);
}

template <class F, class T, class O>
[[gnu::flatten, gnu::noinline]] void binary_row_left(T a, const T* b, O* o, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) o[i] = F{}(a, b[i]);
}

template <class F, class T, class O>
void binary_strided(const Array& a, const Array& b, Array& o) {
  const Layout* operands[] = {&o, &a, &b};
  Walk w(operands, 3);
  if (w.empty()) return;
  constexpr int64_t kStep = sizeof(T);
  const bool dense = w.step[0] == sizeof(O);
  each_row(w, w.n, [dense](const Walk& w) {
    if (dense && w.step[1] == kStep && w.step[2] == kStep) {
      binary_row<F>(w.as<T>(1), w.as<T>(2), w.as<O>(0), w.n);
    } else if (dense && w.step[1] == kStep && w.step[2] == 0) {
      binary_row_right<F>(w.as<T>(1), *w.as<T>(2), w.as<O>(0), w.n);
    } else if (dense && w.step[1] == 0 && w.step[2] == kStep) {
      binary_row_left<F>(*w.as<T>(1), w.as<T>(2), w.as<O>(0), w.n);
    } else {
      for (int64_t i = 0; i < w.n; ++i) {
        *reinterpret_cast<O*>(w.p[0] + i * w.step[0]) =
            F{}(*reinterpret_cast<T*>(w.p[1] + i * w.step[1]), *reinterpret_cast<T*>(w.p[2] + i * w.step[2]));
      }
    }
  });
}

template <class F, class T, class O = T>
void binary(In in, int, const Attrs&, Array* out, int) {
  const Array &a = *in[0], &b = *in[1];
  Array& o = out[0];
  const int64_t n = o.numel;
  if (n == 1) {
    *o.as<O>() = F{}(*a.as<T>(), *b.as<T>());
    return;
  }
  if (a.contig && b.contig && o.contig) {
    const T *x = a.as<T>(), *y = b.as<T>();
    O* to = o.as<O>();
    if (a.numel == n && b.numel == n)
      return share(n, kShare, [=](int64_t i, int64_t end) { binary_row<F>(x + i, y + i, to + i, end - i); });
    if (a.numel == n && b.numel == 1)
      return share(n, kShare, [=](int64_t i, int64_t end) { binary_row_right<F>(x + i, *y, to + i, end - i); });
    if (a.numel == 1 && b.numel == n)
      return share(n, kShare, [=](int64_t i, int64_t end) { binary_row_left<F>(*x, y + i, to + i, end - i); });
  }
  binary_strided<F, T, O>(a, b, o);
}

// Adds a kernel for each type; the output has the input's type, or O.
template <class F, class... Ts>
void add_unary(KernelTable& table, const char* op, Types<Ts...>, F) {
  (table.add(op, DTypeOf<Ts>::value, unary<F, Ts>), ...);
}
template <class F, class... Ts>
void add_binary(KernelTable& table, const char* op, Types<Ts...>, F) {
  (table.add(op, DTypeOf<Ts>::value, binary<F, Ts>), ...);
}
template <class F, class... Ts>
void add_comparison(KernelTable& table, const char* op, Types<Ts...>, F) {
  (table.add(op, DTypeOf<Ts>::value, binary<F, Ts, bool>), ...);
}

}  // namespace

}  // namespace perflab::LEVEL
