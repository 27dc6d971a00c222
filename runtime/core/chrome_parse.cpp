#include "chrome_parse.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace perflab {

namespace {

constexpr int64_t kFurthest = 4'000'000'000'000'000;  // us; beyond, a sum of two in ns does not fit 64 bits

// Microseconds as text to nanoseconds, rounded to the nearest. False: no plain decimal, or out of reach.
bool nanoseconds(Text text, int64_t& ns) {
  const char *p = text.data(), *end = p + text.size();
  bool negative = p < end && *p == '-';
  if (negative) ++p;
  if (p == end || !is_digit(*p)) return false;
  int64_t whole = 0;
  const char* first = p;
  for (; p < end && is_digit(*p); ++p) whole = whole * 10 + (*p - '0');
  if (p - first > 16 || whole >= kFurthest) return false;
  int64_t part = 0;
  bool up = false;
  if (p < end && *p == '.') {
    int places = 0;
    for (++p; p < end && is_digit(*p); ++p, ++places) {
      if (places < 3) part = part * 10 + (*p - '0');
      if (places == 3) up = *p >= '5';
    }
    for (; places < 3; ++places) part *= 10;
  }
  if (p != end) return false;
  ns = whole * 1000 + part + up;
  if (negative) ns = -ns;
  return true;
}

// A number that is written as Python writes an int.
bool whole(Text value, int64_t& number) {
  const char *p = value.data(), *end = p + value.size();
  const char* digits = p < end && *p == '-' ? p + 1 : p;
  if (digits == end || !is_digit(*digits) || (*digits == '0' && value.size() > 1)) return false;
  auto [last, error] = std::from_chars(p, end, number);
  return error == std::errc{} && last == end;
}

ParsedKind parse(Text value, int64_t& word) {
  const char *p = value.data(), *end = p + value.size();
  if (*p == 't' || *p == 'f') {
    word = *p == 't';
    return ParsedKind::kBool;
  }
  if ((*p != '-' && !is_digit(*p)) || is_no_number(value)) return ParsedKind::kText;
  if (value.find_first_of(".eE") != Text::npos) {
    double number;
    if (std::from_chars(p, end, number).ec != std::errc{}) return ParsedKind::kText;  // beyond what a double holds
    word = std::bit_cast<int64_t>(number);
    return ParsedKind::kFloat;
  }
  return std::from_chars(p, end, word).ec == std::errc{} ? ParsedKind::kInt : ParsedKind::kText;
}

uint64_t hash(Text text) {
  uint64_t h = text.size() * 0x9e3779b97f4a7c15;
  const char* p = text.data();
  size_t left = text.size();
  auto mix = [&h](uint64_t word) {
    h = (h ^ word) * 0xff51afd7ed558ccd;
    h ^= h >> 32;
  };
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    mix(word);
  }
  uint64_t word = 0;
  std::memcpy(&word, p, left);
  mix(word);
  return h;
}

}  // namespace

int32_t TextTable::id(Text text) {
  uint64_t h = hash(text);
  for (size_t at = h & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    int32_t found = slots_[at];
    if (found < 0) {
      found = slots_[at] = static_cast<int32_t>(texts_.size());
      kept_.emplace_back(text);
      texts_.push_back(kept_.back());
      hashes_.push_back(h);
      if (texts_.size() * 2 > slots_.size()) grow();
      return found;
    }
    if (hashes_[found] == h && texts_[found] == text) return found;
  }
}

void TextTable::grow() {
  slots_.assign(slots_.size() * 2, -1);
  for (size_t id = 0; id < texts_.size(); ++id) {
    size_t at = hashes_[id] & (slots_.size() - 1);
    while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<int32_t>(id);
  }
}

struct ChromeParser::Event {
  Text phase, time, duration, name, category, pid, tid, id, bind, args;
  bool has_bind_id = false;  // it is the end of a flow too
};

void ChromeParser::feed(Text piece) {
  rest_.append(piece);
  const char *p = rest_.data(), *end = p + rest_.size();
  try {
    while (const char* next = step(p, end)) consumed += next - p, p = next;
  } catch (const NotJson&) {
    rest_.clear();
    throw;
  }
  rest_.erase(0, static_cast<size_t>(p - rest_.data()));
}

