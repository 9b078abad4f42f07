#include <cstdint>
#include <string>
#include <vector>

#include "incontext/simulate/engine/run.hpp"
#include "support/catch.hpp"

namespace trial_concept_test {

namespace {

using namespace incontext;
using simulate::LaneArray;
using simulate::Trial;

/// A trial with the members that Trial requires and no others, without assignment and default constructor. The missing
/// part: 0 outputs, 1 scratch_rows, 2 run on one lane, 3 run on the lanes of a CPU.
template <int absent, class Number = double>
class Counting {
 public:
  using Scalar = Number;
  explicit Counting(Number factor) : factor_(factor) {}

  int outputs() const
    requires(absent != 0)
  {
    return 1;
  }
  std::int64_t scratch_rows() const
    requires(absent != 1)
  {
    return 1;
  }

  template <int W>
    requires((W != 1 || absent != 2) && (W != simulate::detail::host_lanes || absent != 3))  //
  void run(random::Trials<W> trials, LaneArray<Number, W> scratch, LaneArray<Number, W> values) const {
    for (int lane = 0; lane < W; ++lane) scratch[0][lane] = static_cast<Number>(trials.first) + Number(lane);
    values[0] = factor_ * scratch[0];
  }

 private:
  const Number factor_;
};

struct WithoutScalar {
  int outputs() const { return 1; }
  std::int64_t scratch_rows() const { return 1; }
  template <int W>
  void run(random::Trials<W>, LaneArray<double, W>, LaneArray<double, W>) const {}
};
struct WithContainer : Counting<-1> {
  std::vector<double> container;
};
struct Moving {
  using Scalar = double;
  int outputs() { return 1; }
  std::int64_t scratch_rows() const { return 1; }
  template <int W>
  void run(random::Trials<W>, LaneArray<double, W>, LaneArray<double, W>) const {}
};
struct Returning {
  using Scalar = double;
  int outputs() const { return 1; }
  std::int64_t scratch_rows() const { return 1; }
  template <int W>
  int run(random::Trials<W>, LaneArray<double, W>, LaneArray<double, W>) const {
    return 0;
  }
};
struct RealOutputs {
  using Scalar = double;
  double outputs() const { return 1; }
  std::int64_t scratch_rows() const { return 1; }
  template <int W>
  void run(random::Trials<W>, LaneArray<double, W>, LaneArray<double, W>) const {}
};

}  // namespace

TEST_CASE("Trial requires every member, on one lane and on as many as a CPU thread runs") {
  STATIC_REQUIRE(Trial<Counting<-1>>);
  STATIC_REQUIRE(Trial<Counting<-1, float>>);
  STATIC_REQUIRE_FALSE(Trial<Counting<-1, int>>);
  STATIC_REQUIRE_FALSE(Trial<Counting<0>>);
  STATIC_REQUIRE_FALSE(Trial<Counting<1>>);
  STATIC_REQUIRE_FALSE(Trial<Counting<2>>);
  STATIC_REQUIRE_FALSE(Trial<Counting<3>>);
  STATIC_REQUIRE_FALSE(Trial<WithoutScalar>);
  STATIC_REQUIRE_FALSE(Trial<WithContainer>);
  STATIC_REQUIRE_FALSE(Trial<Moving>);
  STATIC_REQUIRE_FALSE(Trial<Returning>);
  STATIC_REQUIRE_FALSE(Trial<RealOutputs>);
  STATIC_REQUIRE_FALSE(Trial<std::string>);
  STATIC_REQUIRE_FALSE(Trial<double>);
}

TEMPLATE_TEST_CASE("a trial with the members that Trial requires and no others runs", "", float, double) {
  const Counting<-1, TestType> trial(TestType(2));
  const auto result = simulate::run_on<simulate::detail::HostSystem>(simulate::Device::serial, trial, {.trials = 1000});
  REQUIRE(result.estimates.size() == 1);
  CHECK(result.estimates[0].count == 1000);
  CHECK(std::abs(result.estimates[0].mean - 999) < 1e-9);  // twice the mean of 0, ..., 999
}

}  // namespace trial_concept_test
