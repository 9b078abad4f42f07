#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "examples/scores/maps.hpp"
#include "examples/scores/options.hpp"
#include "examples/support/data_table.hpp"
#include "examples/support/npy.hpp"
#include "examples/support/render.hpp"
#include "incontext/scoring/scoring.hpp"

/// A user's own scores through one map: every key of one row, or one line per query of a matrix.
namespace incontext::examples::scores {

namespace detail {

inline bool visible(double score) { return score > -INFINITY; }

/// "softmax, temperature = 1": the map and the parameters it has read.
inline std::string map_in_words(const CLI::App& app, const maps::AnyMap<double>& map) {
  std::string text(map.name());
  for (const std::string& name : options_of(map)) text += ", " + name.substr(2) + " " + text_of(app, name);
  return text;
}

inline void require_defined(const std::string& source, const std::string& map, const Numbers& weights) {
  for (const double weight : weights) {
    if (std::isnan(weight)) throw InputError(source + ": --map " + map + " is undefined on this row");
  }
}

/// Facts of one row of weights; entropy and effective number only where the weights are a distribution.
struct RowFacts {
  double sum = 0;
  double entropy = 0;
  double effective = 0;  ///< one over the sum of squares
  std::size_t top = 0;
  bool distribution = true;
};

inline RowFacts facts_of(const Numbers& weights, const Numbers& log_weights) {
  RowFacts facts;
  double squares = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    facts.sum += weights[i];
    squares += weights[i] * weights[i];
    if (weights[i] > 0 && !log_weights.empty()) facts.entropy -= weights[i] * log_weights[i];
    if (weights[i] > weights[facts.top]) facts.top = i;
  }
  facts.effective = 1 / squares;
  facts.distribution = !log_weights.empty() && std::abs(facts.sum - 1) < 1e-9;
  return facts;
}

inline void write_weights(const std::string& file, const Eigen::MatrixXd& weights) {
  if (!file.empty()) write_file(file, npy_bytes(weights), "--weights");
}

/// The longest row whose spectral norm is computed. It takes two seconds, and the time grows with the third power of
/// the length.
inline constexpr std::size_t longest_with_norms = 300;

inline void require_short_for_norms(std::size_t keys) {
  if (keys > longest_with_norms) {
    throw_input_error("--norms", "rows are too long", keys, "at most " + std::to_string(longest_with_norms) + " keys");
  }
}

}  // namespace detail

inline std::vector<Table> row_tables(const CLI::App& app, const ScoresOptions& o) {
  const ScoreMap map{map_with(o.map, o.parameters)};
  if (std::none_of(o.row.begin(), o.row.end(), detail::visible)) throw InputError("--row: has no visible score");
  Numbers row = o.row;
  if (map.counts_keys() && !o.no_finite_masks) hide_finite_masks(row, "--row");
  const Numbers weights = map.weights(row);
  detail::require_defined("--row", o.map, weights);
  const Numbers log_weights = map.log_weights(row);
  const Numbers change = o.direction.empty() ? Numbers{} : map.jvp(row, o.direction);

  Table table{.name = "row",
              .title = detail::map_in_words(app, map.map) + ": a row of " + std::to_string(o.row.size()) + " scores",
              .columns = {{"key"}, {.name = "score", .style = Style::shortest}, {.name = "weight"}}};
  if (!log_weights.empty()) table.columns.push_back({"log_weight"});
  if (!change.empty()) {
    table.columns.push_back({.name = "direction", .style = Style::shortest});
    table.columns.push_back({.name = "weight_change"});
  }
  for (std::size_t i = 0; i < o.row.size(); ++i) {
    std::vector<Cell> cells{static_cast<std::int64_t>(i + 1), o.row[i], weights[i]};
    if (!log_weights.empty()) cells.push_back(log_weights[i]);
    if (!change.empty()) cells.insert(cells.end(), {o.direction[i], change[i]});
    table.add_row(std::move(cells));
  }

  const detail::RowFacts facts = detail::facts_of(weights, log_weights);
  Table summary{.name = "summary", .title = "The row as a whole", .columns = {{"quantity"}, {"value"}}};
  summary.add_row({"sum of the weights", facts.sum});
  summary.add_row({"largest weight", weights[facts.top]});
  if (facts.distribution) {
    summary.add_row({"entropy [nats]", facts.entropy});
    summary.add_row({"effective number of keys, 1 / sum of squares", facts.effective});
  }
  if (o.norms) {
    detail::require_short_for_norms(o.row.size());
    const MatrixNorms norms = jacobian_norms_at(map, row);
    summary.add_row({"Jacobian, spectral norm", norms.spectral});
    summary.add_row({"Jacobian, Frobenius norm", norms.frobenius});
    if (std::isnan(norms.spectral)) summary.notes.push_back("The map has no derivative at this row.");
  }
  detail::write_weights(o.weights, Eigen::Map<const Eigen::RowVectorXd>(weights.data(), Eigen::Index(weights.size())));
  return {std::move(table), std::move(summary)};
}

