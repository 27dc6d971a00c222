// Recurrent layers over a whole sequence: at each step a product with the last state, then the cell's arithmetic.
#ifndef LEVEL

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "kernels/gemm.h"
#include "kernels/packed.h"

namespace perflab {

namespace {

// n states of `width` numbers at each of `length` steps, which go from the first to the last or back.
struct Sequence {
  int64_t length, n, width;
  bool reverse;

  Sequence(const Layout& states, bool reverse)
      : length(states.shape[0]), n(states.shape[1]), width(states.shape[2]), reverse(reverse) {}
  int64_t size() const { return n * width; }
  int64_t place(int64_t step) const { return reverse ? length - 1 - step : step; }
};

// The state before each step: the first one, then what came out.
template <class T>
const T* state_before(const Sequence& s, int64_t step, const T* first, const T* out) {
  return step ? out + s.place(step - 1) * s.size() : first;
}

// shares += state @ weight.T
template <class T>
void add_shares(const Sequence& s, int64_t gates, const T* state, const T* weight, T* shares) {
  const int64_t wide = gates * s.width;
  gemm<T>(s.n, wide, s.width, {state, s.width}, {weight, s.width, true}, true, shares, wide);
}

// g = shares' gradient @ weight, added or in its place
template <class T>
void state_gradient(const Sequence& s, int64_t gates, const T* shares, const T* weight, bool add, T* g) {
  const int64_t wide = gates * s.width;
  gemm<T>(s.n, s.width, wide, {shares, wide}, {weight, s.width}, add, g, s.width);
}

template <class T>
void copy_of(T* to, const T* from, int64_t n) {
  std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
}

}  // namespace

}  // namespace perflab

#define LEVEL_BODY "kernels/recurrent.cpp"
#include "kernels/foreach_level.h"

namespace perflab {

void add_recurrent_kernels(KernelTable& table) { LEVELS(add_kernels)(table); }

}  // namespace perflab

#else

#include "kernels/math.h"

namespace perflab::LEVEL {

namespace {

// --- LSTM; the gates i, f, g, o lie side by side

template <class T>
void lstm_cell(int64_t width, T* __restrict gates, const T* __restrict before, T* __restrict cell, T* __restrict out) {
  T *i = gates, *f = i + width, *g = f + width, *o = g + width;
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) {
    i[j] = sigmoid_of(i[j]), f[j] = sigmoid_of(f[j]), g[j] = tanh_of(g[j]), o[j] = sigmoid_of(o[j]);
    cell[j] = f[j] * before[j] + i[j] * g[j];
    out[j] = o[j] * tanh_of(cell[j]);
  }
}

// Inputs: the inputs' shares, the first output and cell, weight. Outputs: the outputs, cells and gates of all steps.
template <class T>
void lstm_scan(In in, int, const Attrs& at, Array* out, int) {
  const Packed x(*in[0]), h(*in[1]), c(*in[2]), weight(*in[3]);
  const Sequence s(out[0], at.v[0]);
  T *outs = out[0].as<T>(), *cells = out[1].as<T>(), *gates = out[2].as<T>();
  for (int64_t k = 0; k < s.length; ++k) {
    const int64_t t = s.place(k), here = t * s.size();
    const T* before = state_before(s, k, c.as<T>(), cells);
    T* gate = gates + 4 * here;
    copy_of(gate, x.as<T>() + 4 * here, 4 * s.size());
    add_shares(s, 4, state_before(s, k, h.as<T>(), outs), weight.as<T>(), gate);
    for (int64_t i = 0; i < s.size(); i += s.width) {
      lstm_cell(s.width, gate + 4 * i, before + i, cells + here + i, outs + here + i);
    }
  }
}

// gc: the gradient of the cell, which becomes that of the cell before.
template <class T>
void lstm_cell_grad(int64_t width, const T* __restrict g_out, const T* __restrict gates, const T* __restrict cell,
                    const T* __restrict before, T* __restrict gh, T* __restrict gc, T* __restrict gx) {
  const T *i = gates, *f = i + width, *g = f + width, *o = g + width;
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) {
    const T bent = tanh_of(cell[j]), by_out = g_out[j] + gh[j], by_cell = gc[j] + by_out * o[j] * (1 - bent * bent);
    gx[j] = by_cell * g[j] * i[j] * (1 - i[j]);
    gx[width + j] = by_cell * before[j] * f[j] * (1 - f[j]);
    gx[2 * width + j] = by_cell * i[j] * (1 - g[j] * g[j]);
    gx[3 * width + j] = by_out * bent * o[j] * (1 - o[j]);
    gc[j] = by_cell * f[j];
  }
}

