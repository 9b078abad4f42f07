// The concepts are complete: a type with the members that a concept requires and no others is accepted by every
// function, and a type that lacks one of them is refused by the concept, not inside a function.
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/approximate_softmax_expected_error.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/feature_attention.hpp"
#include "incontext/scoring/hardmax.hpp"
#include "incontext/scoring/heat_schedule.hpp"
#include "incontext/scoring/jacobian_norms.hpp"
#include "incontext/scoring/jacobian_spectral_norm.hpp"
#include "incontext/scoring/kernel_attention.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normalized_sa_softmax.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/ratio_score.hpp"
#include "incontext/scoring/sa_softmax.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "incontext/scoring/summary.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"

namespace lacking {

using incontext::scoring::Row;

// ---- Scoring: 0 weights, 1 jvp, 2 vjp, 3 log_weights, 4 derivative
struct Parameter {};
template <int absent>
struct Map {
  using value_type = double;
};
template <int absent>
  requires(absent != 0)
void weights(const Map<absent>&, Row<const double>, Row<double>) {}
template <int absent>
  requires(absent != 1)
void jvp(const Map<absent>&, Row<const double>, Row<const double>, Row<double>) {}
template <int absent>
  requires(absent != 2)
void vjp(const Map<absent>&, Row<const double>, Row<const double>, Row<double>) {}
template <int absent>
  requires(absent != 3)
void log_weights(const Map<absent>&, Row<const double>, Row<double>) {}
template <int absent>
  requires(absent != 4)
void derivative(const Map<absent>&, Parameter, Row<const double>, Row<double>) {}

// ---- maps that have it all, in the wrong form
#define ALL_FUNCTIONS_OF(MapArgument, In, Out, Result)             \
  inline Result weights(MapArgument, In, Out) { return Result(); } \
  inline Result jvp(MapArgument, In, In, Out) { return Result(); } \
  inline Result vjp(MapArgument, In, In, Out) { return Result(); }
struct RightForm {
  using value_type = double;
};
ALL_FUNCTIONS_OF(const RightForm&, Row<const double>, Row<double>, void)
struct WithoutValueType {};
ALL_FUNCTIONS_OF(const WithoutValueType&, Row<const double>, Row<double>, void)
struct OfIntegers {
  using value_type = int;
};
ALL_FUNCTIONS_OF(const OfIntegers&, Row<const int>, Row<int>, void)
struct NotCopyable {
  using value_type = double;
  NotCopyable(const NotCopyable&) = delete;
};
ALL_FUNCTIONS_OF(const NotCopyable&, Row<const double>, Row<double>, void)
struct WritesItsInput {
  using value_type = double;
};
ALL_FUNCTIONS_OF(const WritesItsInput&, Row<double>, Row<double>, void)
struct ChangesItself {
  using value_type = double;
};
ALL_FUNCTIONS_OF(ChangesItself&, Row<const double>, Row<double>, void)
struct WantsLvalues {
  using value_type = double;
};
ALL_FUNCTIONS_OF(const WantsLvalues&, Row<const double>&, Row<double>&, void)
struct Returns {
  using value_type = double;
};
ALL_FUNCTIONS_OF(const Returns&, Row<const double>, Row<double>, int)
#undef ALL_FUNCTIONS_OF

// ---- Elementwise: 0 in_domain, 1 decreasing, 2 value, 3 difference, 4 slope, 5 curvature
template <int absent>
struct Phi {
  bool in_domain() const
    requires(absent != 0)
  {
    return true;
  }
  bool decreasing() const
    requires(absent != 1)
  {
    return false;
  }
  double value(double z) const
    requires(absent != 2)
  {
    return z;
  }
  double difference(double z, double w) const
    requires(absent != 3)
  {
    return z - w;
  }
  double slope(double) const
    requires(absent != 4)
  {
    return 1;
  }
  double curvature(double) const
    requires(absent != 5)
  {
    return 0;
  }
};
template <class PhiType>
struct SoftmaxAfter {
  using value_type = double;
  PhiType elementwise(std::ptrdiff_t) const { return {}; }
};
struct PhiOfFloats : Phi<-1> {
  float value(double z) const { return static_cast<float>(z); }
};
struct PhiThatMoves : Phi<-1> {
  double slope(double) { return 1; }
};

// ---- Kernel: 0 logarithmic, 1 score, 2 jvp, 3 vjp; FeatureKernel: 4 feature_count, 5 query_features, 6 key_features
template <int absent>
struct LogarithmicOr {
  static constexpr bool logarithmic = false;
};
template <>
struct LogarithmicOr<0> {};
template <int absent>
struct Kernel : LogarithmicOr<absent> {
  using value_type = double;
  struct Features {
    double operator()(Row<const double> x, std::ptrdiff_t c) const { return x[c]; }
  };
  double score(Row<const double> q, Row<const double> k) const
    requires(absent != 1)
  {
    double sum = 0;
    for (std::ptrdiff_t c = 0; c < q.size; ++c) sum += q[c] * k[c];
    return sum;
  }
  double jvp(Row<const double> q, Row<const double> k, Row<const double> dq, Row<const double> dk) const
    requires(absent != 2)
  {
    double sum = 0;
    for (std::ptrdiff_t c = 0; c < q.size; ++c) sum += dq[c] * k[c] + q[c] * dk[c];
    return sum;
  }
  void vjp(Row<const double> q, Row<const double> k, const double& weight, Row<double> out_q, Row<double> out_k) const
    requires(absent != 3)
  {
    for (std::ptrdiff_t c = 0; c < q.size; ++c) {
      out_q[c] += weight * k[c];
      out_k[c] += weight * q[c];
    }
  }
  std::ptrdiff_t feature_count(std::ptrdiff_t dimension) const
    requires(absent != 4)
  {
    return dimension;
  }
  Features query_features(std::ptrdiff_t) const
    requires(absent != 5)
  {
    return {};
  }
  Features key_features(std::ptrdiff_t) const
    requires(absent != 6)
  {
    return {};
  }
};
struct KernelOfRunTime : Kernel<0> {
  static bool logarithmic;  // not a constant, but the library branches on it at compile time
};
template <int absent>
struct Positional {
  using value_type = double;
  Kernel<absent> at(std::ptrdiff_t, std::ptrdiff_t) const { return {}; }
};

}  // namespace lacking

