#include <algorithm>
#include <cstddef>
#include <utility>

#include "examples/support/text.hpp"
#include "examples/train/binomial_interval.hpp"
#include "examples/train/sequences.hpp"

namespace incontext::examples::train {

namespace {

constexpr std::int64_t training_length = 64;

/// The runs of one map, seed by seed, and of each the answers at all lengths.
using RecallRuns = std::vector<std::vector<RecallAnswers>>;

RecallRuns train_map(SequenceParts& parts, const std::string& map) {
  const SequenceOptions& o = parts.options;
  RecallRuns runs;
  for (std::int64_t seed = 0; seed < o.seeds && !parts.simulator.stopped(); ++seed) {
    SequenceRun run = run_of(o, map, seed);
    run.length = training_length;
    std::vector<RecallAnswers> answers;
    if (parts.simulator.recall(map, run, o.lengths, o.tested, answers).reached) runs.push_back(std::move(answers));
  }
  return runs;
}

std::vector<double> shares_at(const RecallRuns& runs, std::size_t test) {
  std::vector<double> shares;
  for (const auto& run : runs) {
    shares.push_back(static_cast<double>(run[test].right) / static_cast<double>(run[test].sequences));
  }
  return shares;
}

void add_shares(SequenceParts& parts, Table& table, const std::string& map, const RecallRuns& runs) {
  for (std::size_t i = 0; i < parts.options.lengths.size(); ++i) {
    const auto shares = shares_at(runs, i);
    std::vector<Cell> cells{map, parts.options.lengths[i], std::ssize(shares)};
    if (shares.empty()) {
      cells.resize(table.columns.size());
    } else {
      const auto share = estimate_of_runs(shares);
      const auto [least, largest] = std::minmax_element(shares.begin(), shares.end());
      cells.insert(cells.end(), {share.mean, finite_cell(share.standard_error), *least, *largest});
    }
    table.add_row(std::move(cells));
  }
}

/// The share of wrong answers less that of softmax with the same seed.
void add_contrasts(Table& table, const SequenceOptions& o, const std::string& map, const RecallRuns& runs,
                   const RecallRuns& softmax) {
  for (std::size_t i = 0; i < o.lengths.size(); ++i) {
    const auto right = shares_at(runs, i), usual = shares_at(softmax, i);
    std::vector<double> differences;
    for (std::size_t run = 0; run < std::min(right.size(), usual.size()); ++run) {
      differences.push_back(usual[run] - right[run]);
    }
    table.add_row({map, o.lengths[i]}, Judgment::shown({}, estimate_of_runs(differences)));
  }
}

/// What answers that need no key have right of the tests' sequences; all maps have the same ones.
void add_answers_without_key(SequenceParts& parts, Table& table, const RecallRuns& runs) {
  for (std::size_t i = 0; i < parts.options.lengths.size(); ++i) {
    RecallAnswers sum;
    for (const auto& run : runs) {
      sum.sequences += run[i].sequences;
      sum.constant_right += run[i].constant_right;
      sum.own_right += run[i].own_right;
    }
    const auto seen = [&](std::int64_t right) {
      return sum.sequences == 0 ? statistics::Estimate() : share_of(right, sum.sequences);
    };
    const double own_pair = 1 / static_cast<double>(parts.options.lengths[i]);
    table.add_row({"always the first value", parts.options.lengths[i]},
                  parts.judgment.judged(recall_chance, seen(sum.constant_right)));
    table.add_row({"the last token's own value", parts.options.lengths[i]},
                  parts.judgment.judged(own_pair + (1 - own_pair) * recall_chance, seen(sum.own_right)));
  }
}

}  // namespace

std::vector<Table> recall_tables(SequenceParts& parts) {
  const SequenceOptions& o = parts.options;
  const Column length{.name = "length", .style = Style::shortest};
  Table chances{.title = "Answers that need no key, on the sequences of the tests",
                .columns = {{"answer"}, length},
                .key_columns = 2,
                .audit = true};
  Table shares{.title = "Recall: right answers of " + described(o) + ", trained at length 64",
               .columns = {{"map"},
                           length,
                           {"runs"},
                           {.name = "right", .digits = 4},
                           {.name = "standard_error", .heading = "± error", .digits = 2},
                           {.name = "least", .digits = 4},
                           {.name = "largest", .digits = 4}},
               .notes = {"Right: at the last token, the mean over runs, each with test sequences of its own, and its "
                         "standard error; least and largest: of a run. A guess is right in 0.125."},
               .key_columns = 2};
  Table contrasts{.title = "Share of wrong answers, minus that of softmax with the same seed",
                  .columns = {{"map"}, length},
                  .notes = {same_sequences_note},
                  .key_columns = 2,
                  .audit = true};
  for (const Column& column : comparison_columns()) {
    chances.columns.push_back(column);
    contrasts.columns.push_back(column);
  }
  std::vector<RecallRuns> maps;
  for (const std::string& map : o.maps) {
    maps.push_back(train_map(parts, map));
    add_shares(parts, shares, map, maps.back());
    std::int64_t right = 0, sequences = 0;
    for (const auto& run : maps.back()) {
      right += run.front().right;
      sequences += run.front().sequences;
    }
    if (sequences == 0) continue;
    const auto share = share_of(right, sequences);
    parts.controls.add({"nothing is learned: an eighth of the answers", map}, recall_chance, share.mean, share);
  }
  add_answers_without_key(parts, chances, maps.front());
  const auto softmax = std::find(o.maps.begin(), o.maps.end(), "softmax");
  for (std::size_t i = 0; i < maps.size() && softmax != o.maps.end(); ++i) {
    if (o.maps[i] == "softmax") continue;
    add_contrasts(contrasts, o, o.maps[i], maps[i], maps[static_cast<std::size_t>(softmax - o.maps.begin())]);
  }
  std::vector<Table> tables{std::move(chances), std::move(shares)};
  if (!contrasts.rows.empty()) tables.push_back(std::move(contrasts));
  return tables;
}

}  // namespace incontext::examples::train
