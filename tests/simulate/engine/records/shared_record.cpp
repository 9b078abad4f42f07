#include "incontext/simulate/engine/records/shared_record.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "incontext/simulate/classification/classification_grid.hpp"
#include "incontext/simulate/engine/devices.hpp"
#include "incontext/simulate/engine/records/shared_run.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace shared_record_test {

namespace {

using namespace incontext;
using simulate::ChunkRange;
using simulate::Device;
using simulate::NumberedDevice;
using simulate::Options;
using simulate::RunMessage;
using simulate::RunRequest;
using simulate::Simulation;
using simulate::SimulationRecord;
using Devices = std::vector<NumberedDevice>;

/// A normal and its square, which need different numbers of trials. It counts its trials and may take long.
struct SquareTrial {
  using Scalar = float;
  float scale = 1;
  std::atomic<std::int64_t>* done = nullptr;
  int microseconds = 0;  // per call
  std::int64_t interrupted = -1;
  std::int64_t fails = -1;

  INCONTEXT_HD int outputs() const { return 2; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 1; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<float, W>,
                        simulate::LaneArray<float, W> values) const {
    Lanes<float, W> normal[4];
    random::normals(random::LaneStream(trials, random::StreamTag(0)), 0u, normal);
    for (int lane = 0; lane < W; ++lane) {
      values[0][lane] = 1 + scale * normal[0][lane];
      values[1][lane] = normal[1][lane] * normal[1][lane];
    }
    if (done != nullptr) *done += W;
    if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    const auto first = static_cast<std::int64_t>(trials.first);
    if (first <= interrupted && interrupted < first + W) std::raise(SIGINT);
    if (first <= fails && fails < first + W) throw std::runtime_error("this trial fails");
  }
};

bool have_same_bits(const Simulation& a, const Simulation& b) {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  bool are_same = a.trials == b.trials && a.estimates.size() == b.estimates.size();
  for (std::size_t i = 0; are_same && i < a.estimates.size(); ++i) {
    const auto &x = a.estimates[i], &y = b.estimates[i];
    are_same = x.count == y.count && x.mean == y.mean && same(x.standard_error, y.standard_error);
  }
  return are_same;
}

Devices serial(std::size_t count) { return Devices(count, {Device::serial}); }

const std::vector<Options> plans = {{.seed = 2, .trials = 1},
                                    {.seed = 3, .trials = 9800},
                                    {.seed = 4, .trials = 300 * 1024},
                                    {.seed = 5, .relative_error = 0.5},
                                    {.seed = 6, .relative_error = 0.004},
                                    {.seed = 7, .trials = 5000, .relative_error = 0.001},
                                    {.seed = 8, .trials = 50001, .relative_error = 0.001}};

}  // namespace

TEST_CASE("1 to 5 ranks give the bits of one run, pilot included, and a grid's", "[shared]") {
  const auto run = [](const Options& options) { return simulate::run(SquareTrial{}, options); };
  const auto grid = [](const Options& options) {
    const simulate::ClassificationGrid points{simulate::ClassificationRule::adaptive, {0, 1, 2}, {3, 11}};
    return simulate::classification_grid<float>({3, 3, 9}, points, options).run;
  };
  for (const std::size_t ranks : {1U, 2U, 3U, 5U}) {
    CAPTURE(ranks);
    for (const Options& options : plans) {
      Options alone = options;
      alone.device = Device::serial;
      CAPTURE(options.seed);
      CHECK(have_same_bits(simulate::run_on_devices(serial(ranks), options, run), run(alone)));
    }
    const Options options{.seed = 9, .trials = 20000, .device = Device::serial};
    CHECK(have_same_bits(simulate::run_on_devices(serial(ranks), options, grid), grid(options)));
  }
}

