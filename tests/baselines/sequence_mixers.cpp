#include "incontext/baselines/sequence_mixers.hpp"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "baselines/gauss_hermite.hpp"
#include "incontext/baselines/descent_layers.hpp"
#include "incontext/baselines/ridge_risk.hpp"
#include "incontext/core/constants.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing::sequence_mixers_test {

using namespace baselines;

namespace {

using Mixers = SequenceMixers<double>;
using Task = MixerTask<double>;

constexpr MixerKind kinds[] = {MixerKind::linear_attention, MixerKind::gated_linear_attention, MixerKind::delta_rule,
                               MixerKind::gated_delta_rule, MixerKind::gated_delta_net};

Task two_axes() {
  return {.input_variances = Eigen::Vector2d(1.5, 0.4),
          .task_variances = Eigen::Vector2d(0.3, 0.8),
          .noise_variance = 0.2,
          .persistence = 0.9};
}

/// A sequence of one task, read by a mixer as it is defined: nothing but its state.
struct Sequence {
  Eigen::VectorXd spread, task_spread, task, state;
  double noise, persistence;
  bool normalized;

  template <class Draw>
  Sequence(const Task& at, Draw&& draw)
      : spread(at.input_variances.cwiseSqrt()),
        task_spread(at.task_variances.cwiseSqrt()),
        task(task_spread.cwiseProduct(normals(draw))),
        state(Eigen::VectorXd::Zero(spread.size())),
        noise(std::sqrt(at.noise_variance)),
        persistence(at.persistence),
        normalized(at.keys == MixerKeys::normalized) {}

  template <class Draw>
  Eigen::VectorXd normals(Draw&& draw) const {
    return Eigen::VectorXd::NullaryExpr(spread.size(), [&](Eigen::Index) { return draw(); }).eval();
  }
  template <class Draw>
  Eigen::VectorXd key(Draw&& draw) const {
    Eigen::VectorXd z = normals(draw);
    if (normalized) z *= std::sqrt(static_cast<double>(z.size())) / z.norm();
    return spread.cwiseProduct(z);
  }
  template <class Draw>
  void read(const Mixer<double>& mixer, Draw&& draw) {
    const Eigen::VectorXd x = key(draw);
    const double label = task.dot(x) + noise * draw();
    state = mixer.keep * state - mixer.erase * state.dot(x) * x + mixer.write * label * x;
    task *= persistence;
    if (persistence < 1) task += std::sqrt(1 - persistence * persistence) * task_spread.cwiseProduct(normals(draw));
  }
  template <class Draw>
  double squared_error(Draw&& draw) const {
    const Eigen::VectorXd x = key(draw);
    return std::pow((task - state).dot(x) + noise * draw(), 2);
  }
};

SampleMean simulated(const Task& at, const Mixer<double>& mixer, int examples, int sequences) {
  std::mt19937_64 engine(2412);
  std::normal_distribution<double> normal;
  const auto draw = [&] { return normal(engine); };
  SampleMean errors;
  for (int i = 0; i < sequences; ++i) {
    Sequence one(at, draw);
    for (int t = 0; t < examples; ++t) one.read(mixer, draw);
    errors.add(one.squared_error(draw));
  }
  return errors;
}

Task eight(double persistence, MixerKeys keys) {
  const auto of = [](double first) { return Eigen::VectorXd::LinSpaced(8, first, 0.2 * first).eval(); };
  const bool equal = keys == MixerKeys::normalized;
  return {.input_variances = equal ? Eigen::VectorXd::Ones(8).eval() : of(1.6),
          .task_variances = of(0.2),
          .noise_variance = 0.1,
          .persistence = persistence,
          .keys = keys};
}

}  // namespace

