#include "incontext/apply/derivative.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "apply/matrices.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace scoring;
using apply::Options;

namespace {

using Long = long double;

/// sum_ij g_ij a_ij, row by row.
template <class Map>
Long weighted(const Map& map, const Matrix<double>& scores, const Matrix<double>& cotangent,
              const std::vector<std::int64_t>& counts) {
  Long total = 0;
  for (std::ptrdiff_t i = 0; i < scores.rows; ++i) {
    std::vector<Long> row;
    for (std::ptrdiff_t j = 0; j < counts[static_cast<std::size_t>(i)]; ++j) row.push_back(Long(scores(i, j)));
    weights(map, view(row), row);
    for (std::size_t j = 0; j < row.size(); ++j) {
      total += row[j] * Long(cotangent(i, static_cast<std::ptrdiff_t>(j)));
    }
  }
  return total;
}

/// Against a central difference of the weights in long double (error about 1e-12 relative), the same bits everywhere.
template <class Map, class Wide, class Parameter>
void check_derivative(const Map& map, Wide wide, Parameter parameter) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>>{{1, 1}, {7, 33}, {40, 200}}) {
    Random random(static_cast<std::uint64_t>(rows + columns));
    Matrix<double> scores(rows, columns, 3), cotangent(rows, columns, 1);
    scores.fill_normal(random);
    cotangent.fill_normal(random);
    for (const bool causal : {false, true}) {
      const Options options{.visibility = causal ? Visibility::causal : Visibility::all};
      std::vector<std::int64_t> counts;
      for (std::ptrdiff_t i = 0; i < rows; ++i) counts.push_back(visible_keys(options.visibility, i, rows, columns));
      const Long step = 1e-6L;
      const Long here = parameter.of(wide);
      parameter.of(wide) = here + step;
      const Long above = weighted(wide, scores, cotangent, counts);
      parameter.of(wide) = here - step;
      const Long below = weighted(wide, scores, cotangent, counts);
      parameter.of(wide) = here;
      const Long truth = (above - below) / (2 * step);
      CAPTURE(rows, columns, causal);
      bool first = true;
      double value = 0;
      for_each_system(options, [&](const Options& system) {
        for (const int threads : {system.threads, 7}) {
          Options chosen = system;
          chosen.threads = threads;
          const double result = apply::derivative(map, parameter, scores.in(), cotangent.in(), chosen);
          if (first) value = result;
          first = false;
          CHECK(std::memcmp(&result, &value, sizeof(value)) == 0);
        }
      });
      CHECK(std::abs(Long(value) - truth) <= 1e-9L * (1 + std::abs(truth)));
      if (rows == 40) CHECK_FALSE(std::abs(Long(value) * 1.001L - truth) <= 1e-9L * (1 + std::abs(truth)));
    }
  }
}

}  // namespace

TEST_CASE("derivatives of a matrix by a parameter are differences of its weights, the same bits for all threads",
          "[apply]") {
  check_derivative(Softmax<double>{0.7}, Softmax<Long>{0.7}, parameter::Temperature{});
  check_derivative(SSMax<double>{0.4, 0.1}, SSMax<Long>{0.4, 0.1}, parameter::Scale{});
  check_derivative(SSMax<double>{0.4, 0.1}, SSMax<Long>{0.4, 0.1}, parameter::Bias{});
  check_derivative(SSA<double>{1, 1.5, 2}, SSA<Long>{1, 1.5, 2}, parameter::Base{});
  check_derivative(SSA<double>{1, 1.5, 2}, SSA<Long>{1, 1.5, 2}, parameter::Exponent{});
  check_derivative(SSA<double>{1, 1.5, 2}, SSA<Long>{1, 1.5, 2}, parameter::Temperature{});
  check_derivative(ApproximateSoftmax<double>{2}, ApproximateSoftmax<Long>{2}, parameter::Temperature{});
  check_derivative(LinearAttention<double>{2}, LinearAttention<Long>{2}, parameter::Temperature{});
  check_derivative(Entmax<double>{1.5}, Entmax<Long>{1.5}, parameter::Alpha{});
  check_derivative(NormSoftmax<double>{0.125}, NormSoftmax<Long>{0.125}, parameter::Temperature{});
}

TEST_CASE("a row that is masked throughout is refused by its number, or makes the sum NaN; other masks count 0",
          "[apply]") {
  Matrix<double> scores(4, 20), cotangent(4, 20);
  Random random(7);
  scores.fill_normal(random);
  cotangent.fill_normal(random);
  const Softmax<double> map{1};
  for (std::ptrdiff_t j = 5; j < 20; ++j) {
    scores(1, j) = -std::numeric_limits<double>::infinity();
    cotangent(1, j) = nan;
  }
  CHECK(std::isfinite(apply::derivative(map, parameter::Temperature{}, scores.in(), cotangent.in())));
  CHECK(std::isfinite(
      apply::derivative(ApproximateSoftmax<double>{1}, parameter::Temperature{}, scores.in(), cotangent.in())));
  for (std::ptrdiff_t j = 0; j < 20; ++j) scores(2, j) = -std::numeric_limits<double>::infinity();
  const auto call = [&](apply::Undefined undefined) {
    return apply::derivative(map, parameter::Temperature{}, scores.in(), cotangent.in(), {.undefined = undefined});
  };
  CHECK(names(message_of([&] { call(apply::Undefined::refuse); }), "undefined on this row of scores: row (value = 2"));
  CHECK(std::isnan(call(apply::Undefined::leave)));
  const Matrix<double> small(4, 19);
  CHECK(names(message_of([&] { apply::derivative(map, parameter::Temperature{}, scores.in(), small.in()); }),
              "columns of cotangent has the wrong size (value = 19; needs 20)"));
}

}  // namespace incontext::testing