TEST_CASE("every rank computes the first chunk, all other chunks once, and a slow rank fewer of them", "[shared]") {
  constexpr std::int64_t chunks = 400;
  simulate::LocalRanks ranks(3);
  std::atomic<std::int64_t> done[3] = {};
  Simulation results[3];
  const auto rank = [&](int number) {
    simulate::SharedRecord record([&](const RunMessage& message) { return ranks.call(number, message); });
    const SquareTrial trial{.done = &done[number], .microseconds = number == 2 ? 1500 : 150};
    results[number] = simulate::run(trial, {.trials = chunks * 1024, .device = Device::serial, .record = &record});
    ranks.call(number, {.request = RunRequest::leave});
  };
  std::thread one(rank, 1), two(rank, 2);
  rank(0);
  one.join();
  two.join();
  const auto expected = simulate::run(SquareTrial{}, {.trials = chunks * 1024, .device = Device::serial});
  for (const Simulation& result : results) CHECK(have_same_bits(result, expected));
  CHECK(done[0] + done[1] + done[2] == (chunks + 2) * 1024);
  CHECK(done[2] < done[0] / 2);
  CHECK(done[2] < done[1] / 2);
  CHECK(done[2] >= 2 * 1024);
}

TEST_CASE("ranks with other parameters, seeds or numbers of trials are named, all by the same words", "[shared]") {
  const auto refused = [](const SquareTrial& trial, const Options& options) {
    simulate::LocalRanks ranks(3);
    std::string said[3];
    const auto rank = [&](int number) {
      simulate::SharedRecord record([&](const RunMessage& message) { return ranks.call(number, message); });
      record.name_next("squares");
      Options own = number == 1 ? options : Options{.trials = 300 * 1024};
      own.device = Device::serial;
      own.record = &record;
      said[number] =
          testing::message_of<std::exception>([&] { simulate::run(number == 1 ? trial : SquareTrial{}, own); });
      ranks.call(number, {.request = RunRequest::leave, .text = said[number]});
    };
    std::thread one(rank, 1), two(rank, 2);
    rank(0);
    one.join();
    two.join();
    CHECK(said[0] == said[2]);
    CHECK(said[0].find(said[1]) != std::string::npos);  // with the rank before it, if the refusal is its own
    return said[0];
  };
  CHECK(refused({}, {.trials = 300 * 1024}).empty());
  const float next = std::nextafter(1.0F, 2.0F);
  const auto named = [](const std::string& text, const std::string& what) {
    return testing::names(text, "ranks ", " and ", "1", "different simulations", "(squares)", what);
  };
  CHECK(named(refused({next}, {.trials = 300 * 1024}), "first 1024 trials"));
  CHECK(named(refused({}, {.seed = 5, .trials = 300 * 1024}), "another seed"));
  CHECK(named(refused({}, {.trials = 301 * 1024}), "another number of trials"));
  CHECK(named(refused({}, {.trials = 300 * 1024, .relative_error = 0.1}), "another relative_error"));
  CHECK(testing::names(refused({}, {.trials = 0}), "rank 1", "trials"));
  CHECK(testing::names(refused({.fails = 100}, {.trials = 300 * 1024}), "rank 1", "this trial fails"));
}

TEST_CASE("a waiting rank 0 does not delay the others' totals, and they leave with its exit code", "[shared]") {
  simulate::SharedRun run(2);
  const simulate::SimulationIdentity identity{.scalar = "float", .outputs = 1, .trials = 4 * 1024};
  run.receive(0, {.request = RunRequest::wait});
  CHECK_FALSE(run.take(0));
  run.receive(1, {.request = RunRequest::begin, .identity = identity});
  CHECK(run.take(1));
  run.receive(1, {.request = RunRequest::next, .end = 4, .most = 4});
  const auto next = run.take(1);
  REQUIRE(next);
  CHECK(next->range.count == 0);  // rank 0 runs no further simulation, so that this one is not to be finished
  run.receive(1, {.request = RunRequest::totals, .end = 4});
  const auto totals = run.take(1);
  REQUIRE(totals);
  CHECK(totals->error.empty());
  CHECK(totals->totals.size() == 1);
  run.receive(1, {.request = RunRequest::leave});
  CHECK_FALSE(run.take(1));  // the exit code is not known yet
  CHECK(run.take(0));
  run.receive(0, {.request = RunRequest::leave, .exit_code = 3});
  const auto end = run.take(1);
  REQUIRE(end);
  CHECK(end->exit_code == 3);
  CHECK(run.is_over());
}

