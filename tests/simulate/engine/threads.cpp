#include "incontext/simulate/engine/threads.hpp"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "incontext/apply/rows.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/engine/options.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace threads_test {

namespace {

using namespace incontext;
using namespace incontext::simulate::detail;

struct ThrowAt {
  std::int64_t index;
  std::atomic<int>* calls;
  void operator()(std::int64_t i) const {
    ++*calls;
    if (i == index) throw std::runtime_error("index " + std::to_string(i));
  }
};

void check_exceptions(simulate::Device device) {
  for (const int threads : {1, 2, 4}) {
    std::atomic<int> calls = 0;
    CHECK(testing::message_of([&] {
            HostSystem::for_each_index(100, {device, threads}, ThrowAt{37, &calls});
          }) == "index 37");
    CHECK(calls >= 1);
    calls = 0;
    HostSystem::for_each_index(100, {device, threads}, ThrowAt{-1, &calls});
    CHECK(calls == 100);
  }
}

}  // namespace

TEST_CASE("the number of threads that can run at the same time is counted") {
  CHECK(startable_threads(0) == 0);
  CHECK(startable_threads(1) == 1);
  CHECK(startable_threads(7) == 7);
}

TEST_CASE("more threads than can be started are refused with their number, and started ones are remembered") {
  int started = 1;
  require_startable(3, started);
  CHECK(started == 3);
  require_startable(2, started);
  CHECK(started == 3);
}

TEST_CASE("an exception in a worker reaches the caller, on every system, and the next loop runs") {
  check_exceptions(simulate::Device::serial);
  check_exceptions(simulate::Device::openmp);
#if defined(INCONTEXT_SIMULATE_TBB)
  check_exceptions(simulate::Device::tbb);
#endif
}

TEST_CASE("a number of threads above the limit is refused before any is started") {
  const auto refused = [](const auto& call) { return testing::message_of(call); };
  CHECK(testing::names(refused([] { simulate::validate(simulate::Options{.trials = 1, .threads = 1000000}); }),
                       "threads", "1000000"));
  CHECK_NOTHROW(simulate::validate(simulate::Options{.trials = 1, .threads = simulate::most_threads}));
  const std::vector<double> scores{1, 2};
  std::vector<double> out(2);
  CHECK(testing::names(refused([&] {
                         apply::weights(scoring::Softmax<double>{1},
                                        scoring::MatrixView<const double>{scores.data(), 1, 2},
                                        scoring::MatrixView<double>{out.data(), 1, 2}, {.threads = 1000000});
                       }),
                       "threads", "1000000"));
}

}  // namespace threads_test
