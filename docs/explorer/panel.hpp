#pragma once

#include <incontext/simulate/engine/options.hpp>
#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// One panel of the explorer: a picture of theory with sliders, and a simulation that draws points into it.
namespace incontext::explorer {

/// How a slider or an axis runs: evenly, by equal factors, over whole numbers, or over whole numbers by equal factors.
enum class Scale { linear, logarithmic, whole, whole_logarithmic };

struct Slider {
  std::string name, label;
  double low, high, start;
  Scale scale = Scale::linear;
  double step = 0;  ///< of whole numbers: the distance between them; 0: 1
};

/// Where the sliders stand, by name.
class Settings {
 public:
  explicit Settings(std::map<std::string, double> values) : values_(std::move(values)) {}
  [[nodiscard]] double at(const std::string& name) const { return values_.at(name); }
  [[nodiscard]] std::int64_t count(const std::string& name) const { return std::llround(values_.at(name)); }

 private:
  std::map<std::string, double> values_;
};

/// An approximation whose own error, over its value, may be larger than this is out of its range: it is dotted.
inline constexpr double largest_error_in_range = 0.05;

/// The place on the axis where a curve is least, and its value there.
struct Least {
  double x, value;
};

/// A curve of the theory: its values over the axis, its value at the marked place, and what is expected at the simulated
/// points. A curve without expectations is not simulated. Of an approximation that states its error, over its value, there
/// are `errors` over the axis; the expectations have it, too.
struct Curve {
  std::string name;
  std::vector<double> values;
  double marked;
  std::vector<statistics::Theory> expected = {};
  bool is_approximation = false;
  std::vector<double> errors = {};
  std::optional<Least> least = {};
};

struct Picture {
  std::vector<double> x;
  double marked;               ///< the place on the axis whose values are printed
  std::vector<double> points;  ///< the places that are simulated
  std::vector<Curve> curves;
};

/// Estimates of the simulated curves in their order, each at every point.
using Simulated = std::vector<std::vector<statistics::Estimate>>;

struct Panel {
  std::string name, tab, title, text, source;
  std::string x_label, y_label;
  Scale y_scale = Scale::linear;
  std::vector<Slider> sliders;
  std::function<Picture(const Settings&)> theory;
  /// Draws at least this many trials of a row of usual length, or as many as take the same time.
  std::function<Simulated(const Settings&, const simulate::Options&)> simulate;
};

std::vector<double> log_axis(double low, double high, int count);

/// A curve from its formula, which takes a place on the axis and returns what a statistics::Theory is made from.
template <class Formula>
Curve curve_of(std::string name, const Picture& picture, const Formula& formula) {
  Curve curve{.name = std::move(name), .values = {}, .marked = statistics::Theory(formula(picture.marked)).value};
  for (const double x : picture.x) curve.values.push_back(statistics::Theory(formula(x)).value);
  for (const double x : picture.points) curve.expected.emplace_back(formula(x));
  return curve;
}

/// The curve of an approximation from its formula and that of its relative error.
template <class Formula, class Error>
Curve approximation_of(std::string name, const Picture& picture, const Formula& formula, const Error& error) {
  Curve curve = curve_of(std::move(name), picture, [&](double x) {
    const double value = formula(x);
    return statistics::Theory(value, error(x) * std::abs(value));
  });
  curve.is_approximation = true;
  for (const double x : picture.x) curve.errors.push_back(error(x));
  return curve;
}

Panel temperature_panel();
Panel needle_panel();
Panel rows_panel();
Panel neighborhoods_panel();
Panel adaptive_rate_panel();

std::vector<Panel> panels();

}  // namespace incontext::explorer