// One element further; null where it is not whole yet.
const char* ChromeParser::step(const char* p, const char* end) {
  p = skip_space(p, end);
  if (p == end) return nullptr;
  switch (state_) {
    case State::kBegin:
      return begin(p, end);
    case State::kKey:
      return key(p, end);
    case State::kEvents:
      return event(p, end);
    default:
      trailing += end - p;
      return end;
  }
}

const char* ChromeParser::begin(const char* p, const char*) {
  if (*p != '{' && *p != '[') throw NotJson();
  in_object_ = *p == '{', had_events = !in_object_;
  state_ = in_object_ ? State::kKey : State::kEvents;
  return p + 1;
}

const char* ChromeParser::key(const char* p, const char* end) {
  if (*p == '}') {
    state_ = State::kDone;
    return p + 1;
  }
  if (!first_) {
    if (*p != ',') throw NotJson();
    p = skip_space(p + 1, end);
    if (p == end) return nullptr;
    if (*p == '}') return p;
  }
  if (*p != '"') throw NotJson();
  const char* name = p;
  if (!(p = skip_string(p, end))) return nullptr;
  Text text(name, static_cast<size_t>(p - name));
  p = skip_space(p, end);
  if (p == end) return nullptr;
  if (*p != ':') throw NotJson();
  p = skip_space(p + 1, end);
  if (p == end) return nullptr;
  if (text == "\"traceEvents\"" && *p == '[') {
    state_ = State::kEvents, had_events = first_ = true;
    return p + 1;
  }
  const char* value = p;
  if (!(p = skip_value<kDeepestDocument>(p, end))) return nullptr;
  if (!metadata.empty()) metadata += ',';
  metadata.append(text).append(":").append(value, static_cast<size_t>(p - value));
  first_ = false;
  return p;
}

const char* ChromeParser::event(const char* p, const char* end) {
  int commas = 0;
  while (*p == ',') {
    ++commas;
    p = skip_space(p + 1, end);
    if (p == end) return nullptr;
  }
  bool odd = commas != (first_ || *p == ']' ? 0 : 1);
  if (*p == ']') {
    state_ = in_object_ ? State::kKey : State::kDone;
    odd_commas += odd, first_ = false;
    return p + 1;
  }
  if (*p != '{') {  // no event; it has a place all the same
    const char* next = skip_value(p, end);
    if (next) ++events, ++strangers, odd_commas += odd, first_ = false;
    return next;
  }
  Event e;
  const char* next = members(p, end, [&e](Text key, Text value) {
    if (key == "\"ph\"")
      e.phase = value;
    else if (key == "\"ts\"")
      e.time = value;
    else if (key == "\"dur\"")
      e.duration = value;
    else if (key == "\"name\"")
      e.name = value;
    else if (key == "\"cat\"")
      e.category = value;
    else if (key == "\"pid\"")
      e.pid = value;
    else if (key == "\"tid\"")
      e.tid = value;
    else if (key == "\"id\"")
      e.id = value;
    else if (key == "\"bp\"")
      e.bind = value;
    else if (key == "\"args\"")
      e.args = value;
    else if (key == "\"bind_id\"")
      e.has_bind_id = true;
  });
  if (!next) return nullptr;
  ++events, odd_commas += odd, first_ = false;
  take(e, Text(p, static_cast<size_t>(next - p)));
  return next;
}

void ChromeParser::take(const Event& e, Text text) {
  args_.clear();
  bool has_args = !e.args.empty() && e.args != "null";
  bool plain = e.phase.size() == 3 && !e.has_bind_id && (!has_args || e.args[0] == '{');
  if (plain && has_args)
    members(e.args.data(), e.args.data() + e.args.size(),
            [this](Text key, Text value) { args_.emplace_back(key, value); });
  if (plain) {
    switch (e.phase[1]) {
      case 'X':
        plain = take_slice(e);
        break;
      case 'i':
      case 'I':
      case 'R':
        plain = take_instant(e);
        break;
      case 'C':
        plain = take_counter(e);
        break;
      case 's':
      case 't':
      case 'f':
        plain = take_flow(e);
        break;
      default:
        plain = false;
    }
  }
  if (plain) return;
  if (!others.empty()) others += ',';
  others += text;
  other_places.push_back(events);
  int64_t time;
  other_times.push_back(nanoseconds(e.time, time) ? time : kNoTime);
}

