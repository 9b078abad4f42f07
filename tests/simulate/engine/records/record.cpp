#include "incontext/simulate/engine/records/record.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "incontext/simulate/classification/classification_grid.hpp"
#include "incontext/simulate/classification/classification_search.hpp"
#include "incontext/simulate/engine/records/simulation_record.hpp"
#include "incontext/simulate/engine/records/united_records.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace record_test {

namespace {

using namespace incontext;
using simulate::Device;
using simulate::Options;
using simulate::RecordedSimulation;
using simulate::Simulation;
using simulate::SimulationRecord;

/// Three outputs, which need different numbers of trials: powers of a normal of another scale.
struct PowersTrial {
  using Scalar = float;
  float scale = 1;

  INCONTEXT_HD int outputs() const { return 3; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 1; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<float, W>,
                        simulate::LaneArray<float, W> values) const {
    Lanes<float, W> normal[4];
    random::normals(random::LaneStream(trials, random::StreamTag(0)), 0u, normal);
    for (int lane = 0; lane < W; ++lane) {
      const float x = 1 + scale * normal[0][lane];
      values[0][lane] = x;
      values[1][lane] = x * x;
      values[2][lane] = x * x * normal[1][lane] * normal[1][lane];
    }
  }
};

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same_estimates(const Simulation& a, const Simulation& b) {
  if (a.trials != b.trials || a.estimates.size() != b.estimates.size()) return false;
  for (std::size_t i = 0; i < a.estimates.size(); ++i) {
    const auto &x = a.estimates[i], &y = b.estimates[i];
    if (x.count != y.count || x.non_finite != y.non_finite || x.mean != y.mean ||
        !same_number(x.standard_error, y.standard_error) || x.rounding != y.rounding) {
      return false;
    }
  }
  return true;
}

/// Several simulations, as a program runs them: of one chunk, of several, of a partial chunk, with a pilot, with a
/// pilot and a limit, with a pilot that is cut short, and a grid.
std::vector<Simulation> program(SimulationRecord* record, Device device, const simulate::InterruptGuard* = nullptr) {
  std::vector<Simulation> results;
  const auto done = [&] { return !results.empty() && results.back().interrupted; };
  const auto run = [&](const std::string& name, float scale, Options options) {
    if (done()) return;
    if (record != nullptr) record->name_next(name);
    options.record = record;
    options.device = device;
    results.push_back(simulate::run(PowersTrial{scale}, options));
  };
  run("one trial", 1, {.seed = 1, .trials = 1});
  run("a chunk", 1, {.seed = 2, .trials = 1024});
  run("nine and a half chunks", 0.5F, {.seed = 3, .trials = 9800});
  run("many chunks", 1, {.seed = 4, .trials = 77777});
  run("a pilot is enough", 0.1F, {.seed = 5, .relative_error = 0.5});
  run("a pilot and more", 1, {.seed = 6, .relative_error = 0.006});
  run("a limited pilot", 1, {.seed = 7, .trials = 5000, .relative_error = 0.001});
  run("a limit after the pilot", 1, {.seed = 8, .trials = 50001, .relative_error = 0.001});
  if (!done()) {
    if (record != nullptr) record->name_next("a grid");
    const simulate::ClassificationGrid grid{simulate::ClassificationRule::adaptive, {0, 1, 2}, {3, 11}};
    const Options options{.seed = 9, .trials = 5000, .device = device, .record = record};
    results.push_back(simulate::classification_grid<float>({3, 3, 9}, grid, options).run);
  }
  return results;
}

void check_same(const std::vector<Simulation>& a, const std::vector<Simulation>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    CHECK(same_estimates(a[i], b[i]));
  }
}

/// A run that is stopped as if by Ctrl-C after `changes` waves; what it leaves is the record.
std::vector<RecordedSimulation> interrupted_after(int changes, std::vector<RecordedSimulation> known, Device device,
                                                  const simulate::Part& part, bool& finished) {
  SimulationRecord record(std::move(known), part);
  const simulate::InterruptGuard guard;
  record.on_change([&] {
    if (--changes == 0) std::raise(SIGINT);
  });
  const std::vector<Simulation> results = program(&record, device);
  finished = !results.back().interrupted && results.size() == 9;
  return record.simulations();
}

std::vector<RecordedSimulation> recorded(const simulate::Part& part = {}) {
  SimulationRecord record({}, part);
  program(&record, Device::serial);
  return record.simulations();
}

}  // namespace

TEST_CASE("a recorded run has the bits of a run without a record, and its record is complete") {
  const auto expected = program(nullptr, Device::serial);
  for (const Device device : {Device::serial, Device::openmp}) {
    SimulationRecord record;
    check_same(program(&record, device), expected);
    SimulationRecord again(record.simulations());
    int changes = 0;
    again.on_change([&] { ++changes; });
    check_same(program(&again, device), expected);
    CHECK(changes == 0);  // nothing was computed but the first chunks
  }
}