TEST_CASE("two steps of any mixer have the error that exact cubature of the definition has") {
  const Task at = two_axes();
  const Mixers mixers(at);
  for (const Mixer<double> mixer : {Mixer<double>{0.8, 0.3, 0.5}, mixer_of(MixerKind::delta_rule, 0.4)}) {
    // Per variable: the task and its drift to degree 2, keys 4, noise 2; the query by its variances.
    long double exact = 0;
    each_node({2, 2, 3, 3, 2, 2, 2, 3, 3, 2, 2, 2}, [&](double weight, const std::vector<double>& values) {
      std::size_t next = 0;
      const auto draw = [&] { return values[next++]; };
      Sequence one(at, draw);
      one.read(mixer, draw);
      one.read(mixer, draw);
      exact += weight * (at.noise_variance + at.input_variances.dot((one.task - one.state).cwiseAbs2()));
    });
    const auto is_exact = [&](const Mixer<double>& by) {
      return relative(mixers.risks(by, {2}).front(), static_cast<double>(exact)) < 1e-13;
    };
    CHECK(is_exact(mixer));
    CHECK_FALSE(is_exact({mixer.keep, mixer.erase, mixer.write * 1.0001}));
  }
}

TEST_CASE("two steps with normalized keys have the error that all angles have") {
  Task at = two_axes();
  at.keys = MixerKeys::normalized;
  const Mixer<double> mixer{0.8, 0.3, 0.5};
  long double exact = 0;
  for (int first = 0; first < 8; ++first) {  // exact to degree 7 in each key
    for (int second = 0; second < 8; ++second) {
      each_node({2, 2, 2, 2, 2, 2, 2, 2}, [&](double weight, const std::vector<double>& values) {
        const auto key = [&](int angle) {
          const double radians = (angle + 0.3) * math::pi<double>() / 4;
          return (std::sqrt(2) *
                  at.input_variances.cwiseSqrt().cwiseProduct(Eigen::Vector2d(std::cos(radians), std::sin(radians))))
              .eval();
        };
        Eigen::Vector2d w = at.task_variances.cwiseSqrt().cwiseProduct(Eigen::Vector2d(values[0], values[1])),
                        state(0, 0);
        for (int t = 0; t < 2; ++t) {
          const Eigen::Vector2d x = key(t == 0 ? first : second);
          const double label = w.dot(x) + std::sqrt(at.noise_variance) * values[static_cast<std::size_t>(2 + t)];
          state = mixer.keep * state - mixer.erase * state.dot(x) * x + mixer.write * label * x;
          const Eigen::Vector2d fresh(values[static_cast<std::size_t>(4 + 2 * t)],
                                      values[static_cast<std::size_t>(5 + 2 * t)]);
          w = at.persistence * w +
              std::sqrt(1 - at.persistence * at.persistence) * at.task_variances.cwiseSqrt().cwiseProduct(fresh);
        }
        exact += weight / 64 * (at.noise_variance + at.input_variances.dot((w - state).cwiseAbs2()));
      });
    }
  }
  CHECK(relative(Mixers(at).risks(mixer, {2}).front(), static_cast<double>(exact)) < 1e-13);
  CHECK_FALSE(relative(Mixers(two_axes()).risks(mixer, {2}).front(), static_cast<double>(exact)) < 1e-3);
}