bool ChromeParser::take_slice(const Event& e) {
  int64_t start, duration = kNoTime;
  bool lasts = !e.duration.empty() && e.duration != "null";
  if (!nanoseconds(e.time, start) || (lasts && !nanoseconds(e.duration, duration))) return false;
  take_args(slices.args, static_cast<int64_t>(slices.start.size()));
  slices.start.push_back(start), slices.duration.push_back(duration), slices.place.push_back(events);
  slices.thread.push_back(thread(e, threads));
  slices.name.push_back(text_or_none(e.name)), slices.category.push_back(text_or_none(e.category));
  return true;
}

bool ChromeParser::take_instant(const Event& e) {
  int64_t time;
  if (!nanoseconds(e.time, time)) return false;
  take_args(instants.args, static_cast<int64_t>(instants.time.size()));
  instants.time.push_back(time), instants.thread.push_back(thread(e, threads));
  instants.name.push_back(text_or_none(e.name)), instants.category.push_back(text_or_none(e.category));
  return true;
}

bool ChromeParser::take_counter(const Event& e) {
  int64_t time;
  if (!e.id.empty() || args_.empty() || !nanoseconds(e.time, time)) return false;
  int64_t word = 0;
  for (const auto& arg : args_) {
    ParsedKind kind = parse(arg.second, word);
    if (kind != ParsedKind::kInt && kind != ParsedKind::kFloat) return false;
  }
  for (auto [key, value] : args_) {
    ParsedKind kind = parse(value, word);
    counters.time.push_back(time), counters.thread.push_back(thread(e, threads));
    counters.name.push_back(text_or_none(e.name)), counters.series.push_back(texts.id(key));
    counters.value.push_back(kind == ParsedKind::kInt ? static_cast<double>(word) : std::bit_cast<double>(word));
  }
  return true;
}

bool ChromeParser::take_flow(const Event& e) {
  int64_t time, id;
  if (!nanoseconds(e.time, time) || !whole(e.id, id)) return false;
  flows.time.push_back(time), flows.place.push_back(events), flows.id.push_back(id);
  flows.thread.push_back(thread(e, flow_threads));
  flows.name.push_back(text_or_none(e.name)), flows.category.push_back(text_or_none(e.category));
  flows.phase.push_back(static_cast<uint8_t>(e.phase[1]));
  flows.at_next.push_back(e.phase[1] == 'f' && e.bind != "\"e\"");
  return true;
}

void ChromeParser::take_args(ParsedArgs& args, int64_t event) {
  for (auto [key, value] : args_) {
    auto column = static_cast<size_t>(args.keys.id(key));
    if (column == args.columns.size()) args.columns.emplace_back();
    int64_t word = 0;
    ParsedKind kind = parse(value, word);
    if (kind == ParsedKind::kText) {
      bool is_number = !is_no_number(value);
      not_numbers += !is_number;
      word = texts.id(is_number ? value : "null");
    }
    ParsedArg& arg = args.columns[column];
    arg.event.push_back(event), arg.value.push_back(word), arg.kind.push_back(kind);
  }
}

int32_t ChromeParser::thread(const Event& e, ThreadTable& table) {
  std::pair key{text_or_none(e.pid), text_or_none(e.tid)};
  uint64_t both = static_cast<uint64_t>(static_cast<uint32_t>(key.first)) << 32 | static_cast<uint32_t>(key.second);
  auto [found, fresh] = table.numbers.try_emplace(both, static_cast<int32_t>(table.threads.size()));
  if (fresh) table.threads.push_back(key);
  return found->second;
}

}  // namespace perflab
