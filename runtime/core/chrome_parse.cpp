#include "chrome_parse.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace perflab {

namespace {

using Text = std::string_view;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char* skip_space(const char* p, const char* end) {
  while (p < end && is_space(*p)) ++p;
  return p;
}

// The functions below take the begin of a value and return its end, or null where the piece ends before it.

const char* skip_string(const char* p, const char* end) {
  for (++p; p < end; ++p) {
    unsigned char c = static_cast<unsigned char>(*p);
    if (c == '"') return p + 1;
    if (c < 0x20) throw NotPlain();
    if (c == '\\' && ++p == end) return nullptr;
  }
  return nullptr;
}

const char* skip_number(const char* p, const char* end) {
  auto digits = [&] {
    if (p < end && !is_digit(*p)) throw NotPlain();
    while (p < end && is_digit(*p)) ++p;
  };
  if (*p == '-') ++p;
  if (p + 1 < end && *p == '0' && is_digit(p[1])) throw NotPlain();
  digits();
  if (p < end && *p == '.') ++p, digits();
  if (p < end && (*p == 'e' || *p == 'E')) {
    if (++p < end && (*p == '+' || *p == '-')) ++p;
    digits();
  }
  return p < end ? p : nullptr;  // more digits may follow in the next piece
}

const char* skip_word(const char* p, const char* end, Text word) {
  if (static_cast<size_t>(end - p) < word.size()) return nullptr;
  if (Text(p, word.size()) != word) throw NotPlain();
  return p + word.size();
}

// Brackets are counted, not matched: what an argument holds is parsed again before it is shown.
const char* skip_nested(const char* p, const char* end) {
  int64_t depth = 0;
  while (p < end) {
    char c = *p;
    if (c == '"') {
      if (!(p = skip_string(p, end))) return nullptr;
      continue;
    }
    ++p;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return p;
  }
  return nullptr;
}

const char* skip_value(const char* p, const char* end) {
  switch (*p) {
    case '"':
      return skip_string(p, end);
    case '{':
    case '[':
      return skip_nested(p, end);
    case 't':
      return skip_word(p, end, "true");
    case 'f':
      return skip_word(p, end, "false");
    case 'n':
      return skip_word(p, end, "null");
    default:
      if (*p != '-' && !is_digit(*p)) throw NotPlain();
      return skip_number(p, end);
  }
}

// Calls take(key, value) for each member of the object that begins at p.
template <class F>
const char* members(const char* p, const char* end, F&& take) {
  p = skip_space(p + 1, end);
  if (p < end && *p == '}') return p + 1;
  while (p < end) {
    if (*p != '"') throw NotPlain();
    const char* key = p;
    if (!(p = skip_string(p, end))) return nullptr;
    Text name(key, static_cast<size_t>(p - key));
    p = skip_space(p, end);
    if (p == end) return nullptr;
    if (*p != ':') throw NotPlain();
    p = skip_space(p + 1, end);
    if (p == end) return nullptr;
    const char* value = p;
    if (!(p = skip_value(p, end))) return nullptr;
    take(name, Text(value, static_cast<size_t>(p - value)));
    p = skip_space(p, end);
    if (p == end) return nullptr;
    if (*p == '}') return p + 1;
    if (*p != ',') throw NotPlain();
    p = skip_space(p + 1, end);
  }
  return nullptr;
}

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

ParsedKind parse(Text value, int64_t& word) {
  const char *p = value.data(), *end = p + value.size();
  if (*p == 't' || *p == 'f') {
    word = *p == 't';
    return ParsedKind::kBool;
  }
  if (*p != '-' && !is_digit(*p)) return ParsedKind::kText;
  if (value.find_first_of(".eE") != Text::npos) {
    double number;
    if (std::from_chars(p, end, number).ec != std::errc{}) throw NotPlain();
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
  Text phase, time, duration, name, category, pid, tid, id, args;
};

void ChromeParser::feed(Text piece) {
  rest_.append(piece);
  const char *p = rest_.data(), *end = p + rest_.size();
  while (const char* next = step(p, end)) p = next;
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
      throw NotPlain();  // something behind the document
  }
}

const char* ChromeParser::begin(const char* p, const char*) {
  if (*p != '{' && *p != '[') throw NotPlain();
  in_object_ = *p == '{';
  state_ = in_object_ ? State::kKey : State::kEvents;
  return p + 1;
}

const char* ChromeParser::key(const char* p, const char* end) {
  if (*p == '}') {
    if (!had_events_) throw NotPlain();
    state_ = State::kDone;
    return p + 1;
  }
  if (!first_) {
    if (*p != ',') throw NotPlain();
    p = skip_space(p + 1, end);
    if (p == end) return nullptr;
  }
  if (*p != '"') throw NotPlain();
  const char* name = p;
  if (!(p = skip_string(p, end))) return nullptr;
  Text text(name, static_cast<size_t>(p - name));
  p = skip_space(p, end);
  if (p == end) return nullptr;
  if (*p != ':') throw NotPlain();
  p = skip_space(p + 1, end);
  if (p == end) return nullptr;
  if (text == "\"traceEvents\"") {
    if (*p != '[' || had_events_) throw NotPlain();
    state_ = State::kEvents, had_events_ = first_ = true;
    return p + 1;
  }
  const char* value = p;
  if (!(p = skip_value(p, end))) return nullptr;
  if (!metadata.empty()) metadata += ',';
  metadata.append(text).append(":").append(value, static_cast<size_t>(p - value));
  first_ = false;
  return p;
}

const char* ChromeParser::event(const char* p, const char* end) {
  if (*p == ']') {
    state_ = in_object_ ? State::kKey : State::kDone;
    first_ = false;
    return p + 1;
  }
  if (!first_) {
    if (*p != ',') throw NotPlain();
    p = skip_space(p + 1, end);
    if (p == end) return nullptr;
  }
  if (*p != '{') throw NotPlain();
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
    else if (key == "\"args\"")
      e.args = value;
  });
  if (!next) return nullptr;
  ++events, first_ = false;
  take(e, Text(p, static_cast<size_t>(next - p)));
  return next;
}

