#include "incontext/simulate/classification/sphere_task.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "classification/sphere.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "incontext/simulate/classification/sphere_wedges.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace sphere_task_test {

// Compares contexts with their definition: every point is in its cell, and uniform there by comparison with plain
// rejection for the same prototypes (|z| <= 5, fixed seeds). A perturbed law is rejected by the same statistic.

namespace {

using namespace incontext;
using simulate::ContextLaw;
using simulate::draw_sphere_context;
using simulate::SphereContext;
using simulate::SphereTask;
using testing::SampleMean;

constexpr std::uint64_t seed = 17;

template <class T>
double dot(const T* a, const double* b, std::size_t d) {
  double sum = 0;
  for (std::size_t i = 0; i < d; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

std::vector<double> as_double(const auto& numbers) { return {numbers.begin(), numbers.end()}; }

/// The worse of two, NaN the worst of all.
double higher(double worst, double off) { return std::isnan(worst) || off <= worst ? worst : off; }
double lower(double worst, double lead) { return std::isnan(worst) || lead >= worst ? worst : lead; }

/// The least lead of class c over the others at x; negative outside of the cell.
template <class T>
double lead(const T* x, const std::vector<double>& prototypes, std::size_t d, std::int64_t c) {
  const auto own = static_cast<std::size_t>(c);
  double least = 9;
  for (std::size_t other = 0; other < prototypes.size() / d; ++other) {
    if (other != own) least = lower(least, dot(x, &prototypes[own * d], d) - dot(x, &prototypes[other * d], d));
  }
  return least;
}

/// The worst lead and distance from the sphere over the points of some contexts, and whether counts are right.
template <class T>
void check_cells(const SphereTask& task, double tolerance) {
  const auto d = static_cast<std::size_t>(task.dimension);
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    const SphereContext<T> context = draw_sphere_context<T>(task, seed, trial);
    const std::vector<double> prototypes = as_double(context.prototypes);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(task.classes), 0);
    double worst = 9, off = 0;
    for (std::size_t j = 0; j <= context.labels.size(); ++j) {
      const bool is_query = j == context.labels.size();
      const T* x = is_query ? context.query.data() : &context.inputs[j * d];
      const std::int64_t label = is_query ? context.query_label : context.labels[j];
      if (!is_query) ++counts[static_cast<std::size_t>(label)];
      worst = lower(worst, lead(x, prototypes, d, label));
      off = higher(off, std::abs(dot(x, as_double(std::vector<T>(x, x + d)).data(), d) - 1));
    }
    CHECK(worst >= -tolerance);
    CHECK(off <= 4 * tolerance);
    if (task.law == ContextLaw::independent) continue;
    CHECK(std::count(counts.begin(), counts.end(), task.context_length / task.classes) == task.classes);
  }
}

/// A context's rows up to the attempts, a point taken as it is after so many failures.
std::vector<float> rows_of(const SphereTask& task, std::uint64_t trial, std::uint32_t most_failures) {
  auto draw = simulate::detail::draw_of<float>(task);
  draw.most_failures = most_failures;
  std::vector<float> rows(static_cast<std::size_t>(draw.rows()));
  draw.draw<1>({seed, trial}, {rows.data(), 1});
  rows.resize(static_cast<std::size_t>(draw.attempts_row() + 1));
  return rows;
}

/// The number of points of balanced rows that are outside of their cells.
std::int64_t strays(const SphereTask& task, const std::vector<float>& rows) {
  const auto draw = simulate::detail::draw_of<float>(task);
  const auto d = static_cast<std::size_t>(task.dimension);
  const auto first = rows.begin() + draw.prototypes_row();
  const std::vector<double> prototypes(first, first + task.classes * task.dimension);
  std::int64_t count = 0;
  for (std::int64_t j = 0; j < task.context_length; ++j) {
    const float* x = &rows[static_cast<std::size_t>(j) * d];
    count += lead(x, prototypes, d, j / draw.class_size()) >= -1e-6 ? 0 : 1;
  }
  return count;
}

/// Uniform points of a cell by plain rejection, with acceptance (1 + tilt x.w) / (1 + tilt).
class PlainCells {
 public:
  explicit PlainCells(std::size_t d) : points_(static_cast<int>(d), 5) {}

  std::vector<double> draw(const std::vector<double>& prototypes, std::int64_t c, double tilt) {
    for (;;) {
      const std::vector<double> x = points_.draw();
      const std::size_t d = x.size();
      if (lead(x.data(), prototypes, d, c) < 0) continue;
      const double w = dot(x.data(), &prototypes[static_cast<std::size_t>(c) * d], d);
      if (uniform_(engine_) * (1 + tilt) <= 1 + tilt * w) return x;
    }
  }

