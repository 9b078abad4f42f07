#include "docs/explorer/session.hpp"

#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/family_verdict.hpp>
#include <incontext/statistics/moments.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <stdexcept>

#include "docs/explorer/panel.hpp"

namespace incontext::explorer {

std::vector<double> log_axis(double low, double high, int count) {
  std::vector<double> axis;
  for (int i = 0; i < count; ++i) axis.push_back(low * std::pow(high / low, static_cast<double>(i) / (count - 1)));
  return axis;
}

std::vector<Panel> panels() {
  return {temperature_panel(), needle_panel(), rows_panel(), neighborhoods_panel(), adaptive_rate_panel()};
}

namespace {

using Json = nlohmann::ordered_json;

const Panel& panel_of(const std::string& name) {
  static const std::vector<Panel> all = panels();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Panel& panel) { return panel.name == name; });
  if (found == all.end()) throw std::invalid_argument("there is no panel '" + name + "'");
  return *found;
}

Settings settings_of(const std::string& text) {
  return Settings(Json::parse(text).get<std::map<std::string, double>>());
}

std::string name_of(Scale scale) {
  switch (scale) {
    case Scale::linear:
      return "linear";
    case Scale::logarithmic:
      return "logarithmic";
    case Scale::whole:
      return "whole";
    case Scale::whole_logarithmic:
      break;
  }
  return "whole logarithmic";
}

/// What a function returns, as text; or the message of its error.
template <class Function>
std::string answer(const Function& function) {
  try {
    return Json(function()).dump();
  } catch (const std::exception& error) {
    return Json{{"error", error.what()}}.dump();
  }
}

/// The moments that an estimate was made from.
statistics::Moments moments_of(const statistics::Estimate& estimate) {
  const auto n = static_cast<double>(estimate.count);
  const double se = estimate.standard_error;
  return {.count = estimate.count,
          .mean = estimate.count > 0 ? estimate.mean : 0,
          .sum_of_squares = estimate.count > 1 ? se * se * n * (n - 1) : 0,
          .non_finite = estimate.non_finite};
}

/// The relative error of an approximation decides, also where it is not a number.
bool is_in_range(double error) { return error <= largest_error_in_range; }

/// A simulation that goes on as long as the page asks for more.
struct Run {
  const Panel& panel;
  Settings settings;
  Picture picture;
  std::uint64_t seed;
  std::vector<std::vector<statistics::Moments>> moments = {};
  std::vector<std::vector<double>> rounding = {};
  int looks = 0;

  void add(std::int64_t trials) {
    const Simulated drawn =
        panel.simulate(settings, {.seed = seed, .trials = trials, .device = simulate::Device::serial});
    seed += 0xD1B54A32D192ED03ULL;
    ++looks;
    moments.resize(drawn.size());
    rounding.resize(drawn.size());
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      moments[i].resize(drawn[i].size());
      rounding[i].resize(drawn[i].size());
      for (std::size_t j = 0; j < drawn[i].size(); ++j) {
        moments[i][j] = merge(moments[i][j], moments_of(drawn[i][j]));
        rounding[i][j] = std::max(rounding[i][j], drawn[i][j].rounding);
      }
    }
  }

  [[nodiscard]] statistics::Estimate estimate(std::size_t i, std::size_t j) const {
    statistics::Estimate result(moments[i][j]);
    result.rounding = rounding[i][j];
    return result;
  }

  /// The relative error that the theory states of point j of curve i.
  [[nodiscard]] double theory_error(std::size_t i, std::size_t j) const {
    const Curve& curve = picture.curves.at(i);
    return curve.errors.empty() ? 0 : curve.expected.at(j).error / std::abs(curve.expected.at(j).value);
  }

  [[nodiscard]] Json verdict() const {
    std::vector<statistics::Comparison> family;
    for (std::size_t i = 0; i < moments.size(); ++i) {
      for (std::size_t j = 0; j < moments[i].size(); ++j) {
        if (!is_in_range(theory_error(i, j))) continue;
        family.push_back(statistics::compare(picture.curves.at(i).expected.at(j), estimate(i, j)));
      }
    }
    const double k = std::numbers::pi * std::max(looks, 1);
    const statistics::FamilyVerdict whole = statistics::judge(family, 1e-3 * 6 / (k * k));
    return {{"looks", looks},
            {"judged", whole.judged},
            {"disagreements", whole.disagreements},
            {"largest", whole.farthest ? Json(family[*whole.farthest].agreement.excess) : Json()},
            {"bound", whole.bound}};
  }

  [[nodiscard]] Json points(std::size_t i) const {
    const Curve& curve = picture.curves.at(i);
    Json result = Json::array();
    for (std::size_t j = 0; j < moments[i].size(); ++j) {
      const statistics::Estimate estimate = this->estimate(i, j);
      const auto agreement = statistics::agree(curve.expected.at(j), estimate);
      const double theory_error = this->theory_error(i, j);
      result.push_back({{"x", picture.points.at(j)},
                        {"theory", curve.expected.at(j).value},
                        {"mean", estimate.mean},
                        {"error", estimate.standard_error},
                        {"trials", estimate.count},
                        {"z", agreement.excess >= 0
                                  ? Json(std::copysign(agreement.excess, estimate.mean - curve.expected.at(j).value))
                                  : Json()},
                        {"theory_error", theory_error},
                        {"in_range", is_in_range(theory_error)}});
    }
    return {{"name", curve.name}, {"points", std::move(result)}};
  }
};

