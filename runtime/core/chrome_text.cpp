#include "chrome_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "error.h"

namespace perflab {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

class Text {  // what is written; every put() fits it
 public:
  explicit Text(size_t expected)
      : size_(std::max(expected, kSlack)), bytes_(std::make_unique_for_overwrite<char[]>(size_)) {}

  template <size_t n>
  void put(const char (&literal)[n]) {
    static_assert(n - 1 <= kSlack);
    room(0);
    std::memcpy(at(), literal, n - 1);
    used_ += n - 1;
  }

  void put(std::string_view text) {
    room(text.size());
    std::memcpy(at(), text.data(), text.size());
    used_ += text.size();
  }

  // A copy of fixed size is a few instructions, and most texts are short.
  void put(const JsonTexts& texts, int64_t id) {
    std::string_view text = texts.at(id);
    if (text.size() > JsonTexts::kReadable) return put(text);
    room(0);
    std::memcpy(at(), text.data(), JsonTexts::kReadable);
    used_ += text.size();
  }

  void put(int64_t number) {
    room(0);
    advance(std::to_chars(at(), at() + kSlack, number).ptr);
  }

  void put_microseconds(int64_t ns, int tenths = 0) {  // tenths of a ns: of what is not negative
    room(0);
    uint64_t size = ns < 0 ? -static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
    if (ns < 0) *at() = '-', ++used_;
    auto rest = static_cast<unsigned>(size % 1000);
    char* end = std::to_chars(at(), at() + kSlack / 2, size / 1000).ptr;
    end[0] = '.';
    end[1] = static_cast<char>('0' + rest / 100);
    end[2] = static_cast<char>('0' + rest / 10 % 10);
    end[3] = static_cast<char>('0' + rest % 10);
    if (tenths) *(end++ + 4) = static_cast<char>('0' + tenths);
    advance(end + 4);
  }

  // The shortest text that is this number again. It stays a real one unless `plain`: 64.0, not 64.
  void put(double number, bool plain) {
    if (!std::isfinite(number)) return put("null");
    constexpr double exact = 9007199254740992;  // whole numbers below are spelled out
    if (number == std::floor(number) && std::fabs(number) < exact && (number != 0 || !std::signbit(number))) {
      put(static_cast<int64_t>(number));
      if (!plain) put(".0");
      return;
    }
    room(0);
    char* begin = at();
    advance(std::to_chars(begin, begin + kSlack, number).ptr);
    if (std::string_view(begin, at()).find_first_of(".e") == std::string_view::npos) put(".0");
  }

  Lines take() { return {std::move(bytes_), used_}; }

 private:
  static constexpr size_t kSlack = 64;  // always free: any number, the literals below, a short text

  char* at() { return bytes_.get() + used_; }
  void advance(const char* end) { used_ = static_cast<size_t>(end - bytes_.get()); }
  void room(size_t more) {
    if (size_ - used_ < more + kSlack) [[unlikely]]
      grow(more + kSlack);
  }
  void grow(size_t more) {
    size_t size = 2 * size_ + more;
    auto wider = std::make_unique_for_overwrite<char[]>(size);
    std::memcpy(wider.get(), bytes_.get(), used_);
    bytes_ = std::move(wider), size_ = size;
  }

  size_t size_;
  std::unique_ptr<char[]> bytes_;
  size_t used_ = 0;
};

class Args {  // of rows that are asked for in turn
 public:
  explicit Args(const std::vector<TextArg>& args) : args_(args), next_(args.size()) {}

  void put(Text& out, size_t row) {
    bool any = false;
    for (size_t i = 0; i < args_.size(); ++i) {
      const TextArg& arg = args_[i];
      size_t& next = next_[i];
      if (next == arg.rows.size() || arg.rows[next] != static_cast<int64_t>(row)) continue;
      if (any)
        out.put(",");
      else
        out.put(",\"args\":{");
      any = true;
      out.put(arg.key), out.put(":");
      put_value(out, arg, next++);
    }
    if (any) out.put("}");
    out.put("}");
  }

 private:
  static void put_value(Text& out, const TextArg& arg, size_t place) {
    switch (arg.values.index()) {
      case 0: {
        const auto& coded = std::get<0>(arg.values);
        return out.put(*coded.table, coded.codes[place]);
      }
      case 1:
        return out.put(std::get<1>(arg.values)[place]);
      case 2:
        return out.put(std::get<2>(arg.values)[place], false);
      default:
        return std::get<3>(arg.values)[place] ? out.put("true") : out.put("false");
    }
  }

  const std::vector<TextArg>& args_;
  std::vector<size_t> next_;
};

}  // namespace

void JsonTexts::add(std::string_view text) {
  bytes_.insert(ends_.back(), text);
  ends_.push_back(ends_.back() + text.size());
}