// Inputs: the gradients of the outputs and of the last cell, gates, cells, the first cell, weight. Outputs: the
// gradients of the inputs' shares, the first output and the first cell.
template <class T>
void lstm_scan_grad(In in, int, const Attrs& at, Array* out, int) {
  const Packed g(*in[0]), last(*in[1]), gates(*in[2]), cells(*in[3]), c(*in[4]), weight(*in[5]);
  const Sequence s(*in[0], at.v[0]);
  T *gx = out[0].as<T>(), *gh = out[1].as<T>(), *gc = out[2].as<T>();
  std::memset(gh, 0, out[1].bytes());
  copy_of(gc, last.as<T>(), s.size());
  for (int64_t k = s.length - 1; k >= 0; --k) {
    const int64_t t = s.place(k), here = t * s.size();
    const T* before = state_before(s, k, c.as<T>(), cells.as<T>());
    for (int64_t i = 0; i < s.size(); i += s.width) {
      lstm_cell_grad(s.width, g.as<T>() + here + i, gates.as<T>() + 4 * (here + i), cells.as<T>() + here + i,
                     before + i, gh + i, gc + i, gx + 4 * (here + i));
    }
    state_gradient(s, 4, gx + 4 * here, weight.as<T>(), false, gh);
  }
}

// --- GRU; the gates r, z, n lie side by side, and behind them the state's share in n

template <class T>
void gru_cell(int64_t width, const T* __restrict x, const T* __restrict shares, const T* __restrict before,
              T* __restrict gates, T* __restrict out) {
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) {
    const T share = shares[2 * width + j], r = sigmoid_of(x[j] + shares[j]);
    const T z = sigmoid_of(x[width + j] + shares[width + j]), n = tanh_of(x[2 * width + j] + r * share);
    gates[j] = r, gates[width + j] = z, gates[2 * width + j] = n, gates[3 * width + j] = share;
    out[j] = n + z * (before[j] - n);
  }
}

// Inputs: the inputs' shares, the first state, weight, bias of the state's shares. Outputs: the states and gates.
template <class T>
void gru_scan(In in, int, const Attrs& at, Array* out, int) {
  const Packed x(*in[0]), h(*in[1]), weight(*in[2]), bias(*in[3]);
  const Sequence s(out[0], at.v[0]);
  T *outs = out[0].as<T>(), *gates = out[1].as<T>();
  const std::unique_ptr<T[]> shares(new T[static_cast<size_t>(3 * s.size())]);
  for (int64_t k = 0; k < s.length; ++k) {
    const int64_t here = s.place(k) * s.size();
    const T* before = state_before(s, k, h.as<T>(), outs);
    for (int64_t i = 0; i < s.n; ++i) copy_of(shares.get() + i * 3 * s.width, bias.as<T>(), 3 * s.width);
    add_shares(s, 3, before, weight.as<T>(), shares.get());
    for (int64_t i = 0; i < s.size(); i += s.width) {
      gru_cell(s.width, x.as<T>() + 3 * (here + i), shares.get() + 3 * i, before + i, gates + 4 * (here + i),
               outs + here + i);
    }
  }
}

template <class T>
void gru_cell_grad(int64_t width, const T* __restrict g_out, const T* __restrict gates, const T* __restrict before,
                   T* __restrict gh, T* __restrict gx, T* __restrict gs) {
  const T *r = gates, *z = r + width, *n = z + width, *share = n + width;
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) {
    const T by_out = g_out[j] + gh[j], by_new = by_out * (1 - z[j]) * (1 - n[j] * n[j]);
    const T by_reset = by_new * share[j] * r[j] * (1 - r[j]),
            by_update = by_out * (before[j] - n[j]) * z[j] * (1 - z[j]);
    gx[j] = gs[j] = by_reset;
    gx[width + j] = gs[width + j] = by_update;
    gx[2 * width + j] = by_new, gs[2 * width + j] = by_new * r[j];
    gh[j] = by_out * z[j];
  }
}

