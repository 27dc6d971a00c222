// A test is TEST(name) { CHECK(...); }. A failed check is printed with its place; the test goes on, the program fails.
#pragma once
#include <cstdio>
#include <vector>

namespace perflab::test {

struct Test {
  const char* name;
  void (*body)();
};
std::vector<Test>& tests();
void fail(const char* file, int line, const char* what);  // from any thread

struct Registered {
  Registered(const char* name, void (*body)()) { tests().push_back({name, body}); }
};

}  // namespace perflab::test

#define TEST(name)                                                         \
  static void name();                                                      \
  static const ::perflab::test::Registered registered_##name{#name, name}; \
  static void name()

#define CHECK(...)                                                               \
  do {                                                                           \
    if (!(__VA_ARGS__)) ::perflab::test::fail(__FILE__, __LINE__, #__VA_ARGS__); \
  } while (false)

#define CHECK_THROWS(exception, ...)                                                            \
  do {                                                                                          \
    bool thrown = false;                                                                        \
    try {                                                                                       \
      __VA_ARGS__;                                                                              \
    } catch (const exception&) {                                                                \
      thrown = true;                                                                            \
    }                                                                                           \
    if (!thrown) ::perflab::test::fail(__FILE__, __LINE__, #__VA_ARGS__ " throws " #exception); \
  } while (false)