TEST_CASE("a run that is interrupted at random waves and resumed on random devices has the bits of one run") {
  const auto expected = program(nullptr, Device::serial);
  std::mt19937 random(3);
  int interruptions = 0;
  for (int round = 0; round < 6; ++round) {
    std::vector<RecordedSimulation> known;
    for (bool finished = false; !finished;) {
      const auto waves = static_cast<int>(1 + random() % 9);
      const Device device = random() % 2 == 0 ? Device::serial : Device::openmp;
      known = interrupted_after(waves, std::move(known), device, {}, finished);
      interruptions += !finished;
    }
    SimulationRecord record(known);
    check_same(program(&record, Device::serial), expected);
  }
  CHECK(interruptions > 12);
}

TEST_CASE("parts, each interrupted and resumed, unite to the bits of one run") {
  const auto expected = program(nullptr, Device::serial);
  std::mt19937 random(5);
  for (const std::int64_t count : {1, 2, 3, 7, 100}) {
    CAPTURE(count);
    std::vector<simulate::RecordedPart> parts;
    for (std::int64_t number = 1; number <= count; ++number) {
      std::vector<RecordedSimulation> known;
      for (bool finished = false; !finished;) {
        const auto waves = static_cast<int>(count > 7 ? 1000 : 3 + random() % 30);
        known = interrupted_after(waves, std::move(known), Device::serial, {number, count}, finished);
      }
      parts.push_back({"part-" + std::to_string(number), {number, count}, std::move(known)});
    }
    std::shuffle(parts.begin(), parts.end(), random);
    SimulationRecord record(simulate::united_records(parts));
    int changes = 0;
    record.on_change([&] { ++changes; });
    check_same(program(&record, Device::serial), expected);
    CHECK(changes == 0);
  }
}

TEST_CASE("a part computes its share: the estimates of two parts are of fewer trials, and they differ") {
  SimulationRecord one({}, {1, 2}), other({}, {2, 2});
  const auto a = simulate::run(PowersTrial{}, {.seed = 4, .trials = 65 * 1024, .record = &one});
  const auto b = simulate::run(PowersTrial{}, {.seed = 4, .trials = 65 * 1024, .record = &other});
  CHECK(a.trials == 33 * 1024);
  CHECK(b.trials == 33 * 1024);  // the first chunk is in both
  CHECK_FALSE(a.interrupted);
  CHECK(a.estimates[0].mean != b.estimates[0].mean);
}

TEST_CASE("other parameters are refused by the first chunk, however little they differ") {
  SimulationRecord before;
  before.name_next("powers");
  simulate::run(PowersTrial{1}, {.seed = 4, .trials = 5000, .record = &before});
  const auto refused = [&](const PowersTrial& trial, Options options, const std::string& name = "powers") {
    SimulationRecord record(before.simulations());
    record.name_next(name);
    options.record = &record;
    return testing::message_of<std::invalid_argument>([&] { simulate::run(trial, options); });
  };
  CHECK(refused({1}, {.seed = 4, .trials = 5000}).empty());
  const float next = std::nextafter(1.0F, 2.0F);
  CHECK(testing::names(refused({next}, {.seed = 4, .trials = 5000}), "simulation 1 (powers)", "first 1024 trials"));
  CHECK(testing::names(refused({1}, {.seed = 5, .trials = 5000}), "simulation 1 (powers)", "another seed", "5"));
  CHECK(testing::names(refused({1}, {.seed = 4, .trials = 5001}), "another number of trials", "5001"));
  CHECK(testing::names(refused({1}, {.seed = 4, .trials = 5000, .relative_error = 0.5}), "another relative_error"));
  CHECK(testing::names(refused({1}, {.seed = 4, .trials = 5000}, "others"), "another name", "others"));
  auto of_another_release = before.simulations();
  of_another_release[0].identity.contract = simulate::contract_version - 1;
  SimulationRecord old(of_another_release);
  old.name_next("powers");
  CHECK(testing::names(testing::message_of<std::invalid_argument>(
                           [&] { simulate::run(PowersTrial{1}, {.seed = 4, .trials = 5000, .record = &old}); }),
                       "simulation 1 (powers)", "another contract version"));
}