namespace concepts_test {

using namespace incontext;
using namespace incontext::scoring;

TEST_CASE("Scoring, LogScoring and HasParameter require every function in the form in which the library calls it",
          "[scoring]") {
  STATIC_REQUIRE(Scoring<lacking::Map<-1>>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::Map<0>>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::Map<1>>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::Map<2>>);
  STATIC_REQUIRE(LogScoring<lacking::Map<-1>>);
  STATIC_REQUIRE(Scoring<lacking::Map<3>>);
  STATIC_REQUIRE_FALSE(LogScoring<lacking::Map<3>>);
  STATIC_REQUIRE_FALSE(LogScoring<lacking::Map<0>>);
  STATIC_REQUIRE(HasParameter<lacking::Map<-1>, lacking::Parameter>);
  STATIC_REQUIRE_FALSE(HasParameter<lacking::Map<4>, lacking::Parameter>);
  STATIC_REQUIRE_FALSE(HasParameter<lacking::Map<0>, lacking::Parameter>);
  STATIC_REQUIRE_FALSE(HasParameter<lacking::Map<-1>, parameter::Temperature>);

  STATIC_REQUIRE(Scoring<lacking::RightForm>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::WithoutValueType>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::OfIntegers>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::NotCopyable>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::WritesItsInput>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::ChangesItself>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::WantsLvalues>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::Returns>);
  STATIC_REQUIRE_FALSE(Scoring<double>);
  STATIC_REQUIRE_FALSE(Scoring<std::string>);
}

TEST_CASE("the foreign maps of the tests satisfy the concepts that their comments name", "[scoring]") {
  STATIC_REQUIRE(SoftmaxLike<foreign::Asinh<double>>);
  STATIC_REQUIRE(LogScoring<foreign::Asinh<double>>);
  STATIC_REQUIRE(HasParameter<foreign::Asinh<double>, foreign::Steepness>);
  STATIC_REQUIRE_FALSE(HasParameter<foreign::Asinh<double>, parameter::Temperature>);
  STATIC_REQUIRE(LogScoring<foreign::SinkSoftmax<double>>);
  STATIC_REQUIRE(HasParameter<foreign::SinkSoftmax<double>, foreign::Warmth>);
  STATIC_REQUIRE_FALSE(SoftmaxLike<foreign::SinkSoftmax<double>>);
}

namespace derived {

/// A map with weights of its own, which sum to less than 1, so that the phi of its base does not describe it.
struct LeakySoftmax : incontext::scoring::Softmax<double> {};
/// A map that only inherits, and states itself that it is softmax after its base's phi.
struct WarmSoftmax : incontext::scoring::Softmax<double> {
  auto elementwise(std::ptrdiff_t count) const { return incontext::scoring::Softmax<double>::elementwise(count); }
};

}  // namespace derived

TEST_CASE("a map that inherits its phi is not taken for its base, unless it says that it is", "[scoring]") {
  STATIC_REQUIRE_FALSE(SoftmaxLike<derived::LeakySoftmax>);
  STATIC_REQUIRE(SoftmaxLike<derived::WarmSoftmax>);
}

TEST_CASE("SoftmaxLike requires every member of phi that the library uses", "[scoring]") {
  STATIC_REQUIRE(SoftmaxLike<lacking::SoftmaxAfter<lacking::Phi<-1>>>);
  STATIC_REQUIRE(LogScoring<lacking::SoftmaxAfter<lacking::Phi<-1>>>);
  STATIC_REQUIRE_FALSE(SoftmaxLike<lacking::SoftmaxAfter<lacking::Phi<0>>>);
  STATIC_REQUIRE_FALSE(SoftmaxLike<lacking::SoftmaxAfter<lacking::Phi<1>>>);
  STATIC_REQUIRE_FALSE(SoftmaxLike<lacking::SoftmaxAfter<lacking::Phi<2>>>);
  STATIC_REQUIRE_FALSE(SoftmaxLike<lacking::SoftmaxAfter<lacking::Phi<3>>>);
  STATIC_REQUIRE_FALSE(SoftmaxLike<lacking::SoftmaxAfter<lacking::Phi<4>>>);
  STATIC_REQUIRE_FALSE(SoftmaxLike<lacking::SoftmaxAfter<lacking::Phi<5>>>);
  STATIC_REQUIRE_FALSE(SoftmaxLike<lacking::SoftmaxAfter<lacking::PhiOfFloats>>);
  STATIC_REQUIRE_FALSE(SoftmaxLike<lacking::SoftmaxAfter<lacking::PhiThatMoves>>);
  STATIC_REQUIRE_FALSE(Scoring<lacking::SoftmaxAfter<lacking::Phi<2>>>);  // and then it has no weights either
  STATIC_REQUIRE_FALSE(SoftmaxLike<lacking::Map<-1>>);
  STATIC_REQUIRE_FALSE(SoftmaxLike<lacking::Phi<-1>>);
}

TEST_CASE("Kernel and FeatureKernel require every member that kernel attention calls", "[scoring]") {
  STATIC_REQUIRE(Kernel<lacking::Kernel<-1>>);
  STATIC_REQUIRE(FeatureKernel<lacking::Kernel<-1>>);
  STATIC_REQUIRE_FALSE(Kernel<lacking::Kernel<0>>);
  STATIC_REQUIRE_FALSE(Kernel<lacking::KernelOfRunTime>);
  STATIC_REQUIRE_FALSE(Kernel<lacking::Kernel<1>>);
  STATIC_REQUIRE_FALSE(Kernel<lacking::Kernel<2>>);
  STATIC_REQUIRE_FALSE(Kernel<lacking::Kernel<3>>);
  STATIC_REQUIRE_FALSE(FeatureKernel<lacking::Kernel<1>>);  // no kernel, so KernelAttention does not hold it
  STATIC_REQUIRE_FALSE(FeatureKernel<lacking::Kernel<4>>);
  STATIC_REQUIRE_FALSE(FeatureKernel<lacking::Kernel<5>>);
  STATIC_REQUIRE_FALSE(FeatureKernel<lacking::Kernel<6>>);
  STATIC_REQUIRE(PositionalKernel<lacking::Positional<-1>>);
  STATIC_REQUIRE_FALSE(PositionalKernel<lacking::Positional<1>>);
  STATIC_REQUIRE_FALSE(PositionalKernel<lacking::Kernel<-1>>);
}

TEST_CASE("kernel attention accepts a kernel with the required members and no others", "[scoring]") {
  const std::vector<double> query{1, -0.5}, keys{0.5, 1, -1, 2, 0.25, 0.75}, values{1, 2, 3};
  const KernelAttention<lacking::Kernel<-1>> map;
  const KernelAttention<lacking::Positional<-1>> positional;
  const KernelAttention<DotKernel<double>> library{{1.0}};
  const Row<const double> q(query);
  const MatrixView<const double> k(keys.data(), 3, 2);
  const auto all = [&](const auto& attention) {
    std::vector<double> out(3), by_query(2), by_keys(6), every;
    weights(attention, q, k, Row<double>(out));
    every.insert(every.end(), out.begin(), out.end());
    jvp(attention, q, k, q, k, Row<double>(out));
    every.insert(every.end(), out.begin(), out.end());
    vjp(attention, q, k, Row<const double>(values), Row<double>(by_query), MatrixView<double>(by_keys.data(), 3, 2));
    every.insert(every.end(), by_query.begin(), by_query.end());
    every.insert(every.end(), by_keys.begin(), by_keys.end());
    return every;
  };
  CHECK(testing::distance(all(map), all(library)) < 1e-14);
  CHECK(testing::distance(all(positional), all(library)) < 1e-14);

  const auto attended = [&](const auto& attention) {
    std::vector<double> scratch(4), out(1);
    attend(attention, MatrixView<const double>(query.data(), 1, 2), k, MatrixView<const double>(values.data(), 3, 1),
           MatrixView<double>(out.data(), 1, 1), attend_state(attention, scratch.data(), 2, 1));
    return out;
  };
  CHECK(testing::distance(attended(map), attended(library)) < 1e-14);
}

}  // namespace concepts_test
