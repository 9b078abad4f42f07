#include "examples/gradients/figures.hpp"

#include <incontext/laws/frozen_imbalance.hpp>
#include <incontext/laws/gaussian_asymptotics.hpp>
#include <incontext/laws/gaussian_row.hpp>
#include <incontext/laws/gradient_sizes.hpp>
#include <incontext/laws/normsoftmax_gradient_sizes.hpp>
#include <incontext/scoring/heat_schedule.hpp>
#include <incontext/statistics/estimate.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "examples/gradients/layer_figures.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::gradients {

namespace {

/// The least row length for which the law of NormSoftmax is used.
constexpr double fewest_tokens_of_own_spread = 4;

/// From this x on the annealed form is a near miss, and below the other one the form of uncorrelated tokens.
constexpr double near_miss_from = 1.5, narrow_below = 0.5;

constexpr const char* common_draws_note = "All rows of a map share their draws, so their z are correlated.";

using simulate::GradientMap, simulate::GradientNorm;

/// The effective number of trials behind W_K's mean at one x.
double key_trials(const MeasuredGradients& measured, std::size_t score_stddev) {
  return simulate::effective_trials(measured.norms.at(score_stddev, GradientNorm::key));
}

struct Point {
  std::vector<Cell> prefix;
  double score_stddev;
};

class Figures {
 public:
  explicit Figures(GradientRun& run) : run_(run), options_(run.options) {}

  std::vector<Table> make() {
    switch (options_.figure) {
      case GradientFigure::temperature:
        return temperature();
      case GradientFigure::frozen:
        return frozen();
      case GradientFigure::schedule:
        return schedule();
      case GradientFigure::queries:
        return queries_figure(run_);
      case GradientFigure::groups:
        return groups_figure(run_);
      case GradientFigure::ends:
        return ends_figure(run_);
      case GradientFigure::normsoftmax:
        break;
    }
    return normsoftmax();
  }

 private:
  double tokens() const { return static_cast<double>(options_.simulation.context_length); }
  double dimension() const { return static_cast<double>(options_.simulation.dimension); }

  laws::GradientSizes<double> law(double score_stddev) const {
    return laws::gradient_sizes(laws::gaussian_row(tokens(), score_stddev), score_stddev, dimension());
  }

  /// The closed form of the median, where it holds.
  Cell frozen_median(double score_stddev) const {
    constexpr double largest_index = 0.25;
    if (!(laws::critical_score_stddev(tokens()) < score_stddev)) return {};
    if (!(laws::frozen_row(tokens(), score_stddev).index < largest_index)) return {};
    return laws::frozen_imbalance_quantile(laws::FrozenLayer<double>{tokens(), score_stddev, dimension()});
  }

  /// The closed form of frozen or of narrow rows where it is too far off to pass.
  void control(double score_stddev, const statistics::Estimate& ratio, double effective_trials) {
    if (!(fewest_effective_trials <= effective_trials)) return;
    const double exact = law(score_stddev).imbalance;
    if (near_miss_from <= score_stddev) {
      run_.controls.add({"the annealed closed form", score_stddev},
                        laws::annealed_imbalance(tokens(), score_stddev, dimension()), exact, ratio);
    } else if (score_stddev < narrow_below && !narrow_row_tried_) {
      narrow_row_tried_ = true;
      run_.controls.add({"R = x sqrt(n / d)", score_stddev}, score_stddev * std::sqrt(tokens() / dimension()), exact,
                        ratio);
    }
  }

