// Chrome trace JSON into columns: the inner loop of profiler/importers/chrome.py.
//
// Complete slices, instants, counters and ends of flows that are written plainly become columns; every other event is
// handed on as its text, in order: Python reads those. Texts (names, categories, thread ids, values of arguments that
// are no numbers) are kept once, as they are written, and stand in columns by id. What tracers are known to write
// although it is not JSON (NaN, raw control bytes, commas too many or too few) is put up with; of a file that is cut
// short or damaged, the events before that place have been taken.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "json_scan.h"

namespace perflab {

class TextTable {  // different texts, by id
 public:
  TextTable() : slots_(1024, -1) {}
  int32_t id(std::string_view text);
  size_t size() const { return texts_.size(); }
  std::string_view at(size_t id) const { return texts_[id]; }

 private:
  void grow();

  std::deque<std::string> kept_;
  std::vector<std::string_view> texts_;
  std::vector<uint64_t> hashes_;
  std::vector<int32_t> slots_;
};

constexpr int64_t kNoTime = INT64_MIN;  // a duration that an event does not have, a time that is no plain decimal

enum class ParsedKind : uint8_t { kInt, kFloat, kBool, kText };

struct ParsedArg {                    // one key over all events that have it
  std::vector<int64_t> event, value;  // value: the number, the bits of a double, or the id of a text
  std::vector<ParsedKind> kind;
};
struct ParsedArgs {
  TextTable keys;
  std::vector<ParsedArg> columns;
};
struct ParsedSlices {
  std::vector<int64_t> start, duration, place;  // ns, as written: negative or kNoTime; place: of the event in the file
  std::vector<int32_t> thread, name, category;
  ParsedArgs args;
};
struct ParsedInstants {
  std::vector<int64_t> time;
  std::vector<int32_t> thread, name, category;
  ParsedArgs args;
};
struct ParsedCounters {
  std::vector<int64_t> time;
  std::vector<int32_t> thread, name, series;
  std::vector<double> value;
};

struct ParsedFlows {  // ends of arrows
  std::vector<int64_t> time, place, id;
  std::vector<int32_t> thread, name, category;
  std::vector<uint8_t> phase, at_next;  // s, t or f; whether it belongs to the next slice, not to the one around it
};
struct ThreadTable {  // threads by the texts of pid and tid; -1: none
  std::vector<std::pair<int32_t, int32_t>> threads;
  std::unordered_map<uint64_t, int32_t> numbers;
};

class ChromeParser {
 public:
  // Takes the next piece of the file; throws NotJson, of what begins at `consumed`, after which nothing more can be
  // fed.
  void feed(std::string_view piece);
  bool done() const { return state_ == State::kDone; }  // the document is whole
  std::string_view rest() const { return rest_; }       // what came of an element that is not whole yet

  int64_t consumed = 0;     // bytes, up to the end of the last whole element
  int64_t events = 0;       // so far, of any kind
  int64_t strangers = 0;    // of them, what is no object
  int64_t odd_commas = 0;   // between events: too many or too few
  int64_t not_numbers = 0;  // values of arguments such as NaN, taken for null
  int64_t trailing = 0;     // bytes behind the document
  bool had_events = false;  // the list has begun
  TextTable texts;
  ThreadTable threads, flow_threads;
  ParsedSlices slices;
  ParsedInstants instants;
  ParsedCounters counters;
  ParsedFlows flows;
  std::string others;                 // events that are not in the columns, joined by commas
  std::vector<int64_t> other_places;  // their places in the file
  std::vector<int64_t> other_times;   // ns, or kNoTime
  std::string metadata;               // what else the object holds, as the inside of an object

 private:
  enum class State { kBegin, kKey, kEvents, kDone };
  struct Event;

  const char* step(const char* p, const char* end);
  const char* begin(const char* p, const char* end);
  const char* key(const char* p, const char* end);
  const char* event(const char* p, const char* end);
  void take(const Event&, std::string_view text);
  bool take_slice(const Event&);
  bool take_instant(const Event&);
  bool take_counter(const Event&);
  bool take_flow(const Event&);
  void take_args(ParsedArgs&, int64_t event);
  int32_t text_or_none(std::string_view text) { return text.empty() ? -1 : texts.id(text); }
  int32_t thread(const Event&, ThreadTable&);

  State state_ = State::kBegin;
  bool in_object_ = false, first_ = true;
  std::string rest_;  // of the last piece
  std::vector<std::pair<std::string_view, std::string_view>> args_;
};

}  // namespace perflab