void ChromeParser::take(const Event& e, Text text) {
  args_.clear();
  bool has_args = !e.args.empty() && e.args != "null";
  bool plain = e.phase.size() == 3 && (!has_args || e.args[0] == '{');
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
      default:
        plain = false;
    }
  }
  if (plain) return;
  if (!others.empty()) others += ',';
  others += text;
  other_places.push_back(events);
}

bool ChromeParser::take_slice(const Event& e) {
  int64_t start, duration = 0;
  bool lasts = !e.duration.empty() && e.duration != "null";
  if (!nanoseconds(e.time, start) || (lasts && !nanoseconds(e.duration, duration))) return false;
  duration = std::max<int64_t>(duration, 0);
  take_args(slices.args, static_cast<int64_t>(slices.start.size()));
  slices.start.push_back(start), slices.duration.push_back(duration), slices.place.push_back(events);
  slices.thread.push_back(thread(e));
  slices.name.push_back(text_or_none(e.name)), slices.category.push_back(text_or_none(e.category));
  return true;
}

bool ChromeParser::take_instant(const Event& e) {
  int64_t time;
  if (!nanoseconds(e.time, time)) return false;
  take_args(instants.args, static_cast<int64_t>(instants.time.size()));
  instants.time.push_back(time), instants.thread.push_back(thread(e));
  instants.name.push_back(text_or_none(e.name)), instants.category.push_back(text_or_none(e.category));
  return true;
}

bool ChromeParser::take_counter(const Event& e) {
  int64_t time;
  if (!e.id.empty() || e.args.empty() || !nanoseconds(e.time, time)) return false;
  for (auto [key, value] : args_) {
    int64_t word = 0;
    ParsedKind kind = parse(value, word);
    if (kind == ParsedKind::kText && (value[0] == '-' || is_digit(value[0]))) return false;  // beyond 64 bits
    if (kind != ParsedKind::kInt && kind != ParsedKind::kFloat) continue;
    counters.time.push_back(time), counters.thread.push_back(thread(e));
    counters.name.push_back(text_or_none(e.name)), counters.series.push_back(texts.id(key));
    counters.value.push_back(kind == ParsedKind::kInt ? static_cast<double>(word) : std::bit_cast<double>(word));
  }
  return true;
}

void ChromeParser::take_args(ParsedArgs& args, int64_t event) {
  for (auto [key, value] : args_) {
    auto column = static_cast<size_t>(args.keys.id(key));
    if (column == args.columns.size()) args.columns.emplace_back();
    int64_t word = 0;
    ParsedKind kind = parse(value, word);
    if (kind == ParsedKind::kText) word = texts.id(value);
    ParsedArg& arg = args.columns[column];
    arg.event.push_back(event), arg.value.push_back(word), arg.kind.push_back(kind);
  }
}

int32_t ChromeParser::thread(const Event& e) {
  std::pair key{text_or_none(e.pid), text_or_none(e.tid)};
  uint64_t both = static_cast<uint64_t>(static_cast<uint32_t>(key.first)) << 32 | static_cast<uint32_t>(key.second);
  auto [found, fresh] = thread_numbers_.try_emplace(both, static_cast<int32_t>(threads.size()));
  if (fresh) threads.push_back(key);
  return found->second;
}

}  // namespace perflab
