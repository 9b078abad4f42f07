#include <incontext/training/quantifier_task.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "examples/support/binomial_interval.hpp"
#include "examples/support/text.hpp"
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

const std::vector<QuantifierPart>& quantifier_parts() {
  static const std::vector<QuantifierPart> all{
      {QuantifierChoice::every, NumbersChoice::one_exception, "every, one exception"},
      {QuantifierChoice::some, NumbersChoice::one_exception, "some, one exception"},
      {QuantifierChoice::every, NumbersChoice::independent, "every, independent"},
      {QuantifierChoice::some, NumbersChoice::independent, "some, independent"}};
  return all;
}

std::vector<QuantifierTest> quantifier_tests(const SequenceOptions& o, NumbersChoice numbers) {
  std::vector<QuantifierTest> tests;
  for (const double sigma : {1.0, 10.0}) {
    for (const std::int64_t length :
         o.full ? std::vector<std::int64_t>{10, 40, 100, 200} : std::vector<std::int64_t>{10, 40, 200}) {
      tests.push_back({length, sigma, numbers});
    }
  }
  return tests;
}

Table accuracy_table(const SequenceOptions& o) {
  return {
      .title = "Quantifiers: right answers of " + described(o) + " at length 40, inputs N(0, 1)",
      .columns = {{"trained"},
                  {"map"},
                  {.name = "length", .style = Style::shortest},
                  {.name = "input_stddev", .heading = "sigma", .style = Style::shortest},
                  {"runs"},
                  {.name = "right", .digits = 3},
                  {.name = "lower", .heading = "from", .digits = 3},
                  {.name = "upper", .heading = "to", .digits = 3},
                  {.name = "least", .digits = 3},
                  {.name = "largest", .digits = 3},
                  {.name = "all_right", .heading = "all from the 4th", .digits = 3},
                  {.name = "as_largest", .heading = "as the largest's sign", .digits = 3}},
      .notes = {"Right: at the last token; the interval is Clopper and Pearson's, 95%, of one run's sequences, which "
                "all runs share; least and largest: of a run.",
                "One exception: half of the answers are yes at any length, so that 0.5 is a guess. Independent: the "
                "paper's law, where \"no\" to \"every\" is right but for 2^-n, and 15/16 of its sequences are "
                "all right from the 4th on."},
      .key_columns = 4};
}

/// An estimate of a probability from counts.
Estimate share_of(std::int64_t yes, std::int64_t count) {
  Estimate share;
  share.count = count;
  const auto n = static_cast<double>(count);
  share.mean = static_cast<double>(yes) / n;
  share.standard_error = std::sqrt(std::max(share.mean * (1 - share.mean), 1 / n) / n);
  return share;
}

/// The constant answer on the sequences of a test.
void add_constant(SequenceParts& parts, Table& table, const std::string& words, const QuantifierTest& test,
                  const QuantifierAnswers* answers) {
  const double exact = 1 - training::quantifier_task(test.length).constant_false_sequence_error;
  const Estimate seen = answers == nullptr ? Estimate() : share_of(answers->constant_right, answers->sequences);
  std::vector<Cell> cells{words, test.length, test.input_stddev};
  const auto comparison = parts.judgment.judged(exact, seen);
  cells.insert(cells.end(), comparison.begin(), comparison.end());
  table.add_row(std::move(cells));
}

}  // namespace

std::vector<Table> quantifier_tables(SequenceParts& parts) {
  const SequenceOptions& o = parts.options;
  Table table = accuracy_table(o);
  Table constants{.title = "The constant answer, right from the 4th token on, on the sequences of the tests",
                  .columns = {{"tests"},
                              {.name = "length", .style = Style::shortest},
                              {.name = "input_stddev", .heading = "sigma", .style = Style::shortest}},
                  .key_columns = 3};
  for (Column& column : comparison_columns()) constants.columns.push_back(std::move(column));
  for (const QuantifierPart& part : quantifier_parts()) {
    if (!o.full && part.quantifier == QuantifierChoice::some) continue;
    const auto tests = quantifier_tests(o, part.numbers);
    for (const MapChoiceInTime& choice : choices_of(o)) {
      if (part.numbers == NumbersChoice::independent && !choice.last_map.empty()) continue;
      std::vector<std::vector<QuantifierAnswers>> runs;
      for (std::int64_t seed = 0; seed < o.seeds && !parts.simulator.stopped(); ++seed) {
        SequenceRun run = run_of(o, choice.map, seed);
        run.numbers = part.numbers;
        run.last_map = choice.last_map;
        run.last_from = static_cast<std::int64_t>(choice.swapped_at * static_cast<double>(run.steps));
        std::vector<QuantifierAnswers> answers;
        const auto trained =
            parts.simulator.quantifier(part.words + ", " + choice.name, run, part.quantifier, tests, o.tested, answers);
        if (trained.reached) runs.push_back(std::move(answers));
      }
      if (part.numbers == NumbersChoice::independent && choice.name == o.maps.front()) {
        add_constant(parts, constants, part.words, tests.front(), runs.empty() ? nullptr : &runs.front().front());
      }
      for (std::size_t i = 0; i < tests.size(); ++i) {
        QuantifierAnswers sum;
        std::vector<double> shares;
        for (const auto& run : runs) {
          sum.sequences += run[i].sequences;
          sum.right += run[i].right;
          sum.all_right += run[i].all_right;
          sum.as_largest += run[i].as_largest;
          shares.push_back(static_cast<double>(run[i].right) / static_cast<double>(run[i].sequences));
        }
        std::vector<Cell> cells{part.words, choice.name, tests[i].length, tests[i].input_stddev, std::ssize(runs)};
        if (runs.empty()) {
          cells.resize(table.columns.size());
          table.add_row(std::move(cells));
          continue;
        }
        const auto count = static_cast<double>(sum.sequences);
        // The runs answer the same sequences, so that these count once.
        const std::int64_t sequences = runs.front()[i].sequences;
        const double share = static_cast<double>(sum.right) / count;
        const auto [lower, upper] = binomial_interval(std::llround(share * static_cast<double>(sequences)), sequences);
        const auto [least, largest] = std::minmax_element(shares.begin(), shares.end());
        for (const double value : {share, lower, upper, *least, *largest, static_cast<double>(sum.all_right) / count,
                                   static_cast<double>(sum.as_largest) / count}) {
          cells.emplace_back(value);
        }
        table.add_row(std::move(cells));
        if (part.numbers == NumbersChoice::one_exception && tests[i].length == 10 && tests[i].input_stddev == 1) {
          const Estimate right = share_of(sum.right, sum.sequences);
          parts.controls.add({"nothing is learned: half of the answers", choice.name + ", " + part.words}, 0.5,
                             right.mean, right);
        }
      }
    }
  }
  return {std::move(constants), std::move(table)};
}

}  // namespace incontext::examples::train
