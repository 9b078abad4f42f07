// Simulations and closed forms called from four threads at once give what they give alone: nothing in the library that
// is shared between calls changes their results. Under the thread sanitizer the same program shows that nothing is
// shared without synchronization. Ends with 0 if all results are the same.

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "incontext/classification/inverse_partition_function.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/simulate/regression/reduced_softmax_error.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "tests/simulate/regression/models.hpp"

namespace {

using namespace incontext;

std::vector<double> results_of(int caller) {
  const auto task = testing::general_task();
  const auto attention = testing::general_attention();
  const simulate::Options options{
      .seed = 1u + static_cast<unsigned>(caller), .trials = 3000, .device = simulate::Device::serial};
  const auto single = simulate::regression_error<float>(attention, task, 12, scoring::ApproximateSoftmax{1.5}, options);
  const auto full = simulate::regression_error<double>(attention, task, 12, scoring::Softmax{1.5}, options);
  const auto reduced = simulate::reduced_softmax_error(testing::plain_attention(3), testing::isotropic_task(3), 12,
                                                       scoring::Softmax{1.5}, options);
  const double x = 1 + caller;
  const auto inverse = classification::inverse_partition_function(3, x, 50, classification::QueryToken::included);
  return {single.mean,
          full.mean,
          full.standard_error,
          reduced.mean,
          inverse.variance,
          classification::log_kernel_mean(40, 10 * x),
          laws::gaussian_row(1000.0, x).entropy,
          laws::needle_weight(1000, x, 2 * x).value};
}

}  // namespace

int main() {
  constexpr int callers = 4;
  std::vector<std::vector<double>> alone, together(callers);
  for (int caller = 0; caller < callers; ++caller) alone.push_back(results_of(caller));
  std::vector<std::thread> threads;
  for (int caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&together, caller] { together[static_cast<std::size_t>(caller)] = results_of(caller); });
  }
  for (std::thread& thread : threads) thread.join();
  if (alone[0] == alone[1]) std::puts("the callers do not differ: the test is empty");
  if (alone != together) std::puts("results differ when they are computed together");
  return alone == together && alone[0] != alone[1] ? EXIT_SUCCESS : EXIT_FAILURE;
}