TEST_CASE("a stop request ends all ranks, and what they kept resumes on other numbers of ranks", "[shared]") {
  const auto all = [](const Options& options) { return simulate::run(SquareTrial{}, options); };
  const Options options{.seed = 4, .relative_error = 0.001};
  Options alone = options;
  alone.device = Device::serial;
  const Simulation expected = all(alone);
  std::vector<simulate::RecordedSimulation> known;
  for (const std::size_t ranks : {3U, 2U, 1U, 4U}) {
    SimulationRecord record(known);
    const simulate::InterruptGuard guard;
    const std::int64_t at = 1024 * static_cast<std::int64_t>(100 + 150 * ranks);
    const Simulation cut = simulate::run_on_devices(
        serial(ranks), options,
        [&](const Options& own) { return simulate::run(SquareTrial{.interrupted = known.empty() ? at : -1}, own); },
        &record);
    CHECK(cut.interrupted == known.empty());
    CHECK((cut.trials < expected.trials) == known.empty());
    if (!known.empty()) CHECK(have_same_bits(cut, expected));
    if (known.empty()) known = record.simulations();
  }
  SimulationRecord record(known);
  alone.record = &record;
  CHECK(have_same_bits(all(alone), expected));
}

TEST_CASE("a device that fails ends the run with its exception, and wrong devices are refused", "[shared]") {
  const auto run = [](const SquareTrial& trial, const Devices& devices, Options options = {.trials = 100000}) {
    return simulate::run_on_devices(devices, options, [&](const Options& own) { return simulate::run(trial, own); });
  };
  CHECK(testing::message_of<std::runtime_error>([&] { run({.fails = 90000}, serial(3)); }) == "this trial fails");
  CHECK(run({}, {{Device::serial}, {Device::openmp, 0, 2}}).trials == 100000);
  CHECK(testing::refuses<std::invalid_argument>([&] { run({}, {}); }, {"devices.size()", "value = 0"}));
  CHECK(testing::refuses<std::invalid_argument>([&] { run({}, {{Device::serial}, {Device::cuda}}); }, {"cuda"}));
  SimulationRecord record;
  CHECK(testing::refuses<std::invalid_argument>([&] { run({}, serial(2), {.trials = 9, .record = &record}); },
                                                {"options.record"}));
}

TEST_CASE("messages between ranks keep every bit as bytes, and those that are cut short are refused", "[shared]") {
  statistics::MomentsTree tree(5);
  for (int i = 0; i < 9; ++i) tree.push(statistics::Moments{i, 0.1 * i, std::nan("1"), 2});
  const RunMessage message{
      .request = RunRequest::totals,
      .text = std::string("a\0b", 3),
      .identity = {.scalar = "float", .outputs = 2, .seed = ~0ULL, .trials = 7, .relative_error = 0.1},
      .end = 70,
      .most = 3,
      .is_stopped = true,
      .exit_code = 2,
      .first_chunk = {{1024, -0.0, 0.5, 0}, {1, 2, 3, 4}},
      .finished = {tree, tree}};
  const std::string bytes = simulate::detail::bytes_of(message);
  const auto read = simulate::detail::message_in<RunMessage>(bytes);
  CHECK(simulate::detail::bytes_of(read) == bytes);
  CHECK(read.request == RunRequest::totals);
  CHECK(read.text == message.text);
  CHECK(read.identity.seed == ~0ULL);
  CHECK(read.end == 70);
  CHECK(read.is_stopped);
  CHECK(read.finished[1].first() == 5);
  CHECK(read.finished[1].end() == 14);
  CHECK(same_bits(read.finished[1].total(), tree.total()));
  CHECK(same_bits(read.first_chunk[0], message.first_chunk[0]));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_THROWS_AS(simulate::detail::message_in<RunMessage>(bytes.substr(0, size)), std::runtime_error);
  }
  const simulate::RunReply reply{.error = "e", .text = "t", .range = {3, 4}, .known = 9, .totals = {{1, 2, 3, 4}}};
  const std::string answer = simulate::detail::bytes_of(reply);
  CHECK(simulate::detail::bytes_of(simulate::detail::message_in<simulate::RunReply>(answer)) == answer);
}

}  // namespace shared_record_test