inline std::vector<Table> matrix_tables(const CLI::App& app, const ScoresOptions& o) {
  const ScoreMap map{map_with(o.map, o.parameters)};
  const MatrixFile read = read_scores(o.scores);
  const Eigen::MatrixXd& scores = read.values;
  if (o.norms) detail::require_short_for_norms(static_cast<std::size_t>(scores.cols()));
  Table table{
      .name = "weights",
      .title = o.scores + ": " + std::to_string(scores.rows()) + (scores.rows() == 1 ? " query x " : " queries x ") +
               std::to_string(scores.cols()) + " keys" + (o.causal ? ", causal" : "") + ", " +
               detail::map_in_words(app, map.map),
      .columns = {{"query"}, {"visible"}, {"top_key"}, {"largest_weight"}, {"sum"}, {"entropy"}, {"effective_keys"}}};
  if (o.norms) table.columns.insert(table.columns.end(), {{"spectral_norm"}, {"frobenius_norm"}});
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(scores.rows(), scores.cols());
  const auto visibility = o.causal ? scoring::Visibility::causal : scoring::Visibility::all;
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    const Eigen::Index seen = scoring::visible_keys(visibility, i, scores.rows(), scores.cols());
    Numbers row(static_cast<std::size_t>(seen));
    for (Eigen::Index j = 0; j < seen; ++j) row[static_cast<std::size_t>(j)] = scores(i, j);
    const std::string source = o.scores + ": row " + std::to_string(i + 1);
    if (std::none_of(row.begin(), row.end(), detail::visible)) throw InputError(source + ": has no visible score");
    if (map.counts_keys() && !o.no_finite_masks) hide_finite_masks(row, source);
    const auto visible = std::count_if(row.begin(), row.end(), detail::visible);
    const Numbers weights = map.weights(row);
    detail::require_defined(source, o.map, weights);
    for (Eigen::Index j = 0; j < seen; ++j) all(i, j) = weights[static_cast<std::size_t>(j)];
    const auto facts = detail::facts_of(weights, map.log_weights(row));
    std::vector<Cell> cells{static_cast<std::int64_t>(i + 1), static_cast<std::int64_t>(visible),
                            static_cast<std::int64_t>(facts.top + 1), weights[facts.top], facts.sum};
    if (facts.distribution) {
      cells.insert(cells.end(), {facts.entropy, facts.effective});
    } else {
      cells.insert(cells.end(), {std::monostate{}, std::monostate{}});
    }
    if (o.norms) {
      const MatrixNorms norms = jacobian_norms_at(map, row);
      cells.insert(cells.end(), {norms.spectral, norms.frobenius});
    }
    table.add_row(std::move(cells));
  }
  table.notes = read.notes;
  table.notes.push_back("Queries and keys count from 1; --weights FILE.npy writes the matrix of weights.");
  detail::write_weights(o.weights, all);
  return {std::move(table)};
}

}  // namespace incontext::examples::scores