std::unique_ptr<Run> running;

}  // namespace

std::string describe() {
  return answer([] {
    Json result = Json::array();
    for (const Panel& panel : panels()) {
      Json sliders = Json::array();
      for (const Slider& slider : panel.sliders) {
        sliders.push_back({{"name", slider.name},
                           {"label", slider.label},
                           {"low", slider.low},
                           {"high", slider.high},
                           {"start", slider.start},
                           {"scale", name_of(slider.scale)},
                           {"step", slider.step}});
      }
      result.push_back({{"name", panel.name},
                        {"tab", panel.tab},
                        {"title", panel.title},
                        {"text", panel.text},
                        {"source", panel.source},
                        {"x_label", panel.x_label},
                        {"y_label", panel.y_label},
                        {"y_scale", name_of(panel.y_scale)},
                        {"sliders", std::move(sliders)}});
    }
    return result;
  });
}

std::string theory(const std::string& panel, const std::string& settings) {
  return answer([&] {
    const Picture picture = panel_of(panel).theory(settings_of(settings));
    Json curves = Json::array();
    for (const Curve& curve : picture.curves) {
      Json in_range = Json::array(), least;
      for (std::size_t i = 0; i < curve.values.size(); ++i) {
        in_range.push_back(curve.errors.empty() || is_in_range(curve.errors[i]));
      }
      if (curve.least) least = {{"x", curve.least->x}, {"value", curve.least->value}};
      curves.push_back({{"name", curve.name},
                        {"values", curve.values},
                        {"marked", curve.marked},
                        {"is_simulated", !curve.expected.empty()},
                        {"is_approximation", curve.is_approximation},
                        {"in_range", std::move(in_range)},
                        {"least", std::move(least)}});
    }
    return Json{{"x", picture.x}, {"marked", picture.marked}, {"curves", std::move(curves)}};
  });
}

std::string start(const std::string& panel, const std::string& settings, std::uint64_t seed) {
  return answer([&] {
    running.reset();
    const Panel& of = panel_of(panel);
    const Settings at = settings_of(settings);
    running = std::make_unique<Run>(Run{of, at, of.theory(at), seed});
    return Json::object();
  });
}

std::string step(std::int64_t trials) {
  return answer([&] {
    if (!running) throw std::logic_error("no simulation was started");
    running->add(trials);
    Json result = Json::array();
    for (std::size_t i = 0; i < running->moments.size(); ++i) result.push_back(running->points(i));
    return result;
  });
}

std::string verdict() {
  return answer([] {
    if (!running) throw std::logic_error("no simulation was started");
    return running->verdict();
  });
}

}  // namespace incontext::explorer