TEST_CASE("literal sequences have these errors, and not those of keys of another law", "[statistics]") {
  // 12 comparisons at |z| <= 5
  const Mixer<double> tried[] = {{0.97, 0.06, 0.09}, {1, 0.08, 0.08}, {0.95, 0, 0.05}};
  for (const MixerKeys keys : {MixerKeys::normal, MixerKeys::normalized}) {
    for (const double persistence : {1.0, 0.97}) {
      const Task at = eight(persistence, keys);
      Task other = at;
      other.keys = keys == MixerKeys::normal ? MixerKeys::normalized : MixerKeys::normal;
      for (const auto& mixer : tried) {
        const SampleMean errors = simulated(at, mixer, 30, 20'000);
        CAPTURE(persistence, mixer.keep, mixer.erase, errors.mean());
        CHECK(std::abs(errors.z(Mixers(at).risks(mixer, {30}).front())) <= 5);
        if (mixer.write == 0.08) CHECK(std::abs(errors.z(Mixers(other).risks(mixer, {30}).front())) > 5);
      }
    }
  }
}

TEST_CASE("axes of equal variances are two numbers, whatever their number") {
  Task listed = eight(0.9, MixerKeys::normalized), counted = listed;
  listed.task_variances = Eigen::VectorXd::Constant(8, 0.2);
  counted.input_variances = Eigen::VectorXd::Ones(1);
  counted.task_variances = Eigen::VectorXd::Constant(1, 0.2);
  counted.multiplicities = Eigen::VectorXd::Constant(1, 8);
  const Mixer<double> mixer{0.9, 0.05, 0.07};
  CHECK(relative(Mixers(listed).risks(mixer, {17}).front(), Mixers(counted).risks(mixer, {17}).front()) < 1e-14);
  CHECK(relative(Mixers(listed).steady_risk(mixer), Mixers(counted).steady_risk(mixer)) < 1e-14);
  CHECK(std::isfinite(Mixers(isotropic_mixer_task(1'000'000, 0.1, 1e-6)).best(MixerKind::delta_rule, 100).risk));
}

TEST_CASE("errors know no units, and are not negative where they vanish") {
  const double size = 1e12;
  const Task one = two_axes();
  Task other = one;
  other.input_variances *= size;
  other.task_variances /= size;
  for (const MixerKind kind : kinds) {
    CHECK(relative(Mixers(one).best(kind, 20).risk, Mixers(other).best(kind, 20).risk) < 1e-8);
    CHECK(relative(Mixers(one).best_steady(kind).risk, Mixers(other).best_steady(kind).risk) < 1e-7);
    if (kind == MixerKind::gated_delta_net) continue;
    CHECK(relative(Mixers(one).greedy_risks(kind, {9}).front(), Mixers(other).greedy_risks(kind, {9}).front()) < 1e-11);
  }
  for (const double dimension : {1, 2, 16}) {
    const Mixers mixers(isotropic_mixer_task(static_cast<std::int64_t>(dimension), 0.0, 0.3));
    // without noise the error is multiplied by 1 - 1/(d + 2) at the best rate
    const double exact = 0.3 * dimension * std::pow(1 - 1 / (dimension + 2), 200);
    CHECK(relative(mixers.best(MixerKind::delta_rule, 200).risk, exact) < 1e-8);
    CHECK(relative(mixers.greedy_risks(MixerKind::delta_rule, {200}).front(), exact) < 1e-11);
  }
  Task solved = isotropic_mixer_task(1, 0.0, 0.3);
  solved.keys = MixerKeys::normalized;
  CHECK(Mixers(solved).greedy_risks(MixerKind::delta_rule, {1, 5}) == std::vector<double>{0, 0});
  const Mixers nothing(isotropic_mixer_task(3, 0.0, 0.0));
  for (const MixerKind kind : {MixerKind::delta_rule, MixerKind::gated_delta_rule, MixerKind::linear_attention}) {
    CHECK(nothing.greedy_risks(kind, {0, 1, 5}) == std::vector<double>{0, 0, 0});
  }
  CHECK(nothing.risks({}, {}).empty());
}

TEST_CASE("these are the errors of docs/theory/baselines.md") {
  const std::vector<std::int64_t> lengths{64, 128, 256, 1024};
  auto at = isotropic_mixer_task(64, 0.1, 1.0 / 64);
  const Mixers mixers(at);
  at.keys = MixerKeys::normalized;
  const Mixers normalized(at);
  const double table[4][4] = {{0.6273, 0.4581, 0.3181, 0.1652},
                              {0.5288, 0.3080, 0.1774, 0.1142},
                              {0.5284, 0.3060, 0.1713, 0.1089},
                              {0.5197, 0.3015, 0.1753, 0.1141}};
  const auto greedy = mixers.greedy_risks(MixerKind::delta_rule, lengths);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    CHECK(std::abs(mixers.best(MixerKind::linear_attention, lengths[i]).risk - table[0][i]) < 5.1e-5);
    CHECK(std::abs(mixers.best(MixerKind::delta_rule, lengths[i]).risk - table[1][i]) < 5.1e-5);
    CHECK(std::abs(greedy[i] - table[2][i]) < 5.1e-5);
    CHECK(std::abs(normalized.best(MixerKind::delta_rule, lengths[i]).risk - table[3][i]) < 5.1e-5);
  }
  at.keys = MixerKeys::normal;
  at.persistence = std::exp(-1.0 / 256);
  const Mixers drifting(at);
  CHECK(std::abs(drifting.best_steady(MixerKind::gated_delta_rule).risk - 0.4923159) < 5e-8);
  CHECK(std::abs(drifting.best_steady(MixerKind::gated_delta_net).risk - 0.4923187) < 5e-8);
  CHECK(std::abs(drifting.best_steady(MixerKind::gated_linear_attention).risk - 0.6202) < 5e-5);
  CHECK(std::abs(drifting.best_steady(MixerKind::delta_rule).risk - 0.5669) < 5e-5);
}

