#include "incontext/laws/gaussian_row.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "incontext/laws/fading.hpp"
#include "incontext/laws/fading_grid.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

/// The same templates at 50 digits against all 30 digits of the reference values.
namespace incontext::testing {

using namespace laws;

namespace {

using Json = nlohmann::json;

/// All cases of one kind; at least one, so that a renamed kind is noticed.
std::vector<Json> cases(const std::string& kind) {
  std::ifstream file(INCONTEXT_ORACLES "/scoring.json");
  REQUIRE(file.good());
  const Json all = Json::parse(file);
  std::vector<Json> found;
  for (const Json& one : all.at("cases")) {
    if (one.at("kind") == kind) found.push_back(one);
  }
  REQUIRE(!found.empty());
  return found;
}

Real50 digits(const Json& value) {
  return value.is_string() ? Real50(value.get<std::string>()) : Real50(value.get<double>());
}

void check_digits(const Json& one, const std::string& key, const Real50& value) {
  const Real50 reference = digits(one.at("out").at(key));
  INFO(one.at("id") << " " << key << ": " << value.str(32) << " against " << reference.str(32));
  CHECK(abs(value - reference) <= Real50(1e-28) * abs(reference));
}

}  // namespace

TEST_CASE("fading agrees with the references to their last digits", "[laws][oracle]") {
  for (const Json& one : cases("fading_two_level")) {
    const Real50 n = digits(one.at("in").at("n")),
                 gap = digits(one.at("in").at("high")) - digits(one.at("in").at("low"));
    const auto ssmax = two_level_weights(n, Real50(digits(one.at("in").at("s")) * log(n) * gap));
    check_digits(one, "softmax_max", two_level_weights(n, gap).high);
    check_digits(one, "ssmax_max", ssmax.high);
    check_digits(one, "ssmax_one_minus_max", ssmax.complement);
  }
  for (const Json& one : cases("fading_grid")) {
    const Real50 n = digits(one.at("in").at("n")), s = digits(one.at("in").at("s"));
    check_digits(one, "softmax_logS", grid_log_sum(n, Real50(1)));
    check_digits(one, "ssmax_zstar", grid_threshold(n, Real50(s * log(n))));
    check_digits(one, "ssmax_weight", grid_weight(n, Real50(s * log(n)), digits(one.at("in").at("z_max"))));
    check_digits(one, "ssmax_zstar_asymptotic", ssmax_bounded_threshold(n, s, BoundedScores<Real50>{Real50(1)}));
  }
}

TEST_CASE("a row of normal scores agrees with the references to their last digits", "[laws][oracle]") {
  for (const Json& one : cases("rem")) {
    const auto row = gaussian_row(digits(one.at("in").at("n")), digits(one.at("in").at("x")));
    check_digits(one, "E_logZ", row.log_partition);
    check_digits(one, "Y2", row.ipr);
    check_digits(one, "Y3", row.cubed_weights);
    check_digits(one, "Y22", row.squared_ipr);
    check_digits(one, "E_entropy", row.entropy);
    check_digits(one, "E_M", row.mean_score);
    check_digits(one, "E_M2", row.squared_mean_score);
    check_digits(one, "E_V", row.score_variance);
    check_digits(one, "E_V2", row.squared_score_variance);
    check_digits(one, "E_T", row.weighted_deviation);
    check_digits(one, "E_PF2", row.squared_frobenius);
    check_digits(one, "E_trP2", row.squared_trace);
    CHECK(row.error_estimate < Real50(1e-31));
  }
  for (const Json& one : cases("rem_needle_complement")) {
    if (one.at("id") != "rem-complement-64-1") continue;
    const Json& in = one.at("in");
    const auto noise = noise_weight(digits(in.at("N_noise")), digits(in.at("x")), digits(in.at("beta_m")));
    check_digits(one, "E_one_minus_p", noise.value);
  }
}

}  // namespace incontext::testing
