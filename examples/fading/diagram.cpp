#include "examples/fading/diagram.hpp"

#include <incontext/laws/gaussian_needle.hpp>
#include <incontext/laws/retrieval.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "examples/support/render.hpp"

namespace incontext::examples::fading {

namespace {

constexpr double largest_noise = 4, largest_height = 3.5;
constexpr std::size_t simulated_columns = 4;

/// The middle of part number i, where a side of the plane has equal parts.
double middle(double side, std::size_t part, std::size_t parts) {
  return side * (static_cast<double>(part) + 0.5) / static_cast<double>(parts);
}

/// A column of the plane: competitors of one noise y, among which a needle of height a has the score m with a = beta m
/// / log n.
struct DiagramColumn {
  double noise = 0, half = 0;   ///< y, and the height with weight 1/2
  std::vector<double> weights;  ///< at the middles of the heights

  double score_stddev(double log_count) const { return std::sqrt(noise * log_count); }
};

/// After Ctrl-C the remaining columns have no weights.
std::vector<DiagramColumn> columns_of(const Simulator& simulator, double count, std::size_t parts, int threads) {
  const double log_count = std::log(count);
  std::vector<DiagramColumn> columns(parts);
  const std::size_t workers =
      threads > 0 ? static_cast<std::size_t>(threads) : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  const auto work = [&](std::size_t first) {
    for (std::size_t i = first; i < parts; i += workers) {
      DiagramColumn& column = columns[i];
      column.noise = middle(largest_noise, i, parts);
      const double score_stddev = column.score_stddev(log_count);
      column.half = laws::retrieval_gap(count - 1, score_stddev) / log_count;
      for (std::size_t j = 0; j < parts && !simulator.stopped(); ++j) {
        const double exponent = middle(largest_height, j, parts) * log_count;
        column.weights.push_back(laws::needle_weight(count - 1, score_stddev, exponent).value);
      }
    }
  };
  // If a worker's thread cannot be started, its share is computed here, where the program waits for it.
  std::vector<std::future<void>> running;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    running.push_back(std::async(std::launch::async | std::launch::deferred, work, worker));
  }
  for (auto& one : running) one.get();
  return columns;
}

/// The simulated weight of a needle at height a of a column. The scores are normal with variance 1, at the column's
/// inverse temperature.
statistics::Estimate simulated(FadingRun& run, std::int64_t n, const DiagramColumn& column, double height) {
  const double log_count = std::log(static_cast<double>(n)), beta = column.score_stddev(log_count);
  const auto row = simulate::ScoreRow{.competitors = n - 1}.with_needle(height * log_count / beta);
  return run.simulator.rows(row, {beta}).front().needle_weight.mean;
}

void add_boundary(Table& table, FadingRun& run, std::int64_t n, const std::vector<DiagramColumn>& columns) {
  const std::size_t every = std::max<std::size_t>(columns.size() / simulated_columns, 1);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const DiagramColumn& column = columns[i];
    const bool frozen = laws::noise_phase(column.noise) == laws::NoisePhase::frozen;
    std::vector<Cell> cells{n, column.noise, std::string(frozen ? "frozen" : "averaging"),
                            laws::retrieval_boundary(column.noise), column.half};
    const bool chosen = i % every == every / 2;
    const auto estimate = chosen ? simulated(run, n, column, column.half) : statistics::Estimate{};
    const auto compared = chosen ? run.judgment.judged(0.5, estimate) : std::vector<Cell>(comparison_columns().size());
    table.add_row(std::move(cells), compared);
    if (!chosen || !frozen) continue;
    const double annealed = 1 + column.noise / 2, log_count = std::log(static_cast<double>(n));
    const double exact =
        laws::needle_weight(static_cast<double>(n) - 1, column.score_stddev(log_count), annealed * log_count).value;
    run.controls.add({"a = 1 + y/2", n, "y = " + detail::number_text(column.noise, std::chars_format::general, 4)}, 0.5,
                     exact, simulated(run, n, column, annealed));
  }
}

/// One row of the map per height, the highest first; each character is the weight at one y in tenths.
void add_map(Table& table, std::int64_t n, const std::vector<DiagramColumn>& columns) {
  const std::size_t parts = columns.size();
  for (std::size_t row = parts; row-- > 0;) {
    std::string tenths;
    for (const DiagramColumn& column : columns) {
      const bool known = row < column.weights.size();
      tenths += known ? static_cast<char>('0' + std::min(9, static_cast<int>(10 * column.weights[row]))) : '-';
    }
    table.add_row({n, middle(largest_height, row, parts), std::move(tenths)});
  }
}

void add_numbers(Table& table, std::int64_t n, const std::vector<DiagramColumn>& columns) {
  for (const DiagramColumn& column : columns) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      table.add_row({n, column.noise, middle(largest_height, j, columns.size()),
                     j < column.weights.size() ? Cell(column.weights[j]) : Cell()});
    }
  }
}

}  // namespace

std::vector<Table> diagram_figure(FadingRun& run) {
  const auto parts = static_cast<std::size_t>(run.options.points);
  const Column length{.name = "n"}, noise{.name = "noise", .heading = "y", .digits = 4};
  Table boundary{
      .name = "boundary",
      .title = "Where a needle of height a = beta m / log n has half of the weight among n - 1 normal scores",
      .columns = {length,
                  noise,
                  {.name = "phase"},
                  {.name = "boundary", .heading = "long rows", .digits = 4},
                  {.name = "half", .heading = "a at n", .digits = 6}}};
  boundary.key_columns = 2;
  for (Column& column : comparison_columns()) boundary.columns.push_back(std::move(column));
  const Column height{.name = "height", .heading = "a", .digits = 4};
  Table map{.name = "plane",
            .title = "Its weight over the plane",
            .columns = {length, height, {.name = "map", .heading = "y = 0 to 4"}},
            .notes = {"Tenths of the weight, rounded down. The numbers are in --format csv and json."}};
  Table plane{.name = "plane",
              .title = "Its weight over the plane",
              .columns = {length, noise, height, {.name = "weight", .digits = 5}}};
  const std::vector<std::int64_t> lengths =
      run.options.lengths.empty() ? std::vector<std::int64_t>{1000} : run.options.lengths;
  run.arguments["lengths"] = lengths;
  for (const std::int64_t n : lengths) {
    const auto columns = columns_of(run.simulator, static_cast<double>(n), parts, run.options.simulation.threads);
    add_boundary(boundary, run, n, columns);
    if (run.options.output.format == Format::table) {
      add_map(map, n, columns);
    } else {
      add_numbers(plane, n, columns);
    }
  }
  boundary.notes = {
      "y = s^2 v log n for SSMax, beta = s log n; for softmax, s = beta / log n. Long rows: 1 + y/2 up to y = 2, where "
      "the competitors freeze, sqrt(2 y) beyond. Theory and simulation: the weight there."};
  return {std::move(boundary), run.options.output.format == Format::table ? std::move(map) : std::move(plane)};
}

}  // namespace incontext::examples::fading
