#include "incontext/simulate/engine/memory.hpp"

#include <unistd.h>

#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/sample.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace memory_test {

namespace {

using namespace incontext;
using namespace incontext::simulate::detail;

/// A trial that needs the given number of rows of scratch and writes to the last one.
struct WideTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "its width";
  std::int64_t rows = 1;

  INCONTEXT_HD int outputs() const { return 1; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return rows; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> scratch,
                        simulate::LaneArray<double, W> values) const {
    for (int lane = 0; lane < W; ++lane) {
      scratch[rows - 1][lane] = static_cast<double>(static_cast<std::int64_t>(trials.first) + lane);
    }
    values[0] = scratch[rows - 1];
  }
};

struct NoMemory {
  using value_type = double;
  std::size_t size() const { return 0; }
  void resize(std::size_t) { throw std::bad_alloc(); }
};

/// Memory of a device that grants whatever it is asked for.
struct GrantedMemory {
  using value_type = double;
  std::size_t granted = 0;
  std::size_t size() const { return granted; }
  void resize(std::size_t numbers) { granted = numbers; }
};

constexpr std::int64_t too_many = std::int64_t{1} << 40;

}  // namespace

TEST_CASE("a size that no address reaches is refused, and does not wrap around to a small one") {
  GrantedMemory memory;
  CHECK_THROWS_AS(make_room("here", memory, {too_many, too_many, "units", "the width"}), std::invalid_argument);
  CHECK(memory.granted == 0);
  make_room("here", memory, {1 << 20, 1 << 20, "units", "the width"});
  CHECK(memory.granted == std::size_t{1} << 40);
}

TEST_CASE("memory of a GPU that an index of 32 bits does not reach is refused") {
  constexpr std::int64_t bytes = std::int64_t{1} << 32;
  const auto granted = [](std::int64_t units, std::int64_t per_unit) {
    GrantedMemory memory;
    return testing::message_of([&] { make_room("here", memory, {units, per_unit, "units", "the width"}); }).empty();
  };
  CHECK(granted(bytes / 8 - 1, 2));
  CHECK_FALSE(granted(bytes / 8, 2));
  CHECK(granted(2, bytes - 1));
  CHECK_FALSE(granted(2, bytes));
  GrantedMemory large;  // enough numbers, but not in this shape
  make_room("here", large, {bytes / 8 - 1, 4, "units", "the width"});
  const std::string said = testing::message_of([&] { make_room("here", large, {2, bytes, "trials", "the width"}); });
  CHECK(testing::Naming(said, {"incontext::here", "2 trials of 4294967296 numbers", "the width"}));
}

TEST_CASE("sizes are written in the units of their magnitude") {
  CHECK(bytes_text(12) == "12 bytes");
  CHECK(bytes_text(1536) == "1.54 kB");
  CHECK(bytes_text(8e9) == "8 GB");
  CHECK(bytes_text(3e30) == "3e+12 EB");
}

TEST_CASE("a buffer is allocated once, and too little memory is refused with its size and what it depends on") {
  std::vector<double> memory;
  make_room("here", memory, {10, 3, "rows", "columns"});
  CHECK(memory.size() == 30);
  make_room("here", memory, {2, 3, "rows", "columns"});
  CHECK(memory.size() == 30);
  const auto refused = [](auto&& store, std::int64_t units) {
    return testing::message_of([&] { make_room("here", store, {units, 1000, "trials", "the context"}); });
  };
  // More than the machine has; more than a vector may hold; refused by the allocator.
  for (const auto& message : {refused(memory, too_many), refused(memory, std::numeric_limits<std::int64_t>::max() / 2),
                              refused(NoMemory{}, 5)}) {
    CAPTURE(message);
    CHECK(message.find("incontext::here: there is not enough memory (value = ") == 0);
    CHECK(message.find("trials take 1000 numbers each, which grow with the context") != std::string::npos);
  }
  CHECK(memory.size() == 30);
}

TEST_CASE("the memory of this machine is that of its pages, or of the container that the test runs in") {
  const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  CHECK(memory_of_machine() > 1e8);
  CHECK(memory_of_machine() <= pages);
}

TEST_CASE("a trial too large for the memory is refused with its size and what it depends on") {
  const WideTrial trial{too_many};
  for (const bool sampled : {false, true}) {
    const auto message = testing::message_of([&] {
      if (sampled) {
        simulate::sample_on<HostSystem>(trial, {.trials = 100, .device = simulate::Device::serial});
      } else {
        simulate::run_on<HostSystem>(simulate::Device::serial, trial, {.trials = 100});
      }
    });
    CAPTURE(message);
    CHECK(message.find("there is not enough memory") != std::string::npos);
    CHECK(message.find("1099511627776 numbers each, which grow with its width") != std::string::npos);
  }
}

TEST_CASE("large trials share the memory of a few, and give the same bits") {
  // A batch of 64 takes 64 MB: a wave of 1024 trials at once would take a gigabyte.
  const WideTrial wide{1 << 17};
  CHECK(slots_of<HostSystem>(wide, 16, {simulate::Device::serial, 0}) == 1);
  CHECK(slots_of<HostSystem>(wide, 16, {simulate::Device::openmp, 3}) == 3);
  CHECK(slots_of<HostSystem>(wide, 2, {simulate::Device::openmp, 3}) == 2);
  // four per thread, and no more than there are batches
  CHECK(slots_of<HostSystem>(WideTrial{}, 16, {simulate::Device::openmp, 3}) == 12);
  const auto large = simulate::run_on<HostSystem>(simulate::Device::openmp, wide, {.trials = 3000, .threads = 2});
  const auto small = simulate::run_on<HostSystem>(simulate::Device::serial, WideTrial{}, {.trials = 3000});
  CHECK(large.estimates[0].mean == small.estimates[0].mean);
  CHECK(large.estimates[0].standard_error == small.estimates[0].standard_error);
  const auto kept =
      simulate::sample_on<HostSystem>(wide, {.trials = 300, .device = simulate::Device::openmp, .threads = 2});
  CHECK(kept.values.front() == 0);
  CHECK(kept.values.back() == 299);
}

}  // namespace memory_test