TEST_CASE("sequences without end tend to the steady error, where there is one") {
  for (const Task& at : {two_axes(), eight(0.95, MixerKeys::normal), eight(0.95, MixerKeys::normalized)}) {
    const Mixers mixers(at);
    for (const double gate : {1.0, 0.9}) {
      const double bound = mixers.largest_stable_rate(gate);
      const auto at_rate = [&](double rate) { return Mixer<double>{gate, gate * rate, gate * rate}; };
      for (const double share : {0.3, 0.99}) {
        const auto mixer = at_rate(share * bound);
        CHECK(mixers.is_stable(mixer));
        CHECK(relative(mixers.steady_risk(mixer), mixers.risks(mixer, {100'000}).front()) < 1e-11);
        CHECK_FALSE(relative(mixers.steady_risk(mixer), mixers.risks(mixer, {3}).front()) < 1e-4);
      }
      CHECK_FALSE(mixers.is_stable(at_rate(1.01 * bound)));
      CHECK(mixers.steady_risk(at_rate(1.01 * bound)) == INFINITY);
      CHECK(mixers.risks(at_rate(1.01 * bound), {200'000}).front() > 1e9);
    }
    CHECK(mixers.steady_risk(mixer_of(MixerKind::linear_attention, 0.01)) == INFINITY);
    const auto silent = mixers.best_steady(MixerKind::linear_attention);
    CHECK(silent.mixer.write == 0);
    CHECK(silent.risk == mixers.risk(mixers.start()));
  }
  const Mixers stays(isotropic_mixer_task(64, 0.1, 1.0 / 64));
  CHECK(relative(stays.largest_stable_rate(), 2.0 / 66) < 1e-14);
  CHECK(stays.best_steady(MixerKind::delta_rule).place == numerics::SearchPlace::lowest);
  CHECK(stays.best(MixerKind::delta_rule, 64).place == numerics::SearchPlace::inside);
}

TEST_CASE("the best rate of linear attention is that of one layer of descent; Bayes errs less than every mixer") {
  for (const std::int64_t length : {1, 8, 64, 200}) {
    const Mixers mixers(isotropic_mixer_task(20, 0.3, 0.1));
    const WishartSpectrum<double> spectrum(length, 20);
    const TaskVariances<double> task{0.3, 0.1};
    CHECK(relative(mixers.best(MixerKind::linear_attention, length).risk, optimal_layers(spectrum, task, 1).risk) <
          1e-9);
    for (const MixerKind kind : kinds) {
      const auto best = mixers.best(kind, length);
      CHECK(best.risk > bayes_risk(spectrum, task));
      CHECK(best.risk == mixers.risks(best.mixer, {length}).front());
      for (const double factor : {0.99, 1.01}) {
        const Mixer<double>& m = best.mixer;
        CHECK(mixers.risks({m.keep, m.erase * factor, m.write * factor}, {length}).front() > best.risk);
      }
    }
  }
}

TEST_CASE("the best step of the delta rule errs less at every length than every constant rate") {
  const Mixers mixers(isotropic_mixer_task(16, 0.1, 1.0 / 16));
  const std::vector<std::int64_t> lengths{0, 1, 5, 64, 16, 256};
  const auto greedy = mixers.greedy_risks(MixerKind::delta_rule, lengths);
  CHECK(greedy.front() == 1.1);
  for (std::size_t i = 1; i < lengths.size(); ++i) {
    CHECK(greedy[i] <= mixers.best(MixerKind::delta_rule, lengths[i]).risk * (1 + 1e-12));
  }
  // any other rate in one of the steps errs more at 64 examples, whatever follows
  auto state = mixers.start();
  for (int t = 0; t < 20; ++t) {
    const auto best = mixers.greedy(state, MixerKind::delta_rule);
    for (const double factor : {0.9, 1.1}) {
      auto other = mixers.step(state, mixer_of(MixerKind::delta_rule, factor * best.write));
      for (int rest = t + 1; rest < 64; ++rest) {
        other = mixers.step(other, mixers.greedy(other, MixerKind::delta_rule));
      }
      CHECK(mixers.risk(other) > greedy[3]);
    }
    state = mixers.step(state, best);
  }
}

TEST_CASE("a gated step is the best of its family, with the gate or without") {
  for (const Task& at : {two_axes(), eight(0.9, MixerKeys::normal)}) {
    const Mixers mixers(at);
    for (const MixerKind kind : {MixerKind::gated_linear_attention, MixerKind::gated_delta_rule}) {
      auto state = mixers.step(mixers.start(), mixer_of(kind, 0.2, 0.8));
      const auto best = mixers.greedy(state, kind);
      const double least = mixers.risk(mixers.step(state, best));
      for (const double keep : {0.99, 1.0, 1.01}) {
        for (const double rate : {0.99, 1.0, 1.01}) {
          if (keep == 1 && rate == 1) continue;
          CHECK(mixers.risk(mixers.step(state, mixer_of(kind, best.write * rate, best.keep * keep))) > least);
        }
      }
    }
  }
}

TEST_CASE("of a drifting task the best mixer keeps what the task keeps, and forgets after the error") {
  for (const MixerKeys keys : {MixerKeys::normal, MixerKeys::normalized}) {
    auto at = isotropic_mixer_task(24, 0.2, 0.05);
    at.persistence = 0.98;
    at.keys = keys;
    const Mixers mixers(at);
    const double rho = 0.98, d = 24, m4 = keys == MixerKeys::normal ? d + 2 : d, w = d * 0.05, noise = d * 0.2;
    // the fixed point of V = E|w - s|^2 under its best rate: a quadratic equation (docs/theory/baselines.md)
    const double lost = 1 - rho * rho, a = lost * m4 + rho * rho, b = lost * (noise - w * m4), c = -lost * w * noise;
    const double v = (-b + std::sqrt(b * b - 4 * a * c)) / (2 * a), rate = rho * v / (m4 * v + noise);
    const auto best = mixers.best_steady(MixerKind::gated_delta_rule);
    CHECK(std::abs(best.risk - (0.2 + v)) < 1e-9);
    CHECK(std::abs(best.mixer.keep - rho) < 1e-4);
    const auto risk = [&](double keep, double erase, double write) { return mixers.steady_risk({keep, erase, write}); };
    CHECK(relative(risk(rho, rate, rate), 0.2 + v) < 1e-13);
    // flat in all three numbers there; not at the published order of forgetting with its best gate and rate
    const auto published = mixers.best_steady(MixerKind::gated_delta_net).mixer;
    const auto slope = [&](const Mixer<double>& m) {
      const double h = 1e-6;
      return std::abs(risk(m.keep, m.erase + h, m.write) - risk(m.keep, m.erase - h, m.write)) / (2 * h) +
             std::abs(risk(m.keep + h, m.erase, m.write) - risk(m.keep - h, m.erase, m.write)) / (2 * h);
    };
    CHECK(slope({rho, rate, rate}) < 1e-6);
    CHECK(slope(published) > 1e-3);
    CHECK(mixers.best_steady(MixerKind::gated_delta_net).risk > best.risk);
    CHECK(mixers.best_steady(MixerKind::delta_rule).risk > best.risk);
  }
}

TEST_CASE("sequence mixers refuse what they cannot read") {
  Task wrong = two_axes();
  wrong.task_variances = Eigen::VectorXd::Ones(3);
  CHECK(refuses<std::logic_error>([&] { Mixers m(wrong); }, {"task_variances.size()", "3", "2"}));
  wrong = two_axes();
  wrong.input_variances(1) = 0;
  CHECK(refuses<std::logic_error>([&] { Mixers m(wrong); }, {"input_variances[1]", "0"}));
  wrong = two_axes();
  for (const double persistence : {1.5, -0.5}) {
    wrong.persistence = persistence;
    CHECK(refuses<std::logic_error>([&] { Mixers m(wrong); }, {"persistence", persistence > 0 ? "1.5" : "-0.5"}));
  }
  wrong = two_axes();
  wrong.multiplicities = Eigen::Vector2d(1, 0.5);
  CHECK(refuses<std::logic_error>([&] { Mixers m(wrong); }, {"multiplicities[1]", "0.5"}));
  wrong = two_axes();
  wrong.noise_variance = -1;
  CHECK(refuses<std::logic_error>([&] { Mixers m(wrong); }, {"noise_variance", "-1"}));
  const Mixers mixers(two_axes());
  CHECK(refuses<std::logic_error>([&] { mixers.risks({NAN, 0, 0}, {1}); }, {"mixer.keep", "nan"}));
  CHECK(refuses<std::logic_error>([&] { mixers.is_stable({1, NAN, 0}); }, {"mixer.erase", "nan"}));
  auto state = mixers.start();
  CHECK(refuses<std::logic_error>([&] { mixers.step(state, {1, 0, INFINITY}); }, {"mixer.write", "inf"}));
  state.square = Eigen::VectorXd::Zero(4);
  CHECK(refuses<std::logic_error>([&] { mixers.step(state, {1, 0, 0}); }, {"state.square.size()", "4", "2"}));
  CHECK(refuses<std::logic_error>([&] { mixers.risk(state); }, {"state.square.size()", "4", "2"}));
  CHECK(refuses<std::logic_error>([&] { mixers.greedy(state, MixerKind::delta_rule); }, {"state.square.size()", "4"}));
  CHECK(refuses<std::logic_error>([&] { mixers.risks({1, 0, 0}, {1, -1}); }, {"lengths[1]", "-1"}));
  CHECK(refuses<std::logic_error>([&] { mixers.best(MixerKind::delta_rule, 0); }, {"examples", "0"}));
  CHECK(refuses<std::logic_error>([&] { mixers.largest_stable_rate(1.5); }, {"gate", "1.5"}));
  CHECK(refuses<std::logic_error>([&] { mixers.greedy(mixers.start(), MixerKind::gated_delta_net); },
                                  {"gated_delta_net"}));
  CHECK(refuses<std::logic_error>([&] { isotropic_mixer_task(0, 0.1, 0.1); }, {"dimension", "0"}));
  CHECK(refuses<std::logic_error>([&] { isotropic_mixer_task(2, -0.1, 0.1); }, {"noise_variance", "-0.1"}));
  CHECK(refuses<std::logic_error>([&] { isotropic_mixer_task(2, 0.1, -0.2); }, {"task_variance", "-0.2"}));
}

}  // namespace incontext::testing::sequence_mixers_test
