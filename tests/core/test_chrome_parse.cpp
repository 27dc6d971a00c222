#include "check.h"
#include "chrome_parse.h"

namespace perflab {
namespace {

constexpr std::string_view kDocument = R"( {"a" : [1, "]"], "traceEvents":[
  {"ph":"X","name":"n\"}","cat":"c","pid":1,"tid":2,"ts":1.5,"dur":2,"args":{"i":7,"f":0.5,"b":true,"t":[{"x":"}"}]}},
  {"ph":"B","name":"n","pid":1,"tid":2,"ts":3},
  {"ph":"i","name":"m","pid":1,"tid":3,"ts":4,"args":{}},
  {"ph":"C","name":"k","pid":1,"tid":2,"ts":5,"args":{"v":1,"w":2.5,"x":"no"}}
] , "z":null} )";

// The document fed in two pieces.
ChromeParser parsed(size_t cut) {
  ChromeParser parser;
  parser.feed(kDocument.substr(0, cut));
  parser.feed(kDocument.substr(cut));
  return parser;
}

TEST(a_document_becomes_columns) {
  ChromeParser p = parsed(0);
  CHECK(p.done() && p.events == 4);
  CHECK(p.slices.start == std::vector<int64_t>{1500} && p.slices.duration == std::vector<int64_t>{2000});
  CHECK(p.texts.at(p.slices.name[0]) == R"("n\"}")" && p.texts.at(p.slices.category[0]) == "\"c\"");
  CHECK(p.threads.size() == 2 && p.slices.place[0] == 1);
  CHECK(p.instants.time == std::vector<int64_t>{4000} && p.instants.category[0] == -1);
  CHECK(p.counters.value == std::vector<double>{1, 2.5});
  CHECK(p.others == R"({"ph":"B","name":"n","pid":1,"tid":2,"ts":3})");
  CHECK(p.other_places == std::vector<int64_t>{2});
  CHECK(p.metadata == R"("a":[1, "]"],"z":null)");
}

TEST(arguments_keep_their_kinds) {
  ChromeParser p = parsed(0);
  std::vector<ParsedKind> kinds;
  for (const ParsedArg& arg : p.slices.args.columns) kinds.push_back(arg.kind[0]);
  CHECK(kinds == std::vector{ParsedKind::kInt, ParsedKind::kFloat, ParsedKind::kBool, ParsedKind::kText});
  CHECK(p.slices.args.columns[0].value[0] == 7);
  CHECK(p.texts.at(static_cast<size_t>(p.slices.args.columns[3].value[0])) == R"([{"x":"}"}])");
}

TEST(a_cut_anywhere_changes_nothing) {
  for (size_t cut = 0; cut <= kDocument.size(); ++cut) {
    ChromeParser p = parsed(cut);
    CHECK(p.done() && p.events == 4 && p.slices.start.size() == 1 && p.counters.value.size() == 2);
    CHECK(p.metadata == R"("a":[1, "]"],"z":null)");
  }
}

TEST(a_document_cut_short_is_not_done) {
  for (size_t size = 0; size + 2 < kDocument.size(); ++size) {
    ChromeParser p;
    p.feed(kDocument.substr(0, size));
    CHECK(!p.done());
  }
}

TEST(what_is_no_plain_json_is_refused) {
  for (std::string_view text : {"[1]", "[{]", "{\"traceEvents\":1}", "[{}],", "[{\"a\":nul}]", "[{\"a\":1 2}]"})
    CHECK_THROWS(NotPlain, ChromeParser().feed(text));
}

TEST(equal_texts_have_one_id) {
  TextTable table;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 5000; ++i) CHECK(table.id("text " + std::to_string(i)) == i);
  CHECK(table.size() == 5000 && table.at(4321) == "text 4321");
}

}  // namespace
}  // namespace perflab