  /// NormSoftmax's R. The standard deviation of one row's scores is x (1 +- 1 / sqrt(2n)). If nearly all rows are below
  /// 1, the law has an error of order 1/n^2; if nearly all are above 1, the law is that of softmax. In between, some
  /// rows follow the one and some the other.
  std::vector<Cell> compared_normsoftmax(double x, const statistics::Estimate& estimate, double effective_trials) {
    const double margin = 6 / std::sqrt(2 * tokens());
    if (x * (1 + margin) < 1 && tokens() >= fewest_tokens_of_own_spread) {
      const double theory = laws::normsoftmax_gradient_sizes(tokens(), dimension()).imbalance;
      return run_.judgment.judged_if_enough({theory, theory / (tokens() * tokens())}, estimate, effective_trials);
    }
    const double theory = law(std::max(x, 1.0)).imbalance;
    if (1 < x * (1 - margin)) return run_.judgment.judged_if_enough(theory, estimate, effective_trials);
    return Judgment::shown(theory, estimate);
  }

  static Cell finite(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }

  std::string setting() const {
    return ": n = " + std::to_string(options_.simulation.context_length) +
           " tokens, d = " + std::to_string(options_.simulation.dimension);
  }

  static Table table(std::string title, std::vector<Column> prefix, std::vector<Column> more) {
    Table result{.title = std::move(title), .columns = std::move(prefix)};
    result.key_columns = result.columns.size();
    for (Column& column : more) result.columns.push_back(std::move(column));
    for (Column& column : comparison_columns()) result.columns.push_back(std::move(column));
    return result;
  }

  static void add(Table& table, std::vector<Cell> cells, const std::vector<Cell>& comparison) {
    table.add_row(std::move(cells), comparison);
  }

  /// Softmax at every point: the ratio, and the two mean squares of which it is made.
  std::vector<Table> softmax(const std::string& title, const std::vector<Column>& prefix,
                             const std::vector<Point>& points) {
    std::vector<Column> columns = prefix;
    columns.push_back({.name = "score_stddev", .heading = "x", .digits = 4});
    Table ratios = table(title + setting(), columns,
                         {{.name = "annealed", .digits = 4, .in_text = InText::audit},
                          {.name = "median", .digits = 4},
                          {.name = "frozen_median", .heading = "two scores", .digits = 3, .in_text = InText::audit}});
    columns.push_back({"gradient"});
    Table norms = table("Mean squared gradients over |g|^2", columns, {});
    norms.audit = true;
    std::vector<double> score_stddevs;
    for (const Point& point : points) score_stddevs.push_back(point.score_stddev);
    const MeasuredGradients measured = run_.simulator.gradients(GradientMap::softmax, score_stddevs);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Point& point = points[i];
      const auto sizes = law(point.score_stddev);
      const auto& key = measured.norms.at(i, GradientNorm::key);
      const double carry = key_trials(measured, i);
      std::vector<Cell> cells = point.prefix;
      cells.emplace_back(point.score_stddev);
      std::vector<Cell> more = cells;
      more.insert(more.end(), {Cell(laws::annealed_imbalance(tokens(), point.score_stddev, dimension())),
                               finite(measured.median[i]), frozen_median(point.score_stddev)});
      add(ratios, std::move(more), run_.judgment.judged_if_enough(sizes.imbalance, measured.norms.imbalance(i), carry));
      control(point.score_stddev, measured.norms.imbalance(i), carry);
      cells.emplace_back("W_V");
      add(norms, cells, run_.judgment.judged(sizes.mean_token, measured.norms.at(i, GradientNorm::value)));
      cells.back() = "W_K";
      add(norms, cells,
          run_.judgment.judged_if_enough(point.score_stddev * point.score_stddev * sizes.covariance_isotropic, key,
                                         carry));
    }
    ratios.notes.push_back(
        "Theory and simulation: R, W_K's root mean square over W_V's. Median: of one row's ratio. x: the scores' "
        "standard deviation over the temperature.");
    ratios.audit_notes.push_back(
        "Annealed: the closed form for x^2 << log n. Two scores: the median's, where the two highest scores have all "
        "weight.");
    ratios.draw_notes.push_back(common_draws_note);
    return {std::move(ratios), std::move(norms)};
  }

  double spread_at(double temperature) const { return options_.score_stddev() / temperature; }

