// The text of Chrome traces, for profiler/chrome_write.py and importers/chrome.py.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "chrome_parse.h"
#include "chrome_text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace perflab {
namespace {

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Text = std::string_view;
using Wide = Column<int64_t>;
using Narrow = Column<int32_t>;
using Values = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Arg = std::tuple<nb::bytes, Wide, Values, JsonTexts*>;
using Slices = std::tuple<Wide, Wide, Narrow, Narrow, Narrow>;
using FlowEnds = std::tuple<Wide, Wide, Narrow, Column<bool>>;
using LooseEnds = std::tuple<Wide, Wide, Narrow, Narrow, Column<bool>>;
using Instants = std::tuple<Wide, Narrow, Narrow, Narrow>;
using Counters = std::tuple<Wide, Narrow, Narrow, Column<double>>;

template <class T>
std::span<const T> span(const Column<T>& column) {
  return {column.data(), column.shape(0)};
}

template <class T>
std::span<const T> span(const Values& values) {
  return {static_cast<const T*>(values.data()), values.shape(0)};
}

template <class... Columns>
void check_lengths(const std::tuple<Columns...>& table) {
  std::apply(
      [](const auto& first, const auto&... others) {
        if (((others.shape(0) != first.shape(0)) || ...))
          throw nb::value_error("the columns of events differ in length");
      },
      table);
}

TextArg text_arg(const Arg& arg) {
  const auto& [key, rows, values, table] = arg;
  if (values.shape(0) != rows.shape(0)) throw nb::value_error("the rows and values of an argument differ in length");
  TextArg text{{key.c_str(), key.size()}, span(rows), {}};
  if (table && values.dtype() == nb::dtype<int32_t>())
    text.values = TextCodes{span<int32_t>(values), table};
  else if (!table && values.dtype() == nb::dtype<int64_t>())
    text.values = span<int64_t>(values);
  else if (!table && values.dtype() == nb::dtype<double>())
    text.values = span<double>(values);
  else if (!table && values.dtype() == nb::dtype<bool>())
    text.values = span<bool>(values);
  else
    throw nb::type_error("the values of an argument are int32 codes with a table, or int64, float64 or bool without");
  return text;
}

std::vector<TextArg> text_args(const std::vector<Arg>& args) {
  std::vector<TextArg> texts;
  for (const Arg& arg : args) texts.push_back(text_arg(arg));
  return texts;
}

nb::bytes text(const JsonTexts& strings, const JsonTexts& tracks, const JsonTexts& counter_tracks, OpenSlices& open,
               const Slices& slices, const std::vector<Arg>& slice_args, const FlowEnds& ends,
               const LooseEnds& loose_ends, const Instants& instants, const std::vector<Arg>& instant_args,
               const Counters& counters) {
  check_lengths(slices), check_lengths(ends), check_lengths(loose_ends), check_lengths(instants);
  check_lengths(counters);
  auto spans = [](const auto&... columns) { return std::tuple{span(columns)...}; };
  auto [start, duration, slice_track, slice_name, slice_category] = std::apply(spans, slices);
  auto [row, id, end_name, is_target] = std::apply(spans, ends);
  auto [loose_time, loose_id, loose_track, loose_name, loose_target] = std::apply(spans, loose_ends);
  auto [time, track, name, category] = std::apply(spans, instants);
  auto [counter_time, counter_track, counter_name, value] = std::apply(spans, counters);
  TextSlices text_slices{start, duration, slice_track, slice_name, slice_category, text_args(slice_args)};
  TextInstants text_instants{time, track, name, category, text_args(instant_args)};
  Lines lines;
  {
    nb::gil_scoped_release release;
    lines = chrome_text(strings, tracks, counter_tracks, open, text_slices, {row, id, end_name, is_target},
                        {loose_time, loose_id, loose_track, loose_name, loose_target}, text_instants,
                        {counter_time, counter_track, counter_name, value});
  }
  return nb::bytes(lines.bytes.get(), lines.size);
}

// A vector that becomes an array without a copy.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> array(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return {kept->data(), {kept->size()}, owner};
}

nb::list texts(const TextTable& table) {
  nb::list listed;
  for (size_t id = 0; id < table.size(); ++id) listed.append(nb::bytes(table.at(id).data(), table.at(id).size()));
  return listed;
}

