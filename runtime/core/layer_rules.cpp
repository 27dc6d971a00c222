// The shape rules of what layers are made of: convolutions, pooling, normalisation, losses of classes.
#include <algorithm>

#include "rules.h"

namespace perflab {

namespace {

// --- windows of planes; the arrays are (N, channels, rows, columns)

struct Window {
  int64_t kernel, stride, padding, dilation;
};

// At how many places along an axis a window fits; `hang`: the last may go over the end, if it starts before it.
int64_t places(int64_t size, const Window& w, bool hang) {
  const int64_t span = size + 2 * w.padding - w.dilation * (w.kernel - 1) - 1;
  if (span < 0 && !hang) return 0;
  int64_t count = (span + (hang ? w.stride - 1 : 0)) / w.stride + 1;
  if (hang && (count - 1) * w.stride >= size + w.padding) --count;
  return count;
}

std::string pair(int64_t a, int64_t b) {
  const int64_t both[] = {a, b};
  return show(both, 2);
}

// The two numbers of an attribute.
const int64_t* two(const int64_t* words, const char* what, int64_t least) {
  if (words[0] != 2 || std::min(words[1], words[2]) < least)
    fail_shape(std::string(what) + " is two numbers of at least " + std::to_string(least) + ", not " +
               show(words + 1, static_cast<int>(words[0])));
  return words + 1;
}

// The sizes of a plane of windows.
void fit(const Array& a, const Window (&windows)[2], bool hang, int64_t* sizes) {
  for (int i = 0; i < 2; ++i) sizes[i] = places(a.shape[2 + i], windows[i], hang);
  if (std::min(sizes[0], sizes[1]) < 1) {
    const Window &r = windows[0], &c = windows[1];
    fail_shape("a kernel of " + pair(r.kernel, c.kernel) + ", dilated by " + pair(r.dilation, c.dilation) +
               ", does not fit into " + show(a.shape + 2, 2) + " padded by " + pair(r.padding, c.padding));
  }
}

void set_planes(Array& out, int64_t n, int64_t channels, const int64_t* sizes) {
  out.ndim = 4;
  out.shape[0] = n, out.shape[1] = channels, out.shape[2] = sizes[0], out.shape[3] = sizes[1];
  out.pack();
}

// Sets o to the shape of the convolution of a with the weight.
void convolve(const Array& a, const Array& weight, const Attrs& at, Array& o) {
  if (a.ndim != 4 || weight.ndim != 4)
    fail_shape(
        "the input is (N, channels, rows, columns) and the weight (out channels, channels / groups, rows, "
        "columns), not " +
        show(a) + " and " + show(weight));
  const int64_t *stride = two(at.v, "stride", 1), *padding = two(at.v + kTupleWords, "padding", 0),
                *dilation = two(at.v + 2 * kTupleWords, "dilation", 1), groups = at.v[3 * kTupleWords];
  if (groups < 1 || a.shape[1] % groups || weight.shape[0] % groups)
    fail_shape(std::to_string(groups) + " groups do not divide channels " + std::to_string(a.shape[1]) + " and " +
               std::to_string(weight.shape[0]));
  if (a.shape[1] != weight.shape[1] * groups)
    fail_shape("a weight of shape " + show(weight) + " in " + std::to_string(groups) + " groups takes " +
               std::to_string(weight.shape[1] * groups) + " channels, the input has " + std::to_string(a.shape[1]));
  const Window windows[] = {{weight.shape[2], stride[0], padding[0], dilation[0]},
                            {weight.shape[3], stride[1], padding[1], dilation[1]}};
  int64_t sizes[2];
  fit(a, windows, false, sizes);
  set_planes(o, a.shape[0], weight.shape[0], sizes);
}

void conv2d(In in, int, const Attrs& at, Array* out, int) { convolve(*in[0], *in[1], at, out[0]); }

// Refuses a g that is not as the convolution of a with the weight.
void check_convolved(const Array& g, const Array& a, const Array& weight, const Attrs& at) {
  Array wanted;
  convolve(a, weight, at, wanted);
  if (!same_shape(g, wanted)) fail_shape("the convolution has shape " + show(wanted) + ", not " + show(g));
}

void conv_transpose2d(In in, int, const Attrs& at, Array* out, int) {
  check_convolved(*in[0], *in[2], *in[1], at);
  out[0].take_shape(*in[2]);
}

void conv2d_weight_grad(In in, int, const Attrs& at, Array* out, int) {
  check_convolved(*in[0], *in[1], *in[2], at);
  out[0].take_shape(*in[2]);
}

// The attributes are kernel, stride and padding, and for the maximum dilation; then ceil_mode.
void pool(const Array& a, const Attrs& at, const int64_t* dilation, bool hang, Array& out) {
  if (a.ndim != 4) fail_shape("the input is (N, channels, rows, columns), not " + show(a));
  if (a.shape[2] * a.shape[3] == 0) fail_shape("the planes of " + show(a) + " have no elements to choose from");
  const int64_t *kernel = two(at.v, "kernel", 1), *stride = two(at.v + kTupleWords, "stride", 1),
                *padding = two(at.v + 2 * kTupleWords, "padding", 0);
  if (2 * padding[0] > kernel[0] || 2 * padding[1] > kernel[1])
    fail_shape("padding " + show(padding, 2) + " is more than half of the kernel " + show(kernel, 2));
  const Window windows[] = {{kernel[0], stride[0], padding[0], dilation[0]},
                            {kernel[1], stride[1], padding[1], dilation[1]}};
  int64_t sizes[2];
  fit(a, windows, hang, sizes);
  set_planes(out, a.shape[0], a.shape[1], sizes);
}

void max_pool2d(In in, int, const Attrs& at, Array* out, int) {
  pool(*in[0], at, two(at.v + 3 * kTupleWords, "dilation", 1), at.v[4 * kTupleWords], out[0]);
}

void avg_pool2d(In in, int, const Attrs& at, Array* out, int) {
  constexpr int64_t kOne[] = {1, 1};
  pool(*in[0], at, kOne, at.v[3 * kTupleWords], out[0]);
}

// --- normalisation: over the axes of a weight, the last ones, or in each channel, axis 1

void check_last(const Array& a, const Array& weight) {
  const int lead = a.ndim - weight.ndim;
  if (weight.ndim == 0 || lead < 0 || !std::equal(weight.shape, weight.shape + weight.ndim, a.shape + lead))
    fail_shape("a weight of shape " + show(weight) + " is not for the last axes of " + show(a));
}

void check_channels(const Array& a, const Array& weight) {
  if (a.ndim < 2 || weight.ndim != 1 || weight.shape[0] != a.shape[1])
    fail_shape("the channels are axis 1 of " + show(a) + ", so a weight cannot be " + show(weight));
}

template <void (*check)(const Array&, const Array&)>
void normalize(In in, int, const Attrs&, Array* out, int) {
  check(*in[0], *in[1]);
  if (!same_shape(*in[1], *in[2])) fail_shape("weight has shape " + show(*in[1]) + ", but bias has " + show(*in[2]));
  out[0].take_shape(*in[0]);
}

// Of g, a and the weight.
template <void (*check)(const Array&, const Array&)>
void normalize_input_grad(In in, int, const Attrs&, Array* out, int) {
  check(*in[1], *in[2]);
  if (!same_shape(*in[0], *in[1])) fail_shape("a gradient " + show(*in[0]) + " is not for " + show(*in[1]));
  out[0].take_shape(*in[1]);
}

template <void (*check)(const Array&, const Array&)>
void normalize_weight_grad(In in, int, const Attrs& at, Array* out, int) {
  normalize_input_grad<check>(in, 3, at, out, 1);
  out[0].take_shape(*in[2]);
}

// --- losses

// The target has the shape of a without the axis of classes.
void check_target(const Array& a, const Array& target, const Attrs& at) {
  const int axis = axis_of(a, at.v[0]);
  Array wanted;
  wanted.ndim = static_cast<uint8_t>(std::max(a.ndim - 1, 0));
  std::copy(a.shape + axis + 1, a.shape + std::max<int>(a.ndim, axis + 1), std::copy_n(a.shape, axis, wanted.shape));
  wanted.pack();
  if (a.ndim == 0 || !same_shape(target, wanted))
    fail_shape("input " + show(a) + " needs a target of shape " + show(wanted) + ", not " + show(target));
  if (kind(target.dtype) != DKind::kInt)
    throw Error(ErrorKind::kDType,
                "target holds " + std::string(name(target.dtype)) + ", but class indices are int64 or int32");
}

void softmax_nll(In in, int, const Attrs& at, Array* out, int) {
  check_target(*in[0], *in[1], at);
  out[0].take_shape(*in[1]);
}

void softmax_nll_grad(In in, int, const Attrs& at, Array* out, int) {
  check_target(*in[0], *in[2], at);
  out[0].take_shape(*in[0]);
}

constexpr ShapeRule kRules[] = {
    {"conv2d", "ttti", conv2d},
    {"conv_transpose2d", "ttti", conv_transpose2d},
    {"conv2d_weight_grad", "ttti", conv2d_weight_grad},
    {"max_pool2d", "ttttb", max_pool2d},
    {"avg_pool2d", "tttb", avg_pool2d},
    {"layer_norm", "", normalize<check_last>},
    {"layer_norm_input_grad", "", normalize_input_grad<check_last>},
    {"layer_norm_weight_grad", "", normalize_weight_grad<check_last>},
    {"batch_norm", "", normalize<check_channels>},
    {"batch_norm_input_grad", "", normalize_input_grad<check_channels>},
    {"batch_norm_weight_grad", "", normalize_weight_grad<check_channels>},
    {"softmax_nll", "i", softmax_nll},
    {"softmax_nll_grad", "i", softmax_nll_grad},
};

}  // namespace

std::span<const ShapeRule> layer_rules() { return kRules; }

}  // namespace perflab
