// The fuzzed bytes are a file of cases for incontext evaluate, with a kind that reads every sort of field. The report
// of the cases is fuzzed with them.

#include <cmath>
#include <cstdint>
#include <string>

#include "examples/evaluate/cases.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace incontext::examples;
using namespace incontext::examples::evaluate;
using incontext::fuzz::require;

/// Reads every field that is present, with the reader for its name.
Json read_all(const Fields& in) {
  Json computed = Json::object();
  if (in.has("number")) computed["number"] = in.number("number");
  if (in.has("positive")) computed["positive"] = in.positive("positive");
  if (in.has("non_negative")) computed["non_negative"] = in.non_negative("non_negative");
  if (in.has("count")) computed["count"] = in.count("count", 2);
  if (in.has("choice")) computed["choice"] = in.choice("choice", {"one", "two"});
  if (in.has("flag")) computed["flag"] = in.flag("flag");
  if (in.has("text")) computed["text"] = in.text("text");
  if (in.has("vector")) computed["vector"] = to_json(in.vector("vector"));
  if (in.has("pair")) computed["pair"] = to_json(in.vector("pair", 2));
  if (in.has("matrix")) computed["matrix"] = to_json(in.matrix("matrix"));
  if (in.has("scores")) computed["scores"] = to_json(in.scores("scores"));
  if (in.has("triangle")) computed["triangle"] = to_json(in.lower_triangle("triangle"));
  if (in.has("object")) computed["object"] = read_all(in.object("object"));
  return computed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Registry registry{{"all", read_all}};
  incontext::fuzz::read_or_refuse([&] {
    const auto cases = evaluate_cases("f.json", std::string(reinterpret_cast<const char*>(data), size), registry);
    for (const ReportedRows rows : {ReportedRows::not_agreeing, ReportedRows::all, ReportedRows::in_full}) {
      const Report report = report_cases(cases, rows);
      require(!render_text(report).empty() && !render_csv(report).empty(), "every case can be shown");
      require(Json::parse(render_json(report)).is_object(), "the report is JSON");
    }
  });
  return 0;
}