// By key: events, values as words, kinds.
nb::dict args(ParsedArgs&& parsed) {
  nb::dict columns;
  for (size_t id = 0; id < parsed.columns.size(); ++id) {
    ParsedArg& arg = parsed.columns[id];
    std::vector<uint8_t> kinds(arg.kind.size());
    std::memcpy(kinds.data(), arg.kind.data(), kinds.size());
    Text key = parsed.keys.at(id);
    columns[nb::bytes(key.data(), key.size())] =
        nb::make_tuple(array(std::move(arg.event)), array(std::move(arg.value)), array(std::move(kinds)));
  }
  return columns;
}

void bind_parser(nb::module_& m) {
  nb::class_<ChromeParser>(m, "ChromeParser")
      .def(nb::init<>())
      .def("feed",
           [](ChromeParser& parser, nb::bytes piece) {
             Text text(piece.c_str(), piece.size());
             try {
               nb::gil_scoped_release release;
               parser.feed(text);
             } catch (const NotJson& e) {
               throw nb::value_error(e.what());
             }
           })
      .def_prop_ro("done", &ChromeParser::done)
      .def_ro("consumed", &ChromeParser::consumed)
      .def_ro("events", &ChromeParser::events)
      .def_ro("strangers", &ChromeParser::strangers)
      .def_ro("odd_commas", &ChromeParser::odd_commas)
      .def_ro("not_numbers", &ChromeParser::not_numbers)
      .def_ro("trailing", &ChromeParser::trailing)
      .def_ro("had_events", &ChromeParser::had_events)
      .def_prop_ro("waiting",
                   [](const ChromeParser& parser) { return parser.slices.start.size() + parser.instants.time.size(); })
      .def_prop_ro("rest",
                   [](const ChromeParser& parser) { return nb::bytes(parser.rest().data(), parser.rest().size()); })
      .def_prop_ro("metadata",
                   [](const ChromeParser& parser) { return nb::bytes(parser.metadata.data(), parser.metadata.size()); })
      .def_prop_ro("threads", [](const ChromeParser& parser) { return parser.threads.threads; })
      .def_prop_ro("flow_threads", [](const ChromeParser& parser) { return parser.flow_threads.threads; })
      .def_prop_ro("texts", [](const ChromeParser& parser) { return texts(parser.texts); })
      .def("take_others",
           [](ChromeParser& parser) {
             nb::bytes others(parser.others.data(), parser.others.size());
             parser.others.clear();
             return nb::make_tuple(others, std::exchange(parser.other_places, {}),
                                   std::exchange(parser.other_times, {}));
           })
      .def("take_slices",
           [](ChromeParser& parser) {
             ParsedSlices taken = std::exchange(parser.slices, {});
             return nb::make_tuple(array(std::move(taken.start)), array(std::move(taken.duration)),
                                   array(std::move(taken.thread)), array(std::move(taken.name)),
                                   array(std::move(taken.category)), array(std::move(taken.place)),
                                   args(std::move(taken.args)));
           })
      .def("take_instants",
           [](ChromeParser& parser) {
             ParsedInstants taken = std::exchange(parser.instants, {});
             return nb::make_tuple(array(std::move(taken.time)), array(std::move(taken.thread)),
                                   array(std::move(taken.name)), array(std::move(taken.category)),
                                   args(std::move(taken.args)));
           })
      .def("take_flows",
           [](ChromeParser& parser) {
             ParsedFlows taken = std::exchange(parser.flows, {});
             return nb::make_tuple(array(std::move(taken.time)), array(std::move(taken.place)),
                                   array(std::move(taken.id)), array(std::move(taken.thread)),
                                   array(std::move(taken.name)), array(std::move(taken.category)),
                                   array(std::move(taken.phase)), array(std::move(taken.at_next)));
           })
      .def("take_counters", [](ChromeParser& parser) {
        ParsedCounters taken = std::exchange(parser.counters, {});
        return nb::make_tuple(array(std::move(taken.time)), array(std::move(taken.thread)),
                              array(std::move(taken.name)), array(std::move(taken.series)),
                              array(std::move(taken.value)));
      });
}

}  // namespace

void bind_chrome(nb::module_& m) {
  nb::class_<JsonTexts>(m, "JsonTexts")
      .def(nb::init<>())
      .def("add", [](JsonTexts& texts, nb::bytes text) { texts.add({text.c_str(), text.size()}); })
      .def("__len__", &JsonTexts::size);
  nb::class_<OpenSlices>(m, "OpenSlices").def(nb::init<>());
  m.def("chrome_text", text, "strings"_a, "tracks"_a, "counter_tracks"_a, "open_slices"_a, "slices"_a, "slice_args"_a,
        "flow_ends"_a, "loose_ends"_a, "instants"_a, "instant_args"_a, "counters"_a);
  bind_parser(m);
}

}  // namespace perflab