 private:
  testing::SpherePoints points_;
  std::mt19937_64 engine_{3};
  std::uniform_real_distribution<double> uniform_{0, 1};
};

/// z of the difference between our points' lead and cosine to their prototype, and those of plain rejection.
std::pair<double, double> z_of_cells(const SphereTask& task, double tilt, bool of_query) {
  const auto d = static_cast<std::size_t>(task.dimension);
  PlainCells plain(d);
  SampleMean leads, cosines;
  for (std::uint64_t trial = 0; trial < (of_query ? 3000u : 300u); ++trial) {
    const auto context = draw_sphere_context<float>(task, seed, trial);
    const std::vector<double> prototypes = as_double(context.prototypes);
    double lead_sum = 0, cosine_sum = 0;
    for (std::size_t j = 0; j < (of_query ? 1 : context.labels.size()); ++j) {
      const float* x = of_query ? context.query.data() : &context.inputs[j * d];
      const std::int64_t c = of_query ? context.query_label : context.labels[j];
      const double* prototype = &prototypes[static_cast<std::size_t>(c) * d];
      const std::vector<double> other = plain.draw(prototypes, c, tilt);
      lead_sum += lead(x, prototypes, d, c) - lead(other.data(), prototypes, d, c);
      cosine_sum += dot(x, prototype, d) - dot(other.data(), prototype, d);
    }
    leads.add(lead_sum);
    cosines.add(cosine_sum);
  }
  return {leads.z(0), cosines.z(0)};
}

}  // namespace

TEST_CASE("sphere task: every point is a unit vector of its class's cell, and classes are of one size") {
  for (const std::int64_t d : {2, 3, 5, 10, 50}) {
    for (const std::int64_t k : {2, 3, 4, 7, 10}) {
      CAPTURE(d, k);
      check_cells<float>({d, k, 6 * k}, 1e-6);
      check_cells<double>({d, k, 2 * k}, 1e-14);
      check_cells<float>({d, k, 3 * k + 1, ContextLaw::independent}, 1e-6);
    }
  }
}

TEST_CASE("sphere task: points are uniform on their cells, and a law that leans to the middle is not") {
  const auto [d, k] = GENERATE(std::pair<std::int64_t, std::int64_t>{2, 5}, std::pair<std::int64_t, std::int64_t>{4, 2},
                               std::pair<std::int64_t, std::int64_t>{3, 3}, std::pair<std::int64_t, std::int64_t>{3, 6},
                               std::pair<std::int64_t, std::int64_t>{6, 5});
  const SphereTask task{d, k, 24 * k};
  CAPTURE(d, k);
  const auto [lead, cosine] = z_of_cells(task, 0, false);
  CHECK(std::abs(lead) <= 5);
  CHECK(std::abs(cosine) <= 5);
  CHECK(z_of_cells(task, 0.5, false).second < -5);
}

TEST_CASE("sphere task: queries are uniform on the cell of a uniform class") {
  for (const auto& [d, k] : {std::pair<std::int64_t, std::int64_t>{2, 4}, {3, 5}, {5, 2}}) {
    CAPTURE(d, k);
    const SphereTask task{d, k, k};
    const auto [lead, cosine] = z_of_cells(task, 0, true);
    CHECK(std::abs(lead) <= 5);
    CHECK(std::abs(cosine) <= 5);
    SampleMean first;
    for (std::uint64_t trial = 0; trial < 4000; ++trial) {
      first.add(draw_sphere_context<float>(task, seed, trial).query_label == 0 ? 1 : 0);
    }
    CHECK(std::abs(first.z(1.0 / static_cast<double>(k))) <= 5);
  }
}

TEST_CASE("sphere task: on the circle, places within arcs are uniform to the third moment, in narrow arcs too") {
  const SphereTask task{2, 6, 6};
  SampleMean places, squares, cubes, narrow;
  for (std::uint64_t trial = 0; trial < 3000; ++trial) {
    const auto context = draw_sphere_context<double>(task, seed, trial);
    std::vector<double> angles;
    for (std::size_t c = 0; c < 6; ++c) {
      angles.push_back(std::atan2(context.prototypes[2 * c + 1], context.prototypes[2 * c]));
    }
    for (std::size_t c = 0; c < 6; ++c) {
      const double turn = 2 * std::acos(-1.0);
      double after = turn, before = turn;
      for (std::size_t other = 0; other < 6; ++other) {
        if (other == c) continue;
        const double gap = std::fmod(angles[other] - angles[c] + 2 * turn, turn);
        after = std::min(after, gap);
        before = std::min(before, turn - gap);
      }
      const double angle = std::atan2(context.inputs[2 * c + 1], context.inputs[2 * c]) - angles[c];
      const double place = (std::remainder(angle, turn) + before / 2) / ((before + after) / 2);
      places.add(place);
      squares.add(place * place);
      cubes.add(place * place * place);
      if (before + after < 0.3) narrow.add(place);
    }
  }
  CHECK(std::abs(places.z(0.5)) <= 5);
  CHECK(std::abs(squares.z(1.0 / 3)) <= 5);
  CHECK(std::abs(cubes.z(0.25)) <= 5);
  CHECK(narrow.count() > 100);
  CHECK(std::abs(narrow.z(0.5)) <= 5);
}

