#include "examples/tasks/printed_numbers.hpp"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>

#include "examples/tasks/printed_tables.hpp"
#include "examples/tasks/printed_tests.hpp"

namespace incontext::examples::tasks {

namespace {

std::string in_words(const Count& count) {
  return std::to_string(count.successes) + " of " + std::to_string(count.runs);
}

double share(const Count& count) { return static_cast<double>(count.successes) / static_cast<double>(count.runs); }

/// arXiv 2310.12956: runs with a Eureka moment, each method beside the softmax of the same table.
Table counts_table() {
  struct Method {
    std::string table, method;
    Count count, softmax;
  };
  const Count main{7, 10}, no_position{0, 4}, schedules{4, 36};
  const std::vector<Method> methods{{"Table 1, main", "NormSoftmax", {10, 10}, main},
                                    {"Table 1, main", "temperature 1/3", {10, 10}, main},
                                    {"Table 1, main", "Heat Treatment", {10, 10}, main},
                                    {"Table 1, main", "gradient scaling", {10, 10}, main},
                                    {"Table 1, main", "warm-up 20", {8, 10}, main},
                                    {"Table 1, main", "weight decay 0.5", {5, 10}, main},
                                    {"Table 1, main", "temperature 13.3", {6, 10}, main},
                                    {"Table 1, main", "temperature 40", {3, 10}, main},
                                    {"Table 1, no position", "NormSoftmax", {3, 4}, no_position},
                                    {"Table 1, no position", "warm-up 20", {1, 4}, no_position},
                                    {"Table 2", "NormSoftmax", {36, 36}, schedules},
                                    {"Table 2", "Heat Treatment", {25, 36}, schedules},
                                    {"Table 2", "temperature 1/3", {20, 36}, schedules},
                                    {"Table 2", "warm-up 20", {14, 36}, schedules},
                                    {"Table 2", "gradient scaling", {5, 36}, schedules}};
  Table table{.title = "Printed counts of runs with a Eureka moment (2310.12956), by Fisher's exact test, two-sided",
              .columns = {{"table"},
                          {"method"},
                          {"count"},
                          {"softmax"},
                          {.name = "difference", .heading = "share, difference", .digits = 2},
                          {.name = "p_value", .heading = "p", .digits = 2}}};
  for (const Method& one : methods) {
    table.add_row({one.table, one.method, in_words(one.count), in_words(one.softmax),
                   share(one.count) - share(one.softmax), fisher_p(one.count, one.softmax)});
  }
  table.notes = {
      "The test takes the runs to be independent. The 36 of Table 2 are nine schedules with four seeds each."};
  return table;
}

/// arXiv 2508.14685: the probes of Table 2, each model less softmax.
Table probes_table(Claims& claims) {
  Table table{.title = "Printed scores of 17 probes (2508.14685, Table 2): a model less softmax, probe by probe",
              .columns = {{"metric"},
                          {"model"},
                          {.name = "difference", .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1},
                          {"better"},
                          {"ties"},
                          {.name = "p_value", .heading = "p, paired t", .digits = 2},
                          {.name = "wilcoxon_p_value", .heading = "p, Wilcoxon", .digits = 2}}};
  const std::vector<PrintedProbe> probes = printed_probes();
  const std::vector<double> overall = printed_overall();
  const auto column = [&](std::size_t k) {
    std::vector<double> values;
    for (const PrintedProbe& probe : probes) values.push_back(probe.scores[k]);
    return values;
  };
  const char* models[] = {"softmax", "SSA 1.1", "SSA 1.5", "SSA 2"};
  for (std::size_t k = 0; k < overall.size(); ++k) {
    const std::vector<double> values = column(k);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    const std::string metric = k < 4 ? "MLM" : "holistic";
    claims.at_most("the printed overall score is the mean of the probes, cut or rounded to two digits",
                   metric + ", " + models[k % 4], std::abs(mean - overall[k]), 0.011);
    if (k % 4 == 0) continue;
    const PairedTest test = paired_test(values, column(k - k % 4));
    table.add_row({metric, std::string(models[k % 4]), test.mean, test.standard_error, test.positive, test.ties,
                   test.t_p, test.wilcoxon_p});
  }
  table.notes = {"One run each, as far as the paper says: the scatter is that of probes, not of runs."};
  return table;
}

/// arXiv 2508.14685, Section 8: loss and perplexity of the language models.
Table losses_table() {
  Table table{.title = "Printed losses and perplexities of language models (2508.14685, Section 8)",
              .columns = {{"model"},
                          {.name = "loss", .digits = 3},
                          {.name = "perplexity", .digits = 4},
                          {.name = "exp_loss", .heading = "exp(loss)", .digits = 4},
                          {.name = "log_perplexity", .heading = "log(perplexity)", .digits = 4}}};
  struct Model {
    const char* name;
    double loss, perplexity;
  };
  for (const Model& one :
       {Model{"softmax", 3.27, 31.73}, {"SSA 1.5", 3.15, 27.71}, {"SSA, trained exponent", 3.19, 29.35}}) {
    table.add_row({std::string(one.name), one.loss, one.perplexity, std::exp(one.loss), std::log(one.perplexity)});
  }
  table.notes = {"A perplexity is the exponential of a loss; the paper does not say that these are of the same data."};
  return table;
}

/// arXiv 2508.14685: softmax in Table 1 and the same model in Table 4.
Table twice_table() {
  Table table{
      .title = "Printed twice (2508.14685): softmax, 12 layers and 8 heads, in Table 1 and in Table 4",
      .columns = {{.name = "function_stddev", .heading = "sigma"},
                  {.name = "table_1", .digits = 4},
                  {.name = "table_4", .digits = 4},
                  {.name = "ratio", .digits = 3},
                  {.name = "half_average_over_table_4", .heading = "SOFT/AVG over Table 4", .digits = 3},
                  {.name = "four_functions_over_table_4", .heading = "four functions over Table 4", .digits = 3}}};
  const std::vector<PrintedRow> rows = printed_rows();
  const auto errors = [&](const std::string& of, const std::string& model) {
    for (const PrintedRow& row : rows) {
      if (row.table == of && row.model == model) return row.errors;
    }
    return std::vector<double>();
  };
  const auto once = errors("1", "Softmax"), again = errors("4", "12L8AH"), half = errors("1", "SOFT/AVG"),
             four = errors("1", "4 Scoring fts");
  for (std::size_t k = 2; k < again.size(); ++k) {  // Table 4 prints 0.0 before
    table.add_row({static_cast<std::int64_t>(k + 1), once[k], again[k], again[k] / once[k], half[k] / again[k],
                   four[k] / again[k]});
  }
  table.notes = {"The captions name one architecture, and the tests are on the same functions; one run each, or two."};
  return table;
}

}  // namespace

std::vector<Table> printed_numbers(Claims& claims) {
  return {counts_table(), probes_table(claims), losses_table(), twice_table()};
}

}  // namespace incontext::examples::tasks