TEST_CASE("parts that are missing, given twice, or of other runs are refused by name") {
  const std::vector<simulate::RecordedPart> parts = {
      {"a", {1, 3}, recorded({1, 3})}, {"b", {2, 3}, recorded({2, 3})}, {"c", {3, 3}, recorded({3, 3})}};
  const auto refused = [&](auto change) {
    auto changed = parts;
    change(changed);
    return testing::message_of<std::invalid_argument>([&] { simulate::united_records(changed); });
  };
  using Parts = std::vector<simulate::RecordedPart>;
  CHECK(refused([](Parts&) {}).empty());
  CHECK(testing::names(refused([](Parts& p) { p.clear(); }), "no parts"));
  CHECK(testing::names(refused([](Parts& p) { p.erase(p.begin() + 1); }), "a part is missing", "2"));
  CHECK(testing::names(refused([](Parts& p) { p.pop_back(); }), "a part is missing", "3"));
  CHECK(testing::names(refused([](Parts& p) {
                         p.push_back({"d", p[1].part, p[1].simulations});
                       }),
                       "part 2/3", "given twice", "b", "d"));
  CHECK(testing::names(refused([](Parts& p) { p[2].part = {3, 4}; }), "another division", "c"));
  CHECK(testing::names(refused([](Parts& p) { p[1].simulations.pop_back(); }), "number of simulations", "b"));
  CHECK(testing::names(refused([](Parts& p) { p[1].simulations[3].identity.seed = 11; }), "(many chunks)",
                       "another seed", "a", "b"));
  CHECK(testing::names(refused([](Parts& p) { p[1].simulations[3].identity.contract = 0; }), "(many chunks)",
                       "another contract version"));
  CHECK(testing::names(refused([](Parts& p) { p[1].simulations[3].first_chunk[1].mean += 1e-12; }), "(many chunks)",
                       "other parameters"));
  CHECK(testing::names(refused([](Parts& p) { p[1].simulations[5].known[0] = p[1].simulations[6].known[0]; }),
                       "(a pilot and more)", "another pilot"));
  CHECK(testing::names(refused([](Parts& p) { std::swap(p[1].simulations, p[2].simulations); }), "missing chunks"));
  CHECK(testing::names(refused([](Parts& p) { p[2].simulations = p[1].simulations; }), "overlap"));
}

namespace {

using simulate::ClassificationOptimum;

/// A search, and at its optimum a simulation that parts divide.
struct Searched {
  ClassificationOptimum optimum;
  Simulation after;
};

Searched searched(SimulationRecord* record, Device device) {
  const simulate::SphereTask task{3, 2, 10};
  const simulate::ClassificationGrid grid{simulate::ClassificationRule::adaptive, {0.5, 1, 2, 4}, {1, 4, 16}};
  const Options options{.seed = 3, .trials = 5000, .device = device, .record = record};
  Searched result;
  result.optimum = simulate::classification_search<float>(task, grid, options, {.tolerance = 0.1, .zooms = 6});
  if (result.optimum.grid.interrupted || simulate::InterruptGuard::requested()) return result;
  const auto gain = static_cast<float>(result.optimum.chart_gain);
  result.after = simulate::run(PowersTrial{gain}, {.seed = 4, .trials = 20000, .device = device, .record = record});
  return result;
}

void check_same(const Searched& a, const Searched& b) {
  CHECK(a.optimum.best.kappa == b.optimum.best.kappa);
  CHECK(a.optimum.best.gain == b.optimum.best.gain);
  CHECK(a.optimum.loss.mean == b.optimum.loss.mean);
  CHECK(a.optimum.zooms == b.optimum.zooms);
  CHECK(same_estimates(a.after, b.after));
}

}  // namespace

TEST_CASE("a search that is interrupted at every wave and resumed, or in parts, goes the same way to the same bits") {
  const Searched expected = searched(nullptr, Device::serial);
  CHECK(expected.optimum.zooms > 2);
  std::vector<RecordedSimulation> known;
  int interruptions = 0;
  for (bool finished = false; !finished; ++interruptions) {
    SimulationRecord record(std::move(known));
    const simulate::InterruptGuard guard;
    int changes = 0;
    record.on_change([&] {
      if (++changes == 7) std::raise(SIGINT);
    });
    const Searched reached = searched(&record, interruptions % 2 == 0 ? Device::serial : Device::openmp);
    finished = !simulate::InterruptGuard::requested();
    if (finished) check_same(reached, expected);
    known = record.simulations();
  }
  CHECK(interruptions > 3);

  std::vector<simulate::RecordedPart> parts;
  for (std::int64_t number = 1; number <= 3; ++number) {
    SimulationRecord part({}, {number, 3});
    const Searched share = searched(&part, Device::serial);
    CHECK(share.optimum.loss.mean == expected.optimum.loss.mean);  // in full
    CHECK(share.after.trials < expected.after.trials);
    parts.push_back({"part " + std::to_string(number), {number, 3}, part.simulations()});
  }
  SimulationRecord whole(simulate::united_records(parts));
  int changes = 0;
  whole.on_change([&] { ++changes; });
  check_same(searched(&whole, Device::openmp), expected);
  CHECK(changes == 0);

  parts[1].simulations[0].identity.in_full = false;
  CHECK(
      testing::names(testing::message_of<std::invalid_argument>([&] { simulate::united_records(parts); }), "in_full"));
}

TEST_CASE("a part is one of 1 to a million") {
  for (const simulate::Part part : {simulate::Part{0, 1}, {2, 1}, {1, 0}, {1, 1000001}}) {
    CHECK_THROWS_AS(SimulationRecord({}, part), std::invalid_argument);
  }
  CHECK_NOTHROW(SimulationRecord({}, {1000000, 1000000}));
}

}  // namespace record_test