TEST_CASE("sphere task: two classes lean to their sides by m_d, prototypes and points of no law by nothing") {
  for (const std::int64_t d : {2, 3, 8}) {
    CAPTURE(d);
    const auto size = static_cast<std::size_t>(d);
    const double m = classification::sphere_constants<double>(d).mean_absolute;
    SampleMean sides, prototypes, points, same;
    for (std::uint64_t trial = 0; trial < 2000; ++trial) {
      const auto context = draw_sphere_context<float>({d, 2, 2}, seed, trial);
      std::vector<double> normal(size);
      double square = 0;
      for (std::size_t i = 0; i < size; ++i) {
        normal[i] = static_cast<double>(context.prototypes[i]) - static_cast<double>(context.prototypes[size + i]);
        square += normal[i] * normal[i];
      }
      sides.add(dot(context.inputs.data(), normal.data(), size) / std::sqrt(square));
      prototypes.add(dot(&context.prototypes[size], as_double(context.prototypes).data(), size));
      const auto free = draw_sphere_context<float>({d, 2, 2, ContextLaw::independent}, seed, trial);
      points.add(dot(free.inputs.data(), as_double(free.query).data(), size));
      same.add(std::pow(dot(free.inputs.data(), as_double(free.query).data(), size), 2));
    }
    CHECK(std::abs(sides.z(m)) <= 5);
    CHECK(std::abs(sides.z(0.9 * m)) > 5);
    CHECK(std::abs(prototypes.z(0)) <= 5);
    CHECK(std::abs(points.z(0)) <= 5);
    CHECK(std::abs(same.z(1.0 / static_cast<double>(d))) <= 5);
  }
}

TEST_CASE("sphere task: side by side or alone, a context has the same bits") {
  for (const auto law : {ContextLaw::balanced, ContextLaw::independent}) {
    for (const auto& [d, k] : {std::pair<std::int64_t, std::int64_t>{2, 5}, {3, 6}, {5, 2}}) {
      const SphereTask task{d, k, 4 * k, law};
      const auto draw = simulate::detail::draw_of<float>(task);
      std::vector<float> together(static_cast<std::size_t>(draw.rows() * 64));
      draw.draw<64>({seed, 64}, {together.data(), 64});
      int different = 0;
      for (std::size_t lane = 0; lane < 64; ++lane) {
        std::vector<float> alone(static_cast<std::size_t>(draw.rows()));
        draw.draw<1>({seed, 64 + lane}, {alone.data(), 1});
        for (std::size_t row = 0; row < static_cast<std::size_t>(draw.attempts_row()) + 1; ++row) {
          different += alone[row] == together[row * 64 + lane] ? 0 : 1;
        }
      }
      CHECK(different == 0);
    }
  }
}

TEST_CASE("sphere task: nothing is rejected for up to three classes or on the circle, little elsewhere") {
  const auto attempts = [](const SphereTask& task) {
    double sum = 0;
    for (std::uint64_t trial = 0; trial < 50; ++trial) {
      sum += static_cast<double>(draw_sphere_context<float>(task, seed, trial).attempts);
    }
    return sum / (50 * static_cast<double>(task.context_length + 1));
  };
  for (const SphereTask& task :
       {SphereTask{2, 10, 100}, {3, 3, 99}, {50, 2, 100}, {3, 9, 90, ContextLaw::independent}}) {
    CHECK(attempts(task) == 1);
  }
  CHECK(attempts({3, 5, 100}) < 1.4);
  CHECK(attempts({3, 10, 100}) < 1.8);
  CHECK(attempts({50, 10, 100}) < 1.6);
}

TEST_CASE("sphere task: the most failures are those of one point, not of a context") {
  const SphereTask task{3, 5, 5000};
  int longer = 0;
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    const auto rows = rows_of(task, trial, 1u << 22), limited = rows_of(task, trial, 2000);
    CHECK(rows == limited);
    CHECK(strays(task, limited) == 0);
    longer += rows.back() > 5001.0f + 2000.0f ? 1 : 0;
  }
  CHECK(longer >= 3);
}

