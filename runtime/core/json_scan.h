// Finds where the values of JSON end, in a text that may be cut anywhere. Nothing is kept of them.
#pragma once
#include <algorithm>
#include <bitset>
#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace perflab {

struct NotJson : std::runtime_error {
  NotJson() : runtime_error("not JSON") {}
};

using Text = std::string_view;

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

inline const char* skip_space(const char* p, const char* end) {
  while (p < end && is_space(*p)) ++p;
  return p;
}

// The functions below take the begin of a value and return its end, or null where the piece ends before it.

inline const char* skip_string(const char* p, const char* end) {
  for (++p; p < end; ++p) {
    if (*p == '"') return p + 1;
    if (*p == '\\' && ++p == end) return nullptr;
  }
  return nullptr;
}

inline const char* skip_number(const char* p, const char* end) {
  auto digits = [&] {
    if (p < end && !is_digit(*p)) throw NotJson();
    while (p < end && is_digit(*p)) ++p;
  };
  if (*p == '-') ++p;
  if (p < end && !is_digit(*p)) throw NotJson();
  if (p + 1 < end && *p == '0' && is_digit(p[1])) throw NotJson();
  digits();
  if (p < end && *p == '.') ++p, digits();
  if (p < end && (*p == 'e' || *p == 'E')) {
    if (++p < end && (*p == '+' || *p == '-')) ++p;
    digits();
  }
  return p < end ? p : nullptr;  // more digits may follow in the next piece
}

inline const char* skip_word(const char* p, const char* end, Text word) {
  if (static_cast<size_t>(end - p) < word.size()) return nullptr;
  if (Text(p, word.size()) != word) throw NotJson();
  return p + word.size();
}

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Words that stand for no number, as languages spell them that write JSON by printing numbers.
inline bool is_no_number(Text value) {
  if (!value.empty() && (value[0] == '-' || value[0] == '+')) value.remove_prefix(1);
  constexpr Text kWords[] = {"NaN", "nan", "Infinity", "inf", "Inf", "infinity"};
  return std::find(std::begin(kWords), std::end(kWords), value) != std::end(kWords);
}

inline const char* skip_no_number(const char* p, const char* end) {
  const char* first = p++;
  while (p < end && is_letter(*p)) ++p;
  if (p == end) return nullptr;
  if (!is_no_number({first, static_cast<size_t>(p - first)})) throw NotJson();
  return p;
}

// Lists and objects in each other: whoever parses these again uses a stack. Trees of calls, which some documents are,
// may be deeper than what an event holds.
constexpr size_t kDeepest = 200, kDeepestDocument = 1000;

template <size_t Deepest>
const char* skip_nested(const char* p, const char* end) {
  std::bitset<Deepest> is_list;  // by depth
  size_t depth = 0;
  while (p < end) {
    char c = *p;
    if (c == '"') {
      if (!(p = skip_string(p, end))) return nullptr;
      continue;
    }
    ++p;
    if (c == '[' || c == '{') {
      if (depth == Deepest) throw NotJson();
      is_list[depth++] = c == '[';
    }
    if (c == ']' || c == '}') {
      if (is_list[--depth] != (c == ']')) throw NotJson();
      if (depth == 0) return p;
    }
  }
  return nullptr;
}

template <size_t Deepest = kDeepest>
const char* skip_value(const char* p, const char* end) {
  switch (*p) {
    case '"':
      return skip_string(p, end);
    case '{':
    case '[':
      return skip_nested<Deepest>(p, end);
    case 't':
      return skip_word(p, end, "true");
    case 'f':
      return skip_word(p, end, "false");
    case 'n':
      if (p + 1 == end) return nullptr;
      return p[1] == 'u' ? skip_word(p, end, "null") : skip_no_number(p, end);
    case '-':
    case '+':
      if (p + 1 == end) return nullptr;
      return is_letter(p[1]) ? skip_no_number(p, end) : skip_number(p, end);
    default:
      return is_letter(*p) ? skip_no_number(p, end) : skip_number(p, end);
  }
}

// Calls take(key, value) for each member of the object that begins at p.
template <class F>
const char* members(const char* p, const char* end, F&& take) {
  p = skip_space(p + 1, end);
  while (p < end) {
    if (*p == '}') return p + 1;
    if (*p != '"') throw NotJson();
    const char* key = p;
    if (!(p = skip_string(p, end))) return nullptr;
    Text name(key, static_cast<size_t>(p - key));
    p = skip_space(p, end);
    if (p == end) return nullptr;
    if (*p != ':') throw NotJson();
    p = skip_space(p + 1, end);
    if (p == end) return nullptr;
    const char* value = p;
    if (!(p = skip_value(p, end))) return nullptr;
    take(name, Text(value, static_cast<size_t>(p - value)));
    p = skip_space(p, end);
    if (p == end) return nullptr;
    if (*p == '}') return p + 1;
    if (*p != ',') throw NotJson();
    p = skip_space(p + 1, end);
  }
  return nullptr;
}

}  // namespace perflab