  std::vector<Table> temperature() {
    std::vector<Point> points;
    for (const double tau : options_.temperatures) points.push_back({{tau}, spread_at(tau)});
    return softmax("Gradient of W_K over that of W_V against temperature", {temperature_column()}, points);
  }

  std::vector<Table> frozen() {
    std::vector<Point> points;
    for (const double x : options_.score_stddevs) points.push_back({{}, x});
    std::vector<Table> tables = softmax("Gradient of W_K over that of W_V in rows that freeze", {}, points);
    tables.front().notes.push_back(
        "Rare near ties of the two highest scores carry the root mean square; the typical row's gradient vanishes.");
    return tables;
  }

  std::vector<Table> schedule() {
    const auto epochs = static_cast<int>(options_.epochs);
    const scoring::HeatSchedule<double> heat{options_.start_temperature, options_.usual_temperature(), epochs};
    std::vector<Point> points;
    int last = -1;
    double reached = 0;
    for (std::int64_t k = 0; k <= 10; ++k) {
      const auto epoch = static_cast<int>(k * (options_.epochs - 1) / 10);
      const double tau = heat.temperature(epoch);
      if (epoch == last || tau == reached) continue;  // once it is usual, the temperature stays
      last = epoch;
      reached = tau;
      points.push_back({{std::int64_t{epoch}, tau}, spread_at(tau)});
    }
    std::vector<Table> tables = softmax("Heat Treatment: gradient of W_K over that of W_V",
                                        {{.name = "epoch", .style = Style::shortest}, temperature_column()}, points);
    tables.front().notes.push_back(
        "The weights are those of the initialization throughout: what the schedule does by "
        "itself. It moves 1/tau along half a cosine over the first half of the epochs, and stays; so does the table.");
    return tables;
  }

  std::vector<Table> normsoftmax() {
    Table ratios = table("NormSoftmax: gradient of W_K over that of W_V" + setting(),
                         {{.name = "scale", .style = Style::shortest}, {"map"}},
                         {{.name = "score_stddev", .heading = "x", .digits = 4}, {.name = "median", .digits = 4}});
    std::vector<double> score_stddevs;
    for (const double scale : options_.scales) score_stddevs.push_back(scale * spread_at(options_.usual_temperature()));
    const MeasuredGradients soft = run_.simulator.gradients(GradientMap::softmax, score_stddevs);
    for (std::size_t i = 0; i < score_stddevs.size(); ++i) {
      const double x = score_stddevs[i], scale = options_.scales[i];
      // Below 1 the map does not know the scale, and rows of common draws would be copies.
      const MeasuredGradients norm = run_.simulator.gradients(GradientMap::normsoftmax, {x});
      add(ratios, {scale, "softmax", x, finite(soft.median[i])},
          run_.judgment.judged_if_enough(law(x).imbalance, soft.norms.imbalance(i), key_trials(soft, i)));
      control(x, soft.norms.imbalance(i), key_trials(soft, i));
      add(ratios, {scale, "NormSoftmax", x, finite(norm.median[0])},
          compared_normsoftmax(x, norm.norms.imbalance(0), key_trials(norm, 0)));
    }
    ratios.notes.push_back(
        "x: the scores' standard deviation over sqrt(d_k). NormSoftmax divides by the row's own where that is less "
        "and learns nothing along W_K q; its law has a relative error of order 1/n^2. Approximate where some rows do "
        "and some do not: softmax' law.");
    ratios.draw_notes.push_back("Softmax' rows share their draws; each of NormSoftmax' has its own.");
    return {std::move(ratios)};
  }

  static Column temperature_column() { return {.name = "temperature", .heading = "τ", .digits = 4}; }

  GradientRun& run_;
  const GradientOptions& options_;
  bool narrow_row_tried_ = false;
};

}  // namespace

std::vector<Table> figure_tables(GradientRun& run) { return Figures(run).make(); }

}  // namespace incontext::examples::gradients