TEST_CASE("sphere task: a point that failed the most is the wedge's next, inside of its cell or not") {
  const SphereTask task{3, 8, 400};
  std::int64_t none = 0, few = 0, wrong = 0;
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    const auto rows = rows_of(task, trial, 1u << 22), at_once = rows_of(task, trial, 0);
    const auto after_three = rows_of(task, trial, 3);
    wrong += strays(task, rows);
    none += strays(task, at_once);
    few += strays(task, after_three);
    CHECK(at_once.back() <= 2 * 401);
    CHECK(after_three.back() <= 5 * 401);
  }
  CHECK(wrong == 0);
  CHECK(none > 2 * few);
  CHECK(few > 0);
}

TEST_CASE("sphere task: independent contexts keep no wedges") {
  const auto rows = [](ContextLaw law) { return simulate::detail::draw_of<float>({3, 500, 1000, law}).rows(); };
  CHECK(rows(ContextLaw::balanced) > 2 * 500 * 500);
  CHECK(rows(ContextLaw::independent) <= 1000 * 4 + 500 * 3 + 10);
}

TEST_CASE("sphere task: contexts with points crowded on one side have a longer mean point") {
  const SphereContext<double> context{{1, 0, 0, 1, 1, 0, 0, 1}, {0, 1, 0, 1}, {1, 0}, 0, {1, 0, 0, 1}, 5};
  CHECK(std::abs(simulate::mean_point_length(context) - std::sqrt(0.5)) <= 1e-15);
}

TEST_CASE("sphere task: the angle of a unit vector is right to rounding, ends included") {
  double worst = 0;
  for (int i = 0; i <= 4000; ++i) {
    const double turns = 0.25 * i / 4000, angle = 2 * std::acos(-1.0) * turns;
    worst = higher(worst, std::abs(simulate::detail::angle_in_turns(std::sin(angle), std::cos(angle)) - turns));
  }
  CHECK(worst <= 2e-16);
}

TEST_CASE("sphere task: contexts a set of shared prototypes apart have the same cells") {
  using namespace incontext;
  const simulate::SphereTask task{3, 4, 12, simulate::ContextLaw::balanced, 2};
  const auto drawn = [&](std::uint64_t i) { return simulate::draw_sphere_context<double>(task, 7, i); };
  CHECK(drawn(0).prototypes == drawn(2).prototypes);
  CHECK(drawn(1).prototypes == drawn(5).prototypes);
  CHECK(drawn(0).prototypes != drawn(1).prototypes);
  CHECK(drawn(0).inputs != drawn(2).inputs);
  const auto alone = simulate::draw_sphere_context<double>({3, 4, 12}, 7, 1);
  CHECK(drawn(1).prototypes == alone.prototypes);
  CHECK(drawn(1).inputs == alone.inputs);
}

TEST_CASE("sphere task: bad input is refused by name and value", "[bad-input]") {
  const auto message = [](const SphereTask& task) {
    return testing::message_of([&] { (void)draw_sphere_context<float>(task, 1, 1); });
  };
  CHECK(message({1, 2, 4}) ==
        "incontext::simulate::draw_sphere_context: dimension is too small (value = 1; needs at least 2)");
  CHECK(message({2, 1, 4}) ==
        "incontext::simulate::draw_sphere_context: classes is too small (value = 1; needs at least 2)");
  CHECK(message({2, 5, 4}) ==
        "incontext::simulate::draw_sphere_context: context_length is too small (value = 4; needs at least 5)");
  CHECK(message({2, 5, 12}) ==
        "incontext::simulate::draw_sphere_context: context_length is no multiple of the number of classes (value = 12; "
        "needs a multiple of 5)");
  CHECK(message({2, 5, 12, ContextLaw::independent}).empty());
  CHECK(testing::names(message({2, 2, 33554432}), "context_length is too large", "33554432", "at most 16777216"));
  CHECK(message({2, 513, 1026}) ==
        "incontext::simulate::draw_sphere_context: classes is too large for a balanced context (value = 513; needs at "
        "most 512)");
  CHECK(message({2, 513, 1026, ContextLaw::independent}).empty());
  CHECK(message({2, 512, 512}).empty());
  CHECK(testing::names(message({1000000, 2, 4}), "dimension is too large for the classes", "1000000"));
  CHECK(testing::names(message({400000, 2, 10000}), "context_length is too large for the dimension", "10000"));
}

}  // namespace sphere_task_test
