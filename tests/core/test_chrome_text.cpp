#include <cmath>
#include <limits>

#include "check.h"
#include "chrome_text.h"
#include "error.h"

namespace perflab {
namespace {

JsonTexts texts(std::initializer_list<const char*> all) {
  JsonTexts made;
  for (const char* text : all) made.add(text);
  return made;
}

const JsonTexts strings = texts({"\"add\"", "\"cpu_op\"", "\"flow\""});
const JsonTexts tracks = texts({",\"tid\":7,\"ts\":", ",\"tid\":8,\"ts\":"});
const JsonTexts counter_tracks = texts({",\"ts\":", ",\"tid\":8,\"ts\":"});

std::string moments(std::vector<int64_t> time, std::vector<TextArg> args = {}) {
  std::vector<int32_t> zeros(time.size(), 0);
  OpenSlices open;
  return std::string(
      chrome_text(strings, tracks, counter_tracks, open, {}, {}, {}, {time, zeros, zeros, zeros, std::move(args)}, {})
          .view());
}

std::string value(double number) {
  int64_t time = 0;
  int32_t zero = 0;
  OpenSlices open;
  Lines lines = chrome_text(strings, tracks, counter_tracks, open, {}, {}, {}, {},
                            {{&time, 1}, {&zero, 1}, {&zero, 1}, {&number, 1}});
  std::string text(lines.view());
  size_t begin = text.find("value\":") + 7;
  return text.substr(begin, text.size() - begin - 2);
}

TEST(events_stand_in_the_order_of_time) {
  std::vector<int64_t> start{1000, 2000}, duration{1500, 7}, moment{1000, 1999}, counted{500, 2000};
  std::vector<int32_t> track{0, 1}, name{0, 0}, category{1, 1};
  std::vector<double> counts{64, 0.5};
  std::vector<int64_t> row{0, 1}, id{9, 9};
  std::vector<int32_t> flow{2, 2};
  bool target[] = {false, true};
  OpenSlices open;
  Lines lines =
      chrome_text(strings, tracks, counter_tracks, open, {start, duration, track, name, category, {}},
                  {row, id, flow, target}, {}, {moment, track, name, category, {}}, {counted, track, name, counts});
  CHECK(lines.view() == R"(,
{"ph":"C","name":"add","ts":0.500,"args":{"value":64}},
{"ph":"X","cat":"cpu_op","name":"add","tid":7,"ts":1.000,"dur":1.500},
{"ph":"s","cat":"flow","name":"flow","id":9,"tid":7,"ts":1.000},
{"ph":"i","cat":"cpu_op","name":"add","tid":7,"ts":1.000},
{"ph":"i","cat":"cpu_op","name":"add","tid":8,"ts":1.999},
{"ph":"X","cat":"cpu_op","name":"add","tid":8,"ts":2.000,"dur":0.007},
{"ph":"f","bp":"e","cat":"flow","name":"flow","id":9,"tid":8,"ts":2.000},
{"ph":"C","name":"add","tid":8,"ts":2.000,"args":{"value":0.5}})");
  CHECK(chrome_text(strings, tracks, counter_tracks, open, {}, {}, {}, {}, {}).view().empty());
}

TEST(a_loose_end_stands_behind_the_slices_of_its_time) {
  std::vector<int64_t> start{1000, 2000}, duration{9000, 7}, time{2000, 30'000}, id{4, 5};
  std::vector<int32_t> track{0, 1}, zero{0, 0}, flow{2, 2};
  bool target[] = {true, true};
  OpenSlices open;
  Lines lines = chrome_text(strings, tracks, counter_tracks, open, {start, duration, track, zero, zero, {}}, {},
                            {time, id, zero, flow, target}, {}, {});
  CHECK(lines.view() == R"(,
{"ph":"X","cat":"add","name":"add","tid":7,"ts":1.000,"dur":9.000},
{"ph":"X","cat":"add","name":"add","tid":8,"ts":2.000,"dur":0.007},
{"ph":"f","bp":"e","cat":"flow","name":"flow","id":4,"tid":7,"ts":2.000},
{"ph":"f","bp":"e","cat":"flow","name":"flow","id":5,"tid":7,"ts":30.000})");
}

TEST(slices_that_touch_are_told_apart) {
  std::string written;
  OpenSlices open;
  auto put = [&](int32_t track, int64_t start, int64_t duration) {
    int32_t zero = 0;
    TextSlices slices{{&start, 1}, {&duration, 1}, {&track, 1}, {&zero, 1}, {&zero, 1}, {}};
    std::string text(chrome_text(strings, tracks, counter_tracks, open, slices, {}, {}, {}, {}).view());
    size_t begin = text.find("ts\":") + 4;
    written += text.substr(begin, text.size() - begin - 1) + " ";
  };
  put(0, 1000, 500);  // an op
  put(0, 1100, 400);  // its kernel, which ends with it
  put(0, 1500, 100);  // begins where they end
  put(0, 1500, 100);  // has the same times
  put(1, 1600, 9);    // on another track
  put(0, 1600, 0);
  put(0, 1700, 0);
  CHECK(written ==
        "1.000,\"dur\":0.500 1.100,\"dur\":0.3999 1.5001,\"dur\":0.0999 1.5001,\"dur\":0.0998 1.600,\"dur\":0.009 "
        "1.6001,\"dur\":0.000 1.700,\"dur\":0.000 ");
  written.clear();
  for (int64_t k = 0; k < 7; ++k) put(1, 2000 + k, 10 - k);
  CHECK(written ==
        "2.000,\"dur\":0.010 2.001,\"dur\":0.0089 2.002,\"dur\":0.0078 2.003,\"dur\":0.0067 2.004,\"dur\":0.0056 "
        "2.005,\"dur\":0.0046 2.006,\"dur\":0.0036 ");
}

TEST(times_are_microseconds_exact_to_the_nanosecond) {
  auto spelled = [](int64_t ns) {
    std::string text = moments({ns});
    size_t begin = text.find("ts\":") + 4;
    return text.substr(begin, text.size() - begin - 1);
  };
  CHECK(spelled(0) == "0.000");
  CHECK(spelled(1) == "0.001");
  CHECK(spelled(-1) == "-0.001");
  CHECK(spelled(-1'234'567) == "-1234.567");
  CHECK(spelled(1'764'475'000'000'000'020) == "1764475000000000.020");
  CHECK(spelled(std::numeric_limits<int64_t>::max()) == "9223372036854775.807");
  CHECK(spelled(std::numeric_limits<int64_t>::min()) == "-9223372036854775.808");
}

TEST(arguments_stand_with_the_rows_that_have_them) {
  JsonTexts table = texts({"[[2,3]]", "null"});
  std::vector<int64_t> all{0, 1, 2}, some{0, 2}, integers{-1, 0, std::numeric_limits<int64_t>::min()};
  std::vector<int32_t> codes{1, 0};
  std::vector<double> reals{2, 0.1};
  bool truths[] = {true, false};
  std::string text = moments({0, 0, 0}, {{"\"Dims\"", some, TextCodes{codes, &table}},
                                         {"\"n\"", all, std::span<const int64_t>(integers)},
                                         {"\"x\"", some, std::span<const double>(reals)},
                                         {"\"b\"", some, std::span<const bool>(truths)}});
  CHECK(text.find(R"("args":{"Dims":null,"n":-1,"x":2.0,"b":true}})") != std::string::npos);
  CHECK(text.find(R"("ts":0.000,"args":{"n":0}})") != std::string::npos);
  CHECK(text.find(R"("args":{"Dims":[[2,3]],"n":-9223372036854775808,"x":0.1,"b":false}})") != std::string::npos);
}

TEST(numbers_are_valid_json_and_exact) {
  CHECK(value(-0.0) == "-0.0");
  CHECK(value(-3) == "-3");
  CHECK(value(1e300) == "1e+300");
  CHECK(value(0.1) == "0.1");
  CHECK(value(NAN) == "null" && value(INFINITY) == "null" && value(-INFINITY) == "null");
}

TEST(long_texts_fit) {
  std::string long_text(100'000, 'x');
  JsonTexts table;
  table.add(long_text);
  std::vector<int64_t> rows{0, 1};
  std::vector<int32_t> codes{0, 0};
  CHECK(moments({0, 1}, {{"\"k\"", rows, TextCodes{codes, &table}}}).size() > 200'000);
}

TEST(ids_without_a_text_are_refused) {
  CHECK_THROWS(Error, strings.at(3));
  CHECK_THROWS(Error, strings.at(-1));
  CHECK(strings.size() == 3 && strings.at(1) == "\"cpu_op\"");
}

}  // namespace
}  // namespace perflab
