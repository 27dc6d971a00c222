#include "check.h"
#include "chrome_parse.h"

namespace perflab {
namespace {

constexpr std::string_view kDocument = R"( {"a" : [1, "]"], "traceEvents":[
  {"ph":"X","name":"n\"}","cat":"c","pid":1,"tid":2,"ts":1.5,"dur":2,"args":{"i":7,"f":0.5,"b":true,"t":[{"x":"}"}]}},
  {"ph":"B","name":"n","pid":1,"tid":2,"ts":3},
  {"ph":"i","name":"m","pid":1,"tid":3,"ts":4,"args":{}},
  {"ph":"C","name":"k","pid":1,"tid":2,"ts":5,"args":{"v":1,"w":2.5}}
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
  CHECK(p.threads.threads.size() == 2 && p.slices.place[0] == 1);
  CHECK(p.instants.time == std::vector<int64_t>{4000} && p.instants.category[0] == -1);
  CHECK(p.counters.value == std::vector<double>{1, 2.5});
  CHECK(p.others == R"({"ph":"B","name":"n","pid":1,"tid":2,"ts":3})");
  CHECK(p.other_places == std::vector<int64_t>{2} && p.other_times == std::vector<int64_t>{3000});
  CHECK(p.metadata == R"("a":[1, "]"],"z":null)");
}

TEST(ends_of_flows_become_columns_where_their_ids_are_numbers) {
  ChromeParser p;
  p.feed(R"([{"ph":"s","id":7,"cat":"c","name":"n","pid":1,"tid":2,"ts":1},
{"ph":"f","id":-7,"bp":"e","cat":"c","name":"n","pid":1,"tid":3,"ts":2.5},{"ph":"f","id":0,"ts":3},
{"ph":"t","id":"7","ts":4},{"ph":"t","id":7.0,"ts":5},{"ph":"t","ts":6}])");
  CHECK(p.flows.id == std::vector<int64_t>{7, -7, 0} && p.flows.time == std::vector<int64_t>{1000, 2500, 3000});
  CHECK(p.flows.phase == std::vector<uint8_t>{'s', 'f', 'f'} && p.flows.at_next == std::vector<uint8_t>{0, 0, 1});
  CHECK(p.flows.place == std::vector<int64_t>{1, 2, 3} && p.flows.thread == std::vector<int32_t>{0, 1, 2});
  CHECK(p.flow_threads.threads[2] == std::pair(-1, -1) && p.threads.threads.empty());
  CHECK(p.other_places == std::vector<int64_t>{4, 5, 6});
}

TEST(counters_with_other_than_plain_numbers_are_handed_on) {
  for (std::string_view value : {R"("7")", R"("no")", "true", "null", "[1]", "99999999999999999999"}) {
    std::string counter = R"({"ph":"C","name":"k","ts":5,"args":{"v":1,"w":)" + std::string(value) + "}}";
    ChromeParser p;
    p.feed("[" + counter + "]");
    CHECK(p.counters.value.empty() && p.others == counter && p.other_places == std::vector<int64_t>{1});
  }
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

TEST(what_is_no_json_is_refused_where_it_begins) {
  constexpr std::string_view kGood = R"([{"ph":"X","ts":1},)";
  for (std::string_view bad :
       {"{]", "tru?", "{\"a\":nul?}", "{\"a\":1 2}", "{\"a\":[1}}", "{'a':1}", "{\"a\":01}", "-"}) {
    ChromeParser p;
    CHECK_THROWS(NotJson, p.feed(std::string(kGood) + std::string(bad) + " ]"));
    CHECK(p.events == 1 && p.slices.start.size() == 1);
    CHECK(p.consumed == static_cast<int64_t>(kGood.size()) - 1);
  }
  CHECK_THROWS(NotJson, ChromeParser().feed("[" + std::string(300, '[')));
}

TEST(what_tracers_write_beside_json_is_put_up_with) {
  ChromeParser p;
  p.feed(
      "[{\"ph\":\"X\",\"ts\":1,\"dur\":-2,\"name\":\"a\tb\",\"args\":{\"v\":NaN,\"w\":-inf,}} "
      "7,,{\"ph\":\"X\",\"ts\":2},]!");
  CHECK(p.done() && p.events == 3 && p.strangers == 1 && p.odd_commas == 3 && p.not_numbers == 2 && p.trailing == 1);
  CHECK(p.slices.duration == (std::vector<int64_t>{-2000, kNoTime}));
  CHECK(p.slices.place == (std::vector<int64_t>{1, 3}));
  CHECK(p.texts.at(static_cast<size_t>(p.slices.args.columns[0].value[0])) == "null");
}

TEST(a_document_without_events_is_its_own_metadata) {
  ChromeParser p;
  p.feed(R"({"traceEvents":{},"b":1})");
  CHECK(p.done() && !p.had_events && p.metadata == R"("traceEvents":{},"b":1)");
}

TEST(equal_texts_have_one_id) {
  TextTable table;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 5000; ++i) CHECK(table.id("text " + std::to_string(i)) == i);
  CHECK(table.size() == 5000 && table.at(4321) == "text 4321");
}

}  // namespace
}  // namespace perflab
