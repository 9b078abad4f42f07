#pragma once

#include <incontext/calibration/visible_scores.hpp>
#include <incontext/maps/any_map.hpp>
#include <incontext/scoring/jacobian_spectral_norm.hpp>

#include <cmath>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Every scoring map of one row behind one type, chosen by its name on the command line.
namespace incontext::examples::scores {

using Numbers = std::vector<double>;

/// The parameters of all maps; each map reads its own.
struct MapParameters {
  double temperature = 1;
  double s = 0.43;
  double bias = 0;
  double base = 1;
  double exponent = 1.5;
  double alpha = 1.5;
  scoring::ScoreScale scale = scoring::ScoreScale::population_stddev;
  scoring::ScoreNormalization over = scoring::ScoreNormalization::context_length;
};

/// A map with its functions of a row; `log_weights(z)` returns no numbers for a map whose weights may be negative.
struct ScoreMap {
  maps::AnyMap<double> map;

  Numbers weights(const Numbers& z) const {
    Numbers out(z.size());
    maps::weights(map, scoring::Row<const double>(z), scoring::Row<double>(out));
    return out;
  }
  Numbers log_weights(const Numbers& z) const {
    Numbers out;
    std::visit(
        [&]<class Map>(const Map&) {
          if constexpr (scoring::LogScoring<Map>) {
            out.resize(z.size());
            maps::log_weights(map, scoring::Row<const double>(z), scoring::Row<double>(out));
          }
        },
        map.chosen);
    return out;
  }
  Numbers jvp(const Numbers& z, const Numbers& u) const {
    Numbers out(z.size());
    maps::jvp(map, scoring::Row<const double>(z), scoring::Row<const double>(u), scoring::Row<double>(out));
    return out;
  }
  /// Whether a finite mask would change the other weights.
  bool counts_keys() const {
    return std::visit([]<class Map>(const Map&) { return calibration::counts_keys<Map>; }, map.chosen);
  }
};

template <scoring::Scoring Map>
ScoreMap score_map(const Map& map) {
  return {{map}};
}

/// An option that sets a parameter, for every map that has it.
struct MapOption {
  std::string_view parameter, name;
  double MapParameters::*value;
};
inline constexpr MapOption map_options[]{{"temperature", "--temperature", &MapParameters::temperature},
                                         {"scale", "--s", &MapParameters::s},
                                         {"bias", "--bias", &MapParameters::bias},
                                         {"base", "--base", &MapParameters::base},
                                         {"exponent", "--exponent", &MapParameters::exponent},
                                         {"alpha", "--alpha", &MapParameters::alpha}};

inline std::vector<std::string> options_of(const maps::AnyMap<double>& map) {
  std::vector<std::string> names;
  maps::for_each_parameter(map, [&](auto parameter, double) {
    for (const MapOption& option : map_options) {
      if (option.parameter == parameter.name) names.emplace_back(option.name);
    }
  });
  maps::for_each_choice(
      map, [&](std::string_view name, auto) { names.emplace_back(name == "scale" ? "--score-scale" : "--over"); });
  return names;
}

inline void choose(scoring::ScoreScale& choice, const MapParameters& given) { choice = given.scale; }
inline void choose(scoring::ScoreNormalization& choice, const MapParameters& given) { choice = given.over; }
inline void choose(scoring::LinearNormalization& choice, const MapParameters& given) {
  const bool none = given.over == scoring::ScoreNormalization::none;
  choice = none ? scoring::LinearNormalization::none : scoring::LinearNormalization::context_length;
}

/// The map of a name with the parameters that are given.
inline maps::AnyMap<double> map_with(const std::string& name, const MapParameters& given) {
  maps::AnyMap<double> map = maps::find_map<double>(name);
  maps::for_each_parameter(map, [&](auto parameter, double& value) {
    for (const MapOption& option : map_options) {
      if (option.parameter == parameter.name) value = given.*option.value;
    }
  });
  maps::for_each_choice(map, [&](std::string_view, auto& choice) { choose(choice, given); });
  return map;
}

/// The spectral and the Frobenius norm of a map's Jacobian at a row.
struct MatrixNorms {
  double spectral;
  double frobenius;
};

inline MatrixNorms jacobian_norms_at(const ScoreMap& map, const Numbers& z) {
  const std::size_t n = z.size();
  Numbers transposed;  // each row is stored as a column, which has the same norms
  double squares = 0;
  for (std::size_t j = 0; j < n; ++j) {
    Numbers unit(n, 0.0);
    unit[j] = 1;
    const Numbers column = map.jvp(z, unit);
    transposed.insert(transposed.end(), column.begin(), column.end());
    for (const double x : column) squares += x * x;
  }
  const auto size = static_cast<std::ptrdiff_t>(n);
  return {scoring::spectral_norm(scoring::MatrixView<double>(transposed.data(), size, size)), std::sqrt(squares)};
}

}  // namespace incontext::examples::scores
