#include <incontext/training/quantifier_task.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "examples/support/text.hpp"
#include "examples/train/binomial_interval.hpp"
#include "examples/train/sequences.hpp"

namespace incontext::examples::train {

namespace {

using statistics::Estimate;

/// A map, or a map and the one that replaces it.
struct MapChoiceInTime {
  std::string name, map, last_map;
  double swapped_at = 0;  ///< share of the steps
};

std::vector<MapChoiceInTime> choices_of(const SequenceOptions& o) {
  std::vector<MapChoiceInTime> choices;
  for (const std::string& map : o.maps) choices.push_back({map, map, {}});
  if (o.full) {
    choices.push_back({"ssmax after training with softmax (e)", "softmax", "ssmax", 1});
    choices.push_back({"ssmax in the last fifth (f)", "softmax", "ssmax", 0.8});
  }
  return choices;
}

struct QuantifierPart {
  QuantifierChoice quantifier;
  NumbersChoice numbers;
  std::string words;
};

std::vector<QuantifierPart> quantifier_parts(const SequenceOptions& o) {
  std::vector<QuantifierPart> parts;
  for (const std::string& numbers : o.numbers) {
    const bool is_exception = numbers == "one-exception";
    for (const std::string& quantifier : o.quantifiers) {
      parts.push_back({quantifier == "every" ? QuantifierChoice::every : QuantifierChoice::some,
                       is_exception ? NumbersChoice::one_exception : NumbersChoice::independent,
                       quantifier + (is_exception ? ", one exception" : ", independent")});
    }
  }
  return parts;
}

std::vector<QuantifierTest> quantifier_tests(const SequenceOptions& o, NumbersChoice numbers) {
  std::vector<QuantifierTest> tests;
  for (const double sigma : {1.0, 10.0}) {
    for (const std::int64_t length : o.lengths) tests.push_back({length, sigma, numbers});
  }
  return tests;
}

Table accuracy_table(const SequenceOptions& o) {
  return {
      .title = "Quantifiers: right answers of " + described(o) + ", trained at length 40, inputs N(0, 1)",
      .columns = {{"trained"},
                  {"map"},
                  {.name = "length", .style = Style::shortest},
                  {.name = "input_stddev", .heading = "sigma", .style = Style::shortest},
                  {"runs"},
                  {.name = "right", .digits = 3},
                  {.name = "standard_error", .heading = "± error", .digits = 2},
                  {.name = "least", .digits = 3},
                  {.name = "largest", .digits = 3},
                  {.name = "all_right", .heading = "all from the 4th", .digits = 3},
                  {.name = "all_right_error", .in_text = InText::hidden},
                  {.name = "as_largest", .heading = "as the largest's sign", .digits = 3},
                  {.name = "as_largest_error", .in_text = InText::hidden}},
      .notes = {"Right: at the last token, the mean over runs, each with test sequences of its own, and its standard "
                "error; least and largest: of a run.",
                "One exception: half of the answers are yes at any length, so that 0.5 is a guess. Independent: the "
                "paper's law, where \"no\" to \"every\" is right but for 2^-n, and 15/16 of its sequences are "
                "all right from the 4th on."},
      .key_columns = 4};
}

/// The constant answer on the sequences of a test.
void add_constant(SequenceParts& parts, Table& table, const std::string& words, const QuantifierTest& test,
                  const std::vector<std::vector<QuantifierAnswers>>& runs) {
  const double exact = 1 - training::quantifier_task(test.length).constant_false_sequence_error;
  std::int64_t right = 0, sequences = 0;
  for (const auto& run : runs) {
    right += run.front().constant_right;
    sequences += run.front().sequences;
  }
  const Estimate seen = sequences == 0 ? Estimate() : share_of(right, sequences);
  table.add_row({words, test.length, test.input_stddev}, parts.judgment.judged(exact, seen));
}

/// The runs of one map, seed by seed, and of each the answers to all tests.
struct QuantifierRuns {
  MapChoiceInTime choice;
  std::vector<std::vector<QuantifierAnswers>> answers;
};

/// What all maps learned of one question.
struct TrainedPart {
  QuantifierPart part;
  std::vector<QuantifierTest> tests;
  std::vector<QuantifierRuns> maps;
};

TrainedPart train_part(SequenceParts& parts, const QuantifierPart& part) {
  const SequenceOptions& o = parts.options;
  TrainedPart trained{part, quantifier_tests(o, part.numbers), {}};
  for (const MapChoiceInTime& choice : choices_of(o)) {
    if (part.numbers == NumbersChoice::independent && !choice.last_map.empty()) continue;
    QuantifierRuns runs{choice, {}};
    for (std::int64_t seed = 0; seed < o.seeds && !parts.simulator.stopped(); ++seed) {
      SequenceRun run = run_of(o, choice.map, seed);
      run.numbers = part.numbers;
      run.last_map = choice.last_map;
      run.last_from = static_cast<std::int64_t>(choice.swapped_at * static_cast<double>(run.steps));
      std::vector<QuantifierAnswers> answers;
      const auto one = parts.simulator.quantifier(part.words + ", " + choice.name, run, part.quantifier, trained.tests,
                                                  o.tested, answers);
      if (one.reached) runs.answers.push_back(std::move(answers));
    }
    trained.maps.push_back(std::move(runs));
  }
  return trained;
}

/// What counts as a wrong sequence.
enum class Metric { last_answer, any_answer };

/// The share of sequences that are wrong less that of softmax with the same seed.
Estimate share_beyond(const QuantifierRuns& runs, const QuantifierRuns& softmax, std::size_t test, Metric metric) {
  const auto wrong = [&](const QuantifierRuns& some, std::size_t run) {
    const QuantifierAnswers& answers = some.answers[run][test];
    const std::int64_t right = metric == Metric::last_answer ? answers.right : answers.all_right;
    return 1 - static_cast<double>(right) / static_cast<double>(answers.sequences);
  };
  std::vector<double> differences;
  for (std::size_t run = 0; run < std::min(runs.answers.size(), softmax.answers.size()); ++run) {
    differences.push_back(wrong(runs, run) - wrong(softmax, run));
  }
  return estimate_of_runs(differences);
}

void add_contrasts(Table& table, const TrainedPart& trained, const QuantifierRuns& runs,
                   const QuantifierRuns& softmax) {
  for (std::size_t i = 0; i < trained.tests.size(); ++i) {
    const QuantifierTest& test = trained.tests[i];
    for (const Metric metric : {Metric::last_answer, Metric::any_answer}) {
      const auto comparison = Judgment::shown({}, share_beyond(runs, softmax, i, metric));
      const std::string words = metric == Metric::last_answer ? "last" : "any from the 4th";
      std::vector<Cell> cells{trained.part.words, runs.choice.name, words, test.length, test.input_stddev};
      table.add_row(std::move(cells), comparison);
    }
  }
}

Table contrast_table() {
  Table table{.title = "Share of wrong sequences, minus that of softmax with the same seed",
              .columns = {{"trained"},
                          {"map"},
                          {.name = "wrong_answer", .heading = "wrong answer"},
                          {.name = "length", .style = Style::shortest},
                          {.name = "input_stddev", .heading = "sigma", .style = Style::shortest}},
              .notes = {same_sequences_note,
                        "A sequence is wrong if its last answer is, or, as the paper counts, if any answer from the "
                        "4th on is."},
              .key_columns = 5};
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  return table;
}

Table constant_table() {
  Table table{.title = "The constant answer, right from the 4th token on, on the sequences of the tests",
              .columns = {{"tests"},
                          {.name = "length", .style = Style::shortest},
                          {.name = "input_stddev", .heading = "sigma", .style = Style::shortest}},
              .key_columns = 3};
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  return table;
}

void add_shares(SequenceParts& parts, Table& table, const TrainedPart& trained, const QuantifierRuns& runs) {
  for (std::size_t i = 0; i < trained.tests.size(); ++i) {
    const QuantifierTest& test = trained.tests[i];
    QuantifierAnswers sum;
    std::vector<double> shares, all_right, as_largest;
    for (const auto& run : runs.answers) {
      sum.sequences += run[i].sequences;
      sum.right += run[i].right;
      const auto count = static_cast<double>(run[i].sequences);
      shares.push_back(static_cast<double>(run[i].right) / count);
      all_right.push_back(static_cast<double>(run[i].all_right) / count);
      as_largest.push_back(static_cast<double>(run[i].as_largest) / count);
    }
    std::vector<Cell> cells{trained.part.words, runs.choice.name, test.length, test.input_stddev, std::ssize(shares)};
    if (shares.empty()) {
      cells.resize(table.columns.size());
      table.add_row(std::move(cells));
      continue;
    }
    const Estimate share = estimate_of_runs(shares), all = estimate_of_runs(all_right);
    const Estimate largest_sign = estimate_of_runs(as_largest);
    const auto [least, largest] = std::minmax_element(shares.begin(), shares.end());
    for (const Cell& cell :
         {Cell(share.mean), finite_cell(share.standard_error), Cell(*least), Cell(*largest), Cell(all.mean),
          finite_cell(all.standard_error), Cell(largest_sign.mean), finite_cell(largest_sign.standard_error)}) {
      cells.push_back(cell);
    }
    table.add_row(std::move(cells));
    if (trained.part.numbers == NumbersChoice::independent || i > 0) continue;
    const Estimate right = share_of(sum.right, sum.sequences);
    parts.controls.add({"nothing is learned: half of the answers", runs.choice.name + ", " + trained.part.words}, 0.5,
                       right.mean, right);
  }
}

}  // namespace

std::vector<Table> quantifier_tables(SequenceParts& parts) {
  Table constants = constant_table(), shares = accuracy_table(parts.options), contrasts = contrast_table();
  for (const QuantifierPart& part : quantifier_parts(parts.options)) {
    const TrainedPart trained = train_part(parts, part);
    const bool is_independent = part.numbers == NumbersChoice::independent;
    if (is_independent) add_constant(parts, constants, part.words, trained.tests.front(), trained.maps.front().answers);
    const auto softmax = std::find_if(trained.maps.begin(), trained.maps.end(),
                                      [](const QuantifierRuns& runs) { return runs.choice.name == "softmax"; });
    for (const QuantifierRuns& runs : trained.maps) {
      add_shares(parts, shares, trained, runs);
      if (softmax == trained.maps.end() || runs.choice.name == "softmax") continue;
      add_contrasts(contrasts, trained, runs, *softmax);
    }
  }
  constants.audit = contrasts.audit = true;
  std::vector<Table> tables;
  for (Table* one : {&constants, &shares, &contrasts}) {
    if (!one->rows.empty()) tables.push_back(std::move(*one));
  }
  return tables;
}

}  // namespace incontext::examples::train
