// Events as lines of a Chrome trace, in the order of time: the inner loop of profiler/chrome_write.py.
//
// Texts come encoded as JSON already: names by id, `,"pid":71,"tid":72,"ts":` by track (for counters in a table of its
// own), the values of an argument by code. Times are ns and are written as microseconds with three decimals, so that a
// nanosecond is kept; a fourth stands where slices would touch (OpenSlices). Every line begins with the comma and the
// line end that part it from the one before.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace perflab {

class JsonTexts {  // encoded texts, by id
 public:
  static constexpr size_t kReadable = 32;  // bytes behind the begin of every text

  void add(std::string_view text);
  size_t size() const { return ends_.size() - 1; }
  std::string_view at(int64_t id) const;  // throws Error(kIndex) where there is none

 private:
  std::string bytes_ = std::string(kReadable, ' ');  // the texts, and what may be read behind the last
  std::vector<size_t> ends_{0};
};

struct TextCodes {  // ids into a table
  std::span<const int32_t> codes;
  const JsonTexts* table;
};

struct TextArg {
  std::string_view key;           // encoded, without the colon
  std::span<const int64_t> rows;  // that have it, ascending
  // a NaN or an infinity is written as null
  std::variant<TextCodes, std::span<const int64_t>, std::span<const double>, std::span<const bool>> values;
};

// The columns of a table have one length, times ascend.
struct TextSlices {
  std::span<const int64_t> start, duration;
  std::span<const int32_t> track, name, category;
  std::vector<TextArg> args;
};
struct TextInstants {
  std::span<const int64_t> time;
  std::span<const int32_t> track, name, category;
  std::vector<TextArg> args;
};
struct TextCounters {
  std::span<const int64_t> time;
  std::span<const int32_t> track, name;
  std::span<const double> value;
};
struct TextFlowEnds {  // behind their slices, whose rows ascend
  std::span<const int64_t> row, id;
  std::span<const int32_t> name;
  std::span<const bool> is_target;
};

struct TextLooseEnds {  // in the midst of a slice that began before; times ascend
  std::span<const int64_t> time, id;
  std::span<const int32_t> track, name;
  std::span<const bool> is_target;
};

// Readers add `ts` and `dur` as floating-point numbers. Of two slices of a track that end at once, or of which one
// begins where the other ends, the sum says at random which was first, and who nests by it (speedscope) goes astray.
// So the inner or the later one is written shorter by tenths of a ns: what is rounded to a ns is as it was.
struct Trim {
  int begin = 0, end = 0;  // tenths of a ns, five together at most
};

class OpenSlices {  // of each track, over all pages of a file
 public:
  // What the slice is to be written shorter by. Slices of a track come in the order of their begin, the outer first.
  Trim add(int32_t track, int64_t start, int64_t end);

 private:
  struct Open {
    int64_t start, end;
    Trim trim;
  };
  std::vector<std::vector<Open>> tracks_;
};

struct Lines {
  std::unique_ptr<char[]> bytes;
  size_t size = 0;
  std::string_view view() const { return {bytes.get(), size}; }
};

// Of events at one time slices come first, each with its flow ends behind it, then loose ends, instants, counters.
Lines chrome_text(const JsonTexts& strings, const JsonTexts& tracks, const JsonTexts& counter_tracks, OpenSlices& open,
                  const TextSlices& slices, const TextFlowEnds& flow_ends, const TextLooseEnds& loose_ends,
                  const TextInstants& instants, const TextCounters& counters);

}  // namespace perflab
