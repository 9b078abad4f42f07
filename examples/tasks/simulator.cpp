#include "examples/tasks/simulator.hpp"

#include <incontext/core/host_device.hpp>
#include <incontext/simulate/engine/lanes.hpp>
#include <incontext/simulate/engine/run.hpp>
#include <incontext/simulate/rows/task_streams.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::tasks {

struct AffineAnswersTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "points";
  static constexpr std::int64_t points = 40;
  AffineSetting setting;

  INCONTEXT_HD int outputs() const { return affine_answers; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> /*scratch*/,
                        simulate::LaneArray<double, W> values) const {
    const simulate::AffineSequences<double> stream{trials.seed, setting.input_stddev, setting.function_stddev,
                                                   setting.first_input_stddev};
    for (int lane = 0; lane < W; ++lane) {
      double x[points], y[points];
      stream.draw(trials.first + static_cast<std::uint64_t>(lane), points, x, y);
      const auto from_first = [&](int k) { return y[0] * (x[k] * x[0] + 1) / (x[0] * x[0] + 1); };
      double zero = 0, clipped = 0, first = 0;
      for (int k = 2; k < points; ++k) {
        const double over = std::abs(y[k]) - setting.bound, missed = from_first(k) - y[k];
        zero += y[k] * y[k];
        clipped += over > 0 ? over * over : 0;
        first += missed * missed;
      }
      const double missed = from_first(1) - y[1];
      values[AffineAnswer::no_example][lane] = y[1] * y[1];
      values[AffineAnswer::one_example][lane] = missed * missed;
      values[AffineAnswer::zero_metric][lane] = zero / points;
      values[AffineAnswer::clipped_metric][lane] = clipped / points;
      values[AffineAnswer::one_example_metric][lane] = first / points;
    }
  }
};

struct QuantifierAnswersTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "length";
  static constexpr std::int64_t most = 1000;
  std::int64_t length;

  INCONTEXT_HD int outputs() const { return quantifier_answers; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> /*scratch*/,
                        simulate::LaneArray<double, W> values) const {
    const simulate::QuantifierSequences<double> stream{trials.seed};
    if (length < 1) return;  // never so, but g++ cannot know it and would warn of numbers that are never drawn
    for (int lane = 0; lane < W; ++lane) {
      double x[most];
      int every[most], some[most];
      x[0] = 0;  // a length is at least 1, which nvcc's host compiler cannot know: it would warn of a value never set
      stream.draw(trials.first + static_cast<std::uint64_t>(lane), length, x, every, some);
      double top = x[0], wrong = 0, failed = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        top = x[i] > top ? x[i] : top;
        wrong += every[i] == 1 ? 1 : 0;
        if (i >= 3 && every[i] == 1) failed = 1;
      }
      const int truth = every[length - 1], sign = x[length - 1] > 0 ? 1 : -1, largest = top > 0 ? 1 : -1;
      values[QuantifierAnswer::every][lane] = truth == 1 ? 1 : 0;
      values[QuantifierAnswer::some][lane] = some[length - 1] == 1 ? 1 : 0;
      values[QuantifierAnswer::last_sign_error][lane] = sign != truth ? 1 : 0;
      values[QuantifierAnswer::largest_sign_error][lane] = largest != truth ? 1 : 0;
      values[QuantifierAnswer::no_mean_error][lane] = wrong / static_cast<double>(length);
      values[QuantifierAnswer::no_sequence_error][lane] = failed;
    }
  }
};

struct ReasoningAnswersTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "one input";
  std::int64_t largest_value;
  double parities_differ;  ///< the chance

  INCONTEXT_HD int outputs() const { return reasoning_answers; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> /*scratch*/,
                        simulate::LaneArray<double, W> values) const {
    const simulate::ReasoningInputs stream{trials.seed, largest_value};
    for (int lane = 0; lane < W; ++lane) {
      const simulate::ReasoningInput one = stream.draw(trials.first + static_cast<std::uint64_t>(lane));
      const bool differ = (one.a + one.b) % 2 == 1;
      const double c = one.c == one.answer ? 1 : 0, d = one.d == one.answer ? 1 : 0;
      values[ReasoningAnswer::parities_differ][lane] = differ ? 1 : 0;
      values[ReasoningAnswer::coin][lane] = (c + d) / 2;
      values[ReasoningAnswer::always_c][lane] = c;
      values[ReasoningAnswer::always_d][lane] = d;
      values[ReasoningAnswer::plateau][lane] =
          one.c == one.d ? 0 : -std::log(differ ? parities_differ : 1 - parities_differ);
    }
  }
};

struct Simulator::State {
  SimulationRuns runs;

  template <class Trial>
  std::vector<statistics::Estimate> means(const std::string& what, const Trial& trial) {
    const auto size = static_cast<std::size_t>(trial.outputs());
    return runs.run(what, size, [&](const simulate::Options& options) { return simulate::run(trial, options); })
        .estimates;
  }
};

Simulator::Simulator(const SimulationOptions& options, bool quiet)
    : state_(new State{SimulationRuns(options, quiet)}) {}

Simulator::~Simulator() = default;

const RunSummary& Simulator::summary() const { return state_->runs.summary(); }

std::vector<statistics::Estimate> Simulator::affine(const AffineSetting& setting) {
  return state_->means("affine functions", AffineAnswersTrial{setting});
}

std::vector<statistics::Estimate> Simulator::quantifier(std::int64_t length) {
  return state_->means("quantifiers", QuantifierAnswersTrial{length});
}

std::vector<statistics::Estimate> Simulator::reasoning(std::int64_t largest_value, double parities_differ) {
  return state_->means("reasoning", ReasoningAnswersTrial{largest_value, parities_differ});
}

}  // namespace incontext::examples::tasks