// Inputs: the gradient of the states, gates, states, the first state, weight. Outputs: the gradients of the inputs'
// shares, of the states' shares and of the first state.
template <class T>
void gru_scan_grad(In in, int, const Attrs& at, Array* out, int) {
  const Packed g(*in[0]), gates(*in[1]), states(*in[2]), h(*in[3]), weight(*in[4]);
  const Sequence s(*in[0], at.v[0]);
  T *gx = out[0].as<T>(), *gs = out[1].as<T>(), *gh = out[2].as<T>();
  std::memset(gh, 0, out[2].bytes());
  for (int64_t k = s.length - 1; k >= 0; --k) {
    const int64_t here = s.place(k) * s.size();
    const T* before = state_before(s, k, h.as<T>(), states.as<T>());
    for (int64_t i = 0; i < s.size(); i += s.width) {
      gru_cell_grad(s.width, g.as<T>() + here + i, gates.as<T>() + 4 * (here + i), before + i, gh + i,
                    gx + 3 * (here + i), gs + 3 * (here + i));
    }
    state_gradient(s, 3, gs + 3 * here, weight.as<T>(), true, gh);
  }
}

// --- a plain cell: tanh or relu

// Inputs: the inputs' shares, the first state, weight.
template <class T>
void rnn_scan(In in, int, const Attrs& at, Array* out, int) {
  const Packed x(*in[0]), h(*in[1]), weight(*in[2]);
  const Sequence s(out[0], at.v[0]);
  T* outs = out[0].as<T>();
  for (int64_t k = 0; k < s.length; ++k) {
    const int64_t here = s.place(k) * s.size();
    T* state = outs + here;
    copy_of(state, x.as<T>() + here, s.size());
    add_shares(s, 1, state_before(s, k, h.as<T>(), outs), weight.as<T>(), state);
    if (at.v[1]) {
      for (int64_t i = 0; i < s.size(); ++i) state[i] = state[i] < 0 ? T(0) : state[i];
    } else {
      for (int64_t i = 0; i < s.size(); ++i) state[i] = tanh_of(state[i]);
    }
  }
}

// Inputs: the gradient of the states, the states, weight. Outputs: the gradients of the inputs' shares and of the first
// state.
template <class T>
void rnn_scan_grad(In in, int, const Attrs& at, Array* out, int) {
  const Packed g(*in[0]), states(*in[1]), weight(*in[2]);
  const Sequence s(*in[0], at.v[0]);
  T* gh = out[1].as<T>();
  std::memset(gh, 0, out[1].bytes());
  for (int64_t k = s.length - 1; k >= 0; --k) {
    const int64_t here = s.place(k) * s.size();
    const T *by_out = g.as<T>() + here, *state = states.as<T>() + here;
    T* gx = out[0].as<T>() + here;
    if (at.v[1]) {
      for (int64_t i = 0; i < s.size(); ++i) gx[i] = state[i] > 0 ? by_out[i] + gh[i] : T(0);
    } else {
      for (int64_t i = 0; i < s.size(); ++i) gx[i] = (by_out[i] + gh[i]) * (1 - state[i] * state[i]);
    }
    state_gradient(s, 1, gx, weight.as<T>(), false, gh);
  }
}

template <class... Ts>
void add_for(KernelTable& table, Types<Ts...>) {
  (table.add("lstm_scan", DTypeOf<Ts>::value, lstm_scan<Ts>), ...);
  (table.add("lstm_scan_grad", DTypeOf<Ts>::value, lstm_scan_grad<Ts>), ...);
  (table.add("gru_scan", DTypeOf<Ts>::value, gru_scan<Ts>), ...);
  (table.add("gru_scan_grad", DTypeOf<Ts>::value, gru_scan_grad<Ts>), ...);
  (table.add("rnn_scan", DTypeOf<Ts>::value, rnn_scan<Ts>), ...);
  (table.add("rnn_scan_grad", DTypeOf<Ts>::value, rnn_scan_grad<Ts>), ...);
}

void add_kernels(KernelTable& table) { add_for(table, Floats{}); }

}  // namespace

}  // namespace perflab::LEVEL

#endif
