#include <incontext/calibration/head_summary.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "examples/calibrate/tables.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::calibrate {

namespace {

using calibration::HeadCalibration;
using calibration::RowStatistic;

/// With more heads than this, the text report has the extremes alone.
constexpr std::size_t most_heads_in_text = 24;

std::string name_of(calibration::Phase phase) {
  switch (phase) {
    case calibration::Phase::even:
      return "even";
    case calibration::Phase::self_averaging:
      return "self-averaging";
    case calibration::Phase::frozen:
      break;
  }
  return "frozen";
}

std::string name_of(statistics::Verdict normal_rows) {
  return normal_rows == statistics::Verdict::agrees      ? "normal"
         : normal_rows == statistics::Verdict::disagrees ? "not normal"
                                                         : "not judged";
}

std::vector<Cell> row_of(const calibration::HeadSummary& head) {
  return {head.layer,
          head.head,
          head.shortest_row,
          head.longest_row,
          head.rows,
          head.score_stddev,
          head.skewness,
          head.excess_kurtosis,
          head.entropy,
          head.entropy_predicted,
          head.effective_keys,
          head.effective_keys_predicted,
          head.largest_weight,
          head.largest_weight_predicted,
          head.freezing_ratio,
          name_of(head.phase),
          number(100 * head.worst_deviation),
          number(head.p_value),
          name_of(head.normal_rows),
          head.looks_like_weights ? Cell("yes") : Cell()};
}

std::vector<Column> head_columns() {
  return {{"layer"},
          {"head"},
          {.name = "shortest_row", .in_text = InText::hidden},
          {.name = "longest_row", .heading = "rows to"},
          {.name = "rows"},
          {.name = "score_stddev", .heading = "x", .digits = 4},
          {.name = "skewness", .heading = "skew", .digits = 3},
          {.name = "excess_kurtosis", .heading = "kurtosis", .digits = 3},
          {.name = "entropy", .unit = "nats", .digits = 4, .decimals_as = 1},
          {.name = "entropy_predicted", .heading = "predicted", .unit = "nats", .digits = 4, .decimals_as = 1},
          {.name = "effective_keys", .heading = "keys", .digits = 4, .decimals_as = 2},
          {.name = "effective_keys_predicted", .heading = "predicted", .digits = 4, .decimals_as = 2},
          {.name = "largest_weight", .heading = "largest", .digits = 3, .decimals_as = 3},
          {.name = "largest_weight_predicted", .heading = "predicted", .digits = 3, .decimals_as = 3},
          {.name = "freezing_ratio", .heading = "x / x_c", .digits = 3},
          {.name = "phase"},
          {.name = "worst_deviation_percent", .heading = "off by %", .digits = 3},
          {.name = "p_value", .heading = "p", .digits = 2, .in_text = InText::hidden},
          {.name = "normal_rows", .heading = "rows are"},
          {.name = "looks_like_weights", .heading = "weights?", .in_text = InText::where_filled}};
}

/// The heads with the least and the greatest value of a quantity, for the text report of many heads.
template <class Value>
void add_extremes(std::vector<const HeadCalibration*>& chosen, const std::vector<HeadCalibration>& heads,
                  const Value& value) {
  const auto [least, most] = std::minmax_element(heads.begin(), heads.end(),
                                                 [&](const auto& a, const auto& b) { return value(a) < value(b); });
  chosen.push_back(&*least);
  chosen.push_back(&*most);
}

std::vector<const HeadCalibration*> shown_heads(const std::vector<HeadCalibration>& heads, bool all) {
  std::vector<const HeadCalibration*> chosen;
  if (all) {
    for (const HeadCalibration& head : heads) chosen.push_back(&head);
    return chosen;
  }
  add_extremes(chosen, heads, [](const HeadCalibration& head) { return head.freezing_ratio; });
  add_extremes(chosen, heads, [](const HeadCalibration& head) { return calibration::worst_deviation(head); });
  for (const auto which : {RowStatistic::entropy, RowStatistic::excess_kurtosis, RowStatistic::largest_weight}) {
    add_extremes(chosen, heads, [=](const HeadCalibration& head) { return head.rows.full.estimate(which).mean; });
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

Table counts_table(const std::vector<HeadCalibration>& heads, const std::string& title) {
  Table table{.name = "phases",
              .title = title,
              .columns = {{"phase"},
                          {.name = "heads"},
                          {.name = "normal"},
                          {.name = "not_normal"},
                          {.name = "not_judged"},
                          {.name = "median_score_stddev", .heading = "median x", .digits = 4},
                          {.name = "median_effective_keys", .heading = "median keys", .digits = 4}}};
  for (const calibration::PhaseCount& count : calibration::count_phases(heads)) {
    table.add_row({name_of(count.phase), count.heads, count.normal, count.not_normal, count.not_judged,
                   number(count.median_score_stddev), number(count.median_effective_keys)});
  }
  return table;
}

}  // namespace

std::vector<Table> summary_tables(const std::vector<HeadCalibration>& heads,
                                  const std::vector<calibration::HeadMeasurement>& measured, const MappedScores& scores,
                                  const CalibrateOptions& o) {
  const std::string title = scores.file() + ": " + scores.description() + (o.causal ? ", causal" : "");
  std::vector<Table> tables;
  if (heads.size() > 1) tables.push_back(counts_table(heads, title));
  const bool all = o.output.format != Format::table || heads.size() <= most_heads_in_text;
  Table table{.name = "heads",
              .title = heads.size() == 1 ? title
                       : all             ? "Heads"
                                         : "The heads with the least and the greatest values",
              .columns = head_columns(),
              .key_columns = 2};
  for (const HeadCalibration* head : shown_heads(heads, all)) table.add_row(row_of(calibration::summary_of(*head)));
  table.notes = {
      "x is the standard deviation of the scores in a row, x_c = sqrt(2 log n). Predicted: the law of rows of "
      "independent normal scores, from n and x alone.",
      "\"not normal\": skewness, kurtosis, entropy, keys or largest weight differ from that law by more than "
      "their errors allow (Holm over all heads, false alarms in one run of 1000); \"off by %\" is by how "
      "much, at most, the predicted weights differ from the measured ones."};
  std::int64_t masked = 0, single = 0, like_weights = 0;
  for (const calibration::HeadMeasurement& head : measured) {
    like_weights += head.looks_like_weights;
    masked += head.masked_rows;
    single += head.single_key_rows;
  }
  if (like_weights > 0) {
    table.notes.push_back(
        "Heads that look like weights after softmax: " + std::to_string(like_weights) +
        " (no score is negative, and all are at most 1 or rows sum to about 1). The scores before softmax are needed.");
  }
  if (masked > 0) table.notes.push_back("Rows left out because every key is masked: " + std::to_string(masked) + ".");
  if (single > 0) {
    table.notes.push_back("Rows left out because a single key is visible: " + std::to_string(single) + ".");
  }
  if (heads.size() > 1 && !o.head) table.notes.push_back("--head LAYER,HEAD shows one of them in detail.");
  tables.push_back(table);
  return tables;
}

}  // namespace incontext::examples::calibrate
