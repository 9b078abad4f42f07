#include "examples/fading/figures.hpp"

#include <incontext/calibration/phase.hpp>
#include <incontext/core/contracts.hpp>
#include <incontext/laws/critical_length.hpp>
#include <incontext/laws/fading_grid.hpp>
#include <incontext/laws/fading_thresholds.hpp>
#include <incontext/laws/gaussian_asymptotics.hpp>
#include <incontext/laws/gaussian_maximum.hpp>
#include <incontext/laws/gaussian_needle.hpp>
#include <incontext/laws/gaussian_row.hpp>
#include <incontext/laws/retrieval.hpp>
#include <incontext/laws/uniform_needle.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "examples/fading/diagram.hpp"
#include "examples/fading/optimum.hpp"
#include "examples/support/render.hpp"

namespace incontext::examples::fading {

namespace {

/// The least number of effective trials with which the law of z is known; a row with fewer is printed without z.
constexpr double enough_trials = 64;

/// The reason that is printed for a row that cannot be judged.
constexpr const char* rare_reason =
    "a few rare trials decide how far the mean is from 0 or from 1, so that its standard error is unknown "
    "(--most-scores and --trials draw more)";

constexpr const char* common_draws_note = "Rows of one n share their draws, so their z are correlated.";

/// The values that the user gave, or the usual ones; they are written into the report's arguments.
template <class Value>
std::vector<Value> given_or(FadingRun& run, const std::string& argument, const std::vector<Value>& given,
                            const std::vector<Value>& usual) {
  run.arguments[argument] = given.empty() ? usual : given;
  return given.empty() ? usual : given;
}

std::vector<std::int64_t> lengths_or(FadingRun& run, const std::vector<std::int64_t>& usual) {
  return given_or(run, "lengths", run.options.lengths, usual);
}

Table comparison_table(std::string name, std::string title, std::vector<Column> columns) {
  for (Column& column : comparison_columns()) columns.push_back(std::move(column));
  return {.name = std::move(name), .title = std::move(title), .columns = std::move(columns)};
}

/// Whether the user's options name the row.
enum class Asked { no, yes };

Asked asked_if(bool given) { return given ? Asked::yes : Asked::no; }

/// Whether z has its law, by the sample itself and by what theory says about rare rows that no trial has met.
enum class Rows { common, rare };

/// Adds a row. It is not judged if rare rows leave its error unknown; the run is complete all the same if it is one of the
/// usual rows, for which the user did not ask.
void add_row(Table& table, FadingRun& run, Asked asked, std::vector<Cell> cells, const statistics::Theory& theory,
             const Measured& measured, Rows rows, const std::vector<Cell>& further = {}) {
  const bool trusted = rows == Rows::common && measured.effective_trials >= enough_trials;
  const auto comparison = trusted || measured.mean.count < 2 ? run.judgment.judged(theory, measured.mean)
                          : asked == Asked::no               ? run.judgment.left_out(theory, measured.mean, rare_reason)
                                               : run.judgment.not_judged(theory, measured.mean, rare_reason);
  cells.insert(cells.end(), comparison.begin(), comparison.end());
  table.add_row(std::move(cells), further);
}

/// A strong needle leaves the weight Z e^(-beta m) to the others, where Z is a sum of log-normal terms. A few trials
/// with large terms determine its mean. The first term of Edgeworth's expansion, the skewness of Z over the root of the
/// number of trials, determines whether z may be trusted.
Rows needle_rows(double weight, double competitors, double score_stddev, const Measured& measured) {
  if (weight < 0.95) return Rows::common;
  const double e = std::exp(score_stddev * score_stddev);
  const double skewness = (e + 2) * std::sqrt((e - 1) / competitors);
  return skewness <= 0.2 * std::sqrt(static_cast<double>(measured.mean.count)) ? Rows::common : Rows::rare;
}

/// The simulated weight of a needle of that score among the competitors.
Measured needle(FadingRun& run, const simulate::ScoreRow& row, double beta, double score) {
  return run.simulator.rows(row.with_needle(score), {beta}).front().needle_weight;
}

simulate::ScoreRow normal_row(const FadingOptions& o, std::int64_t competitors) {
  return {.competitors = competitors, .scale = std::sqrt(o.variance)};
}

// ---- phase ----

void add_phase_row(Table& table, FadingRun& run, std::vector<Cell> cells, const statistics::Theory& theory,
                   const Measured& measured, Rows rows) {
  const auto cell = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Cell(*value) : Cell();
  };
  const Asked asked = asked_if(!run.options.lengths.empty() || !run.options.score_stddevs.empty());
  add_row(table, run, asked, std::move(cells), theory, measured, rows,
          {cell(measured.median), cell(measured.largest_share)});
}

/// By the exact law, the effective number of trials behind E Y_2 and a lower bound of that behind E(1 - Y_2). The bound
/// follows because 1 - Y_2 is at most 1, so its square is at most 1 - Y_2 itself.
Rows ipr_rows(const laws::GaussianRow<double>& exact, double trials) {
  const double of_mean = trials * exact.ipr * exact.ipr / exact.squared_ipr;
  const double of_rest = trials * (1 - exact.ipr);
  return of_mean < 256 || of_rest < enough_trials ? Rows::rare : Rows::common;
}

/// The same for the largest weight, whose square is at most Y_2.
Rows largest_weight_rows(double largest, double ipr, double trials) {
  const double of_mean = trials * largest * largest / ipr, of_rest = trials * (1 - largest);
  return std::min(of_mean, of_rest) < enough_trials ? Rows::rare : Rows::common;
}

std::vector<Table> phase_figure(FadingRun& run) {
  Table table = comparison_table(
      "rows", "Softmax over n normal scores, from even to frozen",
      {{.name = "n"}, {.name = "score_stddev", .heading = "x / x_c", .style = Style::shortest}, {.name = "quantity"}});
  table.columns.push_back({.name = "median", .decimals_as = 1});
  table.columns.push_back({.name = "largest_share", .heading = "top trial", .digits = 2, .in_text = InText::audit});
  const std::vector<double> thetas =
      given_or(run, "score_stddevs", run.options.score_stddevs, {0.25, 0.5, 0.75, 1, 1.5});
  for (const std::int64_t n : lengths_or(run, {100, 1000, 10000})) {
    const double count = static_cast<double>(n), critical = laws::critical_score_stddev(count);
    std::vector<double> score_stddevs;
    for (const double theta : thetas) score_stddevs.push_back(theta * critical);
    const auto rows = run.simulator.rows({.competitors = n}, score_stddevs, Keep::medians);
    for (std::size_t i = 0; i < thetas.size(); ++i) {
      const auto exact = laws::gaussian_row(count, score_stddevs[i]);
      const auto add = [&](const std::string& quantity, const statistics::Theory& theory, const Measured& measured,
                           Rows kind) {
        add_phase_row(table, run, {n, thetas[i], quantity}, theory, measured, kind);
      };
      const auto from_row = [&](double value) { return statistics::Theory(value, exact.error_estimate * value); };
      const auto largest = laws::largest_weight(count, score_stddevs[i]);
      const auto trials = static_cast<double>(rows[i].ipr.mean.count);
      add("Y_2", from_row(exact.ipr), rows[i].ipr, ipr_rows(exact, trials));
      add("max a", largest, rows[i].largest_weight, largest_weight_rows(largest.value, exact.ipr, trials));
      add("entropy", from_row(exact.entropy), rows[i].entropy,
          trials * exact.entropy < enough_trials ? Rows::rare : Rows::common);
      if (thetas[i] * thetas[i] * 3 > 1) {
        run.controls.add({"Y_2 = e^(x^2)/n", n, "x / x_c = " + short_text(thetas[i], 4)},
                         laws::annealed_ipr(count, score_stddevs[i]), exact.ipr, rows[i].ipr.mean);
      }
    }
  }
  table.notes = {
      "x = inverse temperature times standard deviation, x_c = sqrt(2 log n): above it a few scores take all weight.",
      "Theory and simulation are means over rows; the median is that of the drawn rows."};
  table.draw_notes = {
      "top trial: share of the total that one trial carries. Where it is large, rare rows make the mean, and the "
      "median says what a typical row does.",
      common_draws_note};
  return {std::move(table)};
}

// ---- fading ----

std::string needle_in_words(const FadingOptions& o) {
  if (o.gap) return "of score " + short_text(*o.gap, 4);
  return short_text(o.height, 4) + " standard deviations";
}

/// The longest rows that leave the needle a weight, judged by the simulated weight in rows of that length. The annealed
/// weight is the control: it replaces Z by its mean.
Table critical_lengths(FadingRun& run) {
  const FadingOptions& o = run.options;
  const double score = needle_score(o), stddev = std::sqrt(o.variance);
  Table table =
      comparison_table("critical_length", "Critical length: the longest row in which that needle keeps a weight w",
                       {{.name = "map"},
                        {.name = "weight", .heading = "w", .style = Style::shortest},
                        {.name = "critical_length", .heading = "n"},
                        {.name = "inverse_temperature", .heading = "beta", .digits = 4}});
  const std::int64_t drawn_at_most = most_scores(o) / 128;
  for (const double weight : given_or(run, "weights", o.weights, {0.9, 0.5, 0.1})) {
    const auto add = [&](const std::string& map, const laws::CriticalLength<double>& critical, double beta) {
      const bool endless = !std::isfinite(critical.length);
      const auto length = endless ? INT64_MAX : static_cast<std::int64_t>(critical.length);
      std::vector<Cell> cells{map, weight, endless ? Cell() : Cell(length), std::isfinite(beta) ? Cell(beta) : Cell()};
      if (length < 2 || length > drawn_at_most) {
        std::vector<Cell> shown = Judgment::shown({}, {});
        shown.front() = critical.weight;
        shown.back() = std::string(endless      ? "kept in every row up to 5.6e14"
                                   : length < 2 ? "not kept in any row of two scores"
                                                : "longer than --most-scores allows to draw");
        table.add_row(std::move(cells), shown);
        return;
      }
      const Measured measured = needle(run, normal_row(o, length - 1), beta, score);
      add_row(table, run, asked_if(!o.weights.empty()), std::move(cells), critical.weight, measured,
              needle_rows(critical.weight, critical.length - 1, beta * stddev, measured));
    };
    const auto plain = laws::softmax_critical_length(stddev, score, weight);
    add("softmax", plain, 1.0);
    if (plain.length > 1 && plain.length <= static_cast<double>(drawn_at_most)) {
      const auto length = static_cast<std::int64_t>(plain.length);
      run.controls.add({"1 / (1 + (n - 1) e^(v/2 - m))", length, "w = " + short_text(weight, 4)},
                       1 / (1 + (plain.length - 1) * std::exp(o.variance / 2 - score)), plain.weight,
                       needle(run, normal_row(o, length - 1), 1.0, score).mean);
    }
    const auto scaled = laws::ssmax_critical_length(o.scale, o.variance, score, weight);
    add("SSMax", scaled, o.scale * std::log(scaled.length));
  }
  table.notes = {"Theory: the exact weight in a row of that length; one score more leaves less than w."};
  return table;
}

std::vector<Table> fading_figure(FadingRun& run) {
  const FadingOptions& o = run.options;
  const double score = needle_score(o);
  Table table = comparison_table("needle_weight",
                                 "Weight of a needle " + needle_in_words(o) +
                                     " above n - 1 normal scores of variance " + short_text(o.variance, 4),
                                 {{.name = "n"},
                                  {.name = "map"},
                                  {.name = "inverse_temperature", .heading = "beta", .digits = 4},
                                  {.name = "noise", .heading = "competitors"}});
  for (const std::int64_t n : lengths_or(run, {10, 100, 1000, 10000, 100000, 1000000})) {
    const double count = static_cast<double>(n), others = count - 1;
    const std::vector<double> betas{1, o.scale * std::log(count)};
    const auto rows = run.simulator.rows(normal_row(o, n - 1).with_needle(score), betas);
    for (std::size_t i = 0; i < 2; ++i) {
      const double score_stddev = betas[i] * std::sqrt(o.variance);
      const bool frozen = score_stddev >= laws::critical_score_stddev(count);
      const auto weight = laws::needle_weight(others, score_stddev, betas[i] * score);
      const std::string map = i == 0 ? "softmax" : "SSMax", noise = frozen ? "frozen" : "averaging";
      add_row(table, run, asked_if(!o.lengths.empty()), {n, map, betas[i], noise}, weight, rows[i].needle_weight,
              needle_rows(weight.value, others, score_stddev, rows[i].needle_weight));
    }
  }
  table.notes = {
      "SSMax: beta = s log n, s = " + short_text(o.scale, 4) + ". Its competitors freeze from n = " +
          short_text(laws::ssmax_freezing_count(o.scale, o.variance), 4) + " on.",
      "Beyond n = " + short_text(std::floor(calibration::distinguishing_length(score / std::sqrt(o.variance))), 6) +
          " some competitor is higher than the needle in more than half of the rows. There no beta, and so not "
          "SSMax's, "
          "gives the needle the largest weight in half of the rows."};
  table.draw_notes = {common_draws_note};
  return {std::move(table), critical_lengths(run)};
}

// ---- retrieval ----

std::vector<Table> retrieval_figure(FadingRun& run) {
  const FadingOptions& o = run.options;
  const double gap = laws::ssmax_critical_gap(o.scale), stddev = std::sqrt(o.variance);
  Table thresholds{.name = "thresholds",
                   .title = "The score m* that SSMax, s = " + short_text(o.scale, 4) +
                            ", needs among n - 1 normal competitors of variance " + short_text(o.variance, 4),
                   .columns = {{.name = "n"},
                               {.name = "noise", .heading = "y = s^2 v log n", .digits = 4},
                               {.name = "phase"},
                               {.name = "threshold", .heading = "m*", .decimals_as = 1},
                               {.name = "boundary", .heading = "long rows", .decimals_as = 1},
                               {.name = "critical_gap", .heading = "1/s", .decimals_as = 1},
                               {.name = "softmax_threshold", .heading = "softmax's m*", .decimals_as = 1}}};
  Table table = comparison_table("needle_weight", "Weight of a needle of score m there",
                                 {{.name = "n"},
                                  {.name = "height", .heading = "m / m*", .style = Style::shortest},
                                  {.name = "score", .heading = "m", .digits = 5}});
  for (const std::int64_t n : lengths_or(run, {100, 10000, 100000})) {
    const double count = static_cast<double>(n), others = count - 1;
    const double beta = o.scale * std::log(count), score_stddev = beta * stddev;
    const double noise = o.scale * o.scale * o.variance * std::log(count);
    const double threshold = laws::retrieval_gap(others, score_stddev) / beta;
    const bool frozen = laws::noise_phase(noise) == laws::NoisePhase::frozen;
    thresholds.add_row({n, noise, std::string(frozen ? "frozen" : "averaging"), threshold,
                        laws::ssmax_gaussian_threshold(count, o.scale, o.variance), gap,
                        laws::retrieval_gap(others, stddev)});
    const auto exact = [&](double score) { return laws::needle_weight(others, score_stddev, beta * score); };
    for (const double height : given_or(run, "heights", o.heights, {0.8, 1, 1.1})) {
      const double score = height * threshold;
      const Measured measured = needle(run, normal_row(o, n - 1), beta, score);
      add_row(table, run, asked_if(!o.lengths.empty() || !o.heights.empty()), {n, height, score}, exact(score),
              measured, needle_rows(exact(score).value, others, score_stddev, measured));
    }
    run.controls.add({"m* = 1/s", n, "m = " + short_text(gap, 4)}, 0.5, exact(gap).value,
                     needle(run, normal_row(o, n - 1), beta, gap).mean);
  }
  thresholds.notes = {
      "long rows: 1/s + s v log(n)/2 up to y = 2, sqrt(2 v log n) beyond; 1/s is for equal competitors."};
  return {std::move(thresholds), std::move(table)};
}

// ---- bounded ----

/// The weight of a needle among scores uniform on [0, 1].
numerics::Quadrature<double> needle_weight(double competitors, double beta, double score) {
  return laws::uniform_needle_weight(competitors, beta, beta * score);
}

std::vector<Table> bounded_figure(FadingRun& run) {
  const FadingOptions& o = run.options;
  const double limit = 1 + laws::ssmax_critical_gap(o.scale);
  Table table = comparison_table(
      "needle_weight",
      "SSMax' weight, s = " + short_text(o.scale, 4) + ", of a needle of score m among n - 1 scores uniform on [0, 1]",
      {{.name = "n"},
       {.name = "height", .heading = "m / m*", .style = Style::shortest},
       {.name = "score", .heading = "m", .digits = 5}});
  Table thresholds{.name = "thresholds",
                   .title = "The score m* that takes half of the weight from an even grid on [0, 1]",
                   .columns = {{.name = "n"},
                               {.name = "threshold", .heading = "m*", .decimals_as = 1},
                               {.name = "with_lag", .heading = "long rows", .decimals_as = 1},
                               {.name = "limit", .heading = "1 + 1/s", .decimals_as = 1},
                               {.name = "softmax_threshold", .heading = "softmax's m*", .decimals_as = 1}}};
  for (const std::int64_t n : lengths_or(run, {100, 1000, 100000, 1000000})) {
    const double count = static_cast<double>(n), beta = o.scale * std::log(count);
    const double threshold = laws::grid_threshold(count, beta);
    thresholds.add_row({n, threshold, laws::ssmax_bounded_threshold(count, o.scale, laws::BoundedScores<double>{1}),
                        limit, laws::grid_threshold(count, 1.0)});
    const simulate::ScoreRow row{.law = simulate::ScoreLaw::uniform, .competitors = n - 1};
    for (const double height : given_or(run, "heights", o.heights, {0.8, 1, 1.2})) {
      const double score = height * threshold;
      add_row(table, run, asked_if(!o.lengths.empty() || !o.heights.empty()), {n, height, score},
              needle_weight(count - 1, beta, score), needle(run, row, beta, score), Rows::common);
    }
    run.controls.add({"m* = 1 + 1/s", n, "m = " + short_text(limit, 4)}, 0.5,
                     needle_weight(count - 1, beta, limit).value, needle(run, row, beta, limit).mean);
  }
  thresholds.notes = {"long rows: 1 + 1/s - log(s log n) / (s log n). The lag closes like log log n / log n."};
  return {std::move(thresholds), std::move(table)};
}

}  // namespace

std::vector<Table> figure_tables(FadingRun& run) {
  switch (run.options.figure) {
    case FadingFigure::fading:
      return fading_figure(run);
    case FadingFigure::retrieval:
      return retrieval_figure(run);
    case FadingFigure::bounded:
      return bounded_figure(run);
    case FadingFigure::optimum:
      return optimum_figure(run);
    case FadingFigure::diagram:
      return diagram_figure(run);
    case FadingFigure::phase:
      break;
  }
  return phase_figure(run);
}

}  // namespace incontext::examples::fading