std::string_view JsonTexts::at(int64_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= size())
    throw Error(ErrorKind::kIndex, "text " + std::to_string(id) + " of " + std::to_string(size()) +
                                       ": an event refers to a name, track or value that its tables do not hold");
  auto place = static_cast<size_t>(id);
  return std::string_view(bytes_).substr(ends_[place], ends_[place + 1] - ends_[place]);
}

Trim OpenSlices::add(int32_t track, int64_t start, int64_t end) {
  if (static_cast<size_t>(track) >= tracks_.size()) tracks_.resize(static_cast<size_t>(track) + 1);
  auto& open = tracks_[static_cast<size_t>(track)];
  Trim trim;
  for (; !open.empty() && open.back().end <= start; open.pop_back())
    trim.begin = open.back().end == start && open.back().trim.end == 0 && start >= 0;
  if (!open.empty()) {
    const Open& outer = open.back();
    if (outer.start == start) trim.begin = outer.trim.begin;
    if (outer.end == end) trim.end = std::min(outer.trim.end + 1, 4);
  }
  if (end <= start) return {trim.begin, 0};
  open.push_back({start, end, trim});
  return trim;
}

Lines chrome_text(const JsonTexts& strings, const JsonTexts& tracks, const JsonTexts& counter_tracks, OpenSlices& open,
                  const TextSlices& slices, const TextFlowEnds& flow_ends, const TextLooseEnds& loose_ends,
                  const TextInstants& instants, const TextCounters& counters) {
  constexpr size_t line = 200;  // about; the text grows where it is not enough
  Text out(line * (slices.start.size() + flow_ends.row.size() + loose_ends.time.size() + instants.time.size() +
                   counters.time.size() + 1));
  Args slice_args(slices.args), instant_args(instants.args);
  size_t slice = 0, end = 0, loose = 0, instant = 0, counter = 0;
  auto put_flow_end = [&](const auto& ends, size_t i, int32_t track, int64_t time, int tenths) {
    if (ends.is_target[i])
      out.put(",\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":");
    else
      out.put(",\n{\"ph\":\"s\",\"cat\":");
    out.put(strings, ends.name[i]), out.put(",\"name\":"), out.put(strings, ends.name[i]);
    out.put(",\"id\":"), out.put(ends.id[i]);
    out.put(tracks, track), out.put_microseconds(time, tenths);
    out.put("}");
  };
  auto put_slice = [&] {
    out.put(",\n{\"ph\":\"X\",\"cat\":"), out.put(strings, slices.category[slice]);
    out.put(",\"name\":"), out.put(strings, slices.name[slice]);
    const int64_t start = slices.start[slice], duration = slices.duration[slice];
    out.put(tracks, slices.track[slice]);
    const Trim trim = open.add(slices.track[slice], start, start + duration);
    const int less = duration ? trim.begin + trim.end : 0;
    out.put_microseconds(start, trim.begin);
    out.put(",\"dur\":"), out.put_microseconds(less ? duration - 1 : duration, less ? 10 - less : 0);
    slice_args.put(out, slice);
    for (; end < flow_ends.row.size() && flow_ends.row[end] == static_cast<int64_t>(slice); ++end)
      put_flow_end(flow_ends, end, slices.track[slice], start, trim.begin);
    ++slice;
  };
  auto put_instant = [&] {
    out.put(",\n{\"ph\":\"i\",\"cat\":"), out.put(strings, instants.category[instant]);
    out.put(",\"name\":"), out.put(strings, instants.name[instant]);
    out.put(tracks, instants.track[instant]), out.put_microseconds(instants.time[instant]);
    instant_args.put(out, instant);
    ++instant;
  };
  auto put_counter = [&] {
    out.put(",\n{\"ph\":\"C\",\"name\":"), out.put(strings, counters.name[counter]);
    out.put(counter_tracks, counters.track[counter]), out.put_microseconds(counters.time[counter]);
    out.put(",\"args\":{\"value\":"), out.put(counters.value[counter], true), out.put("}}");
    ++counter;
  };
  auto next = [](std::span<const int64_t> times, size_t at) { return at < times.size() ? times[at] : kNever; };
  for (;;) {
    int64_t begin = next(slices.start, slice), tie = next(loose_ends.time, loose);
    int64_t moment = next(instants.time, instant), value = next(counters.time, counter);
    int64_t now = std::min({begin, tie, moment, value});
    if (begin == now && slice < slices.start.size()) {
      put_slice();
    } else if (tie == now && loose < loose_ends.time.size()) {
      put_flow_end(loose_ends, loose, loose_ends.track[loose], tie, 0);
      ++loose;
    } else if (moment == now && instant < instants.time.size()) {
      put_instant();
    } else if (counter < counters.time.size()) {
      put_counter();
    } else {
      break;
    }
  }
  return out.take();
}

}  // namespace perflab
