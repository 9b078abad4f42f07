#include "incontext/scoring/scoring.hpp"

#include <array>
#include <type_traits>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

// What holds for every map: the concept, both products against each other, aliasing, strides, masks, refusals.
namespace incontext::testing {
namespace {

using namespace scoring;

struct WeightsOnly {
  using value_type = double;
};
[[maybe_unused]] void weights(const WeightsOnly&, Row<const double>, Row<double>) {}

struct ReturnsWeights {
  using value_type = double;
};
[[maybe_unused]] int weights(const ReturnsWeights&, Row<const double>, Row<double>) { return 0; }
[[maybe_unused]] void jvp(const ReturnsWeights&, Row<const double>, Row<const double>, Row<double>) {}
[[maybe_unused]] void vjp(const ReturnsWeights&, Row<const double>, Row<const double>, Row<double>) {}

struct IntegerScores {
  using value_type = int;
};
[[maybe_unused]] void weights(const IntegerScores&, Row<const int>, Row<int>) {}
[[maybe_unused]] void jvp(const IntegerScores&, Row<const int>, Row<const int>, Row<int>) {}
[[maybe_unused]] void vjp(const IntegerScores&, Row<const int>, Row<const int>, Row<int>) {}

struct OwnMap {
  using value_type = float;
};
[[maybe_unused]] void weights(const OwnMap&, Row<const float>, Row<float>) {}
[[maybe_unused]] void jvp(const OwnMap&, Row<const float>, Row<const float>, Row<float>) {}
[[maybe_unused]] void vjp(const OwnMap&, Row<const float>, Row<const float>, Row<float>) {}

template <class Map>
consteval bool plain_aggregate() {
  return std::is_trivially_copyable_v<Map> && std::is_aggregate_v<Map> && DevicePlain<Map>;
}

/// A row with ties, both signs and no entry at a kink.
const std::vector<double> generic{0.5, -1.25, 2, 0.5, -3.5, 1.75};

}  // namespace

TEST_CASE("Scoring holds for every map in every scalar, and is refused for what only looks like one", "[scoring]") {
  for_each_map<double>([](auto map, const Facts&) {
    STATIC_REQUIRE(Scoring<decltype(map)>);
    STATIC_REQUIRE(plain_aggregate<decltype(map)>());
  });
  for_each_map<float>([](auto map, const Facts&) { STATIC_REQUIRE(Scoring<decltype(map)>); });
  for_each_map<long double>([](auto map, const Facts&) { STATIC_REQUIRE(Scoring<decltype(map)>); });
  STATIC_REQUIRE(Scoring<OwnMap>);
  STATIC_REQUIRE_FALSE(Scoring<WeightsOnly>);
  STATIC_REQUIRE_FALSE(Scoring<ReturnsWeights>);
  STATIC_REQUIRE_FALSE(Scoring<IntegerScores>);
  STATIC_REQUIRE_FALSE(Scoring<MatrixNormSoftmax<double>>);
  STATIC_REQUIRE_FALSE(Scoring<Row<double>>);
}

TEST_CASE("LogScoring holds exactly for maps with non-negative weights", "[scoring]") {
  STATIC_REQUIRE(LogScoring<Softmax<double>>);
  STATIC_REQUIRE(LogScoring<SSMax<float>>);
  STATIC_REQUIRE(LogScoring<SSA<double>>);
  STATIC_REQUIRE(LogScoring<NormSoftmax<double>>);
  STATIC_REQUIRE(LogScoring<Entmax<double>>);
  STATIC_REQUIRE(LogScoring<Sparsemax<double>>);
  STATIC_REQUIRE(LogScoring<Hardmax<double>>);
  STATIC_REQUIRE(LogScoring<NormalizedSaSoftmax<double>>);
  STATIC_REQUIRE(LogScoring<RatioScore<Square>>);
  STATIC_REQUIRE_FALSE(LogScoring<RatioScore<Tanh>>);
  STATIC_REQUIRE_FALSE(LogScoring<SaSoftmax<double>>);
  STATIC_REQUIRE_FALSE(LogScoring<ApproximateSoftmax<double>>);
  STATIC_REQUIRE_FALSE(LogScoring<LinearAttention<double>>);
}

TEST_CASE("A map has its own parameters and no others", "[scoring]") {
  STATIC_REQUIRE(HasParameter<Softmax<double>, parameter::Temperature>);
  STATIC_REQUIRE(HasParameter<ApproximateSoftmax<double>, parameter::Temperature>);
  STATIC_REQUIRE(HasParameter<LinearAttention<double>, parameter::Temperature>);
  STATIC_REQUIRE(HasParameter<NormSoftmax<double>, parameter::Temperature>);
  STATIC_REQUIRE(HasParameter<SSMax<double>, parameter::Scale>);
  STATIC_REQUIRE(HasParameter<SSMax<double>, parameter::Bias>);
  STATIC_REQUIRE(HasParameter<SSMax<double>, parameter::VisibleCount>);
  STATIC_REQUIRE(HasParameter<SSA<double>, parameter::Base>);
  STATIC_REQUIRE(HasParameter<SSA<double>, parameter::Exponent>);
  STATIC_REQUIRE(HasParameter<SSA<double>, parameter::Temperature>);
  STATIC_REQUIRE(HasParameter<Entmax<double>, parameter::Alpha>);
  STATIC_REQUIRE_FALSE(HasParameter<Softmax<double>, parameter::Scale>);
  STATIC_REQUIRE_FALSE(HasParameter<SSMax<double>, parameter::Temperature>);
  STATIC_REQUIRE_FALSE(HasParameter<Sparsemax<double>, parameter::Alpha>);
  STATIC_REQUIRE_FALSE(HasParameter<Hardmax<double>, parameter::Temperature>);
}

TEMPLATE_TEST_CASE("vjp is the transpose of jvp", "[scoring]", float, double, long double) {
  using T = TestType;
  const T tolerance = T(2000) * std::numeric_limits<T>::epsilon();
  Random random(11);
  for (int trial = 0; trial < 20; ++trial) {
    const std::size_t n = 1 + random.below(24);
    const auto z = converted<T>(random.normals(n, trial % 2 == 0 ? 1 : 8));
    const auto u = converted<T>(random.normals(n));
    const auto g = converted<T>(random.normals(n));
    for_each_smooth_map<T>([&](auto map, const Facts& facts) {
      if (facts.name == "tanh over sum") return;  // its Jacobian has no bound
      const auto change = jvp_of(map, z, u);
      const auto pull = vjp_of(map, z, g);
      T scale = T(0);
      for (std::size_t i = 0; i < n; ++i) scale += std::abs(g[i] * change[i]) + std::abs(u[i] * pull[i]);
      INFO(facts.name << ", n = " << n);
      const bool undefined = all_nan(weights_of(map, z)) && all_nan(change) && all_nan(pull);
      if (undefined) {
        CHECK(facts.name.substr(0, 4) == "relu");
      } else {
        CHECK(std::abs(product(g, change) - product(u, pull)) <= tolerance * (scale + T(1)));
      }
    });
  }
  // the same comparison refuses the Jacobian of SSA in place of its transpose
  const auto z = converted<T>(generic);
  const std::vector<T> u{T(1), T(0), T(-2), T(0.5), T(1), T(3)};
  const std::vector<T> g{T(0.25), T(1), T(1), T(-2), T(0), T(1)};
  const SSA<T> map;
  CHECK(std::abs(product(g, jvp_of(map, z, u)) - product(u, jvp_of(map, z, g))) > tolerance * T(50));
}

TEST_CASE("the Jacobian's columns are its products with unit vectors, its rows those of the transpose", "[scoring]") {
  for_each_smooth_map<double>([](auto map, const Facts& facts) {
    const std::size_t n = generic.size();
    std::vector<double> all(n * n);
    jacobian(map, generic, MatrixView<double>(all.data(), 6, 6));
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> unit(n, 0.0);
      unit[i] = 1;
      const std::vector<double> row(all.begin() + static_cast<long>(i * n), all.begin() + static_cast<long>(i * n + n));
      INFO(facts.name);
      CHECK(distance(row, vjp_of(map, generic, unit)) < 1e-13 * (1 + largest_size(all)));
    }
  });
}

TEST_CASE("weights of sum 1 have derivatives of sum 0, and non-negative weights are not negative", "[scoring]") {
  Random random(3);
  for (int trial = 0; trial < 30; ++trial) {
    const std::size_t n = 1 + random.below(40);
    const auto z = random.normals(n, trial % 3 == 0 ? 20 : 1);
    const auto u = random.normals(n);
    for_each_map<double>([&](auto map, const Facts& facts) {
      const auto a = weights_of(map, z);
      INFO(facts.name << ", n = " << n);
      if (all_nan(a)) {  // relu of a row without a positive score, over its sum
        CHECK(facts.name.substr(0, 4) == "relu");
        return;
      }
      if (facts.non_negative) {
        for (const double x : a) CHECK(x >= 0);
      }
      if (!facts.sums_to_one) return;
      CHECK(std::abs(total(a) - 1) <= 1e-14 * (1 + largest_size(a)));
      const auto change = jvp_of(map, z, u);
      if (all_nan(change)) {
        CHECK(n == 1);
      } else {
        CHECK(std::abs(total(change)) <= 1e-12 * (1 + largest_size(change)));
      }
    });
  }
}

TEST_CASE("shifting all scores leaves exactly the shift-invariant maps alone", "[scoring]") {
  Random random(5);
  std::vector<double> z(12), shifted(12);
  for (std::size_t i = 0; i < z.size(); ++i) {
    z[i] = 0.25 + 1.5 * random.uniform();  // of one sign: the second SA-softmax is shift-invariant on mixed rows
    shifted[i] = z[i] + 0.75;
  }
  const auto check = [](bool invariant, double moved) {
    if (invariant) {
      CHECK(moved <= 1e-13);
    } else {
      CHECK(moved > 1e-3);
    }
  };
  for_each_map<double>([&](auto map, const Facts& facts) {
    INFO(facts.name);
    check(facts.shift_invariant, distance(weights_of(map, shifted), weights_of(map, z)));
    if constexpr (!std::is_same_v<decltype(map), Hardmax<double>>) {
      const std::vector<double> ones(z.size(), 1.0);
      check(facts.shift_invariant, largest_size(jvp_of(map, z, ones)));
    }
  });
}

TEMPLATE_TEST_CASE("output may lie on the scores or on the direction, with the same bits", "[scoring]", float, double) {
  using T = TestType;
  const auto z = converted<T>(generic);
  const std::vector<T> u{T(1), T(0), T(-2), T(0.5), T(1), T(3)};
  for_each_map<T>([&](auto map, const Facts& facts) {
    INFO(facts.name);
    const auto same = [](const std::vector<T>& a, const std::vector<T>& b) {
      return a == b || (all_nan(a) && all_nan(b));
    };
    std::vector<T> row = z;
    weights(map, row, row);
    CHECK(same(row, weights_of(map, z)));
    row = z;
    jvp(map, row, u, row);
    CHECK(same(row, jvp_of(map, z, u)));
    row = u;
    jvp(map, z, row, row);
    CHECK(same(row, jvp_of(map, z, u)));
    row = z;
    vjp(map, row, u, row);
    CHECK(same(row, vjp_of(map, z, u)));
    row = u;
    vjp(map, z, row, row);
    CHECK(same(row, vjp_of(map, z, u)));
    row = u;
    jvp(map, row, row, row);
    CHECK(same(row, jvp_of(map, u, u)));
    if constexpr (LogScoring<decltype(map)>) {
      std::vector<T> apart(z.size());
      log_weights(map, z, apart);
      row = z;
      log_weights(map, row, row);
      CHECK(same(row, apart));
    }
    for_each_parameter<decltype(map)>([&](auto name, const char*) {
      row = z;
      derivative(map, name, row, row);
      CHECK(same(row, derivative_of(map, name, z)));
    });
  });
}

TEST_CASE("strided rows give the bits of contiguous ones and leave the gaps alone", "[scoring]") {
  const std::vector<double> u{1, 0, -2, 0.5, 1, 3};
  std::vector<double> wide(18, 99.0), direction(12, 99.0), out(24, 99.0);
  for (std::size_t i = 0; i < 6; ++i) {
    wide[3 * i] = generic[i];
    direction[2 * i] = u[i];
  }
  const Row<const double> scores(wide.data(), 6, 3);
  for_each_smooth_map<double>([&](auto map, const Facts& facts) {
    INFO(facts.name);
    const auto check = [&](const std::vector<double>& expected) {
      for (std::size_t i = 0; i < 24; ++i) CHECK(out[i] == (i % 4 == 0 ? expected[i / 4] : 99.0));
    };
    weights(map, scores, Row<double>(out.data(), 6, 4));
    check(weights_of(map, generic));
    jvp(map, scores, Row<const double>(direction.data(), 6, 2), Row<double>(out.data(), 6, 4));
    check(jvp_of(map, generic, u));
    vjp(map, scores, Row<const double>(direction.data(), 6, 2), Row<double>(out.data(), 6, 4));
    check(vjp_of(map, generic, u));
  });
}

TEST_CASE("masked scores have weight and derivative zero, and the others are as without them", "[scoring]") {
  const std::vector<double> u{1, 0, -2, 0.5, 1, 3};
  std::vector<double> masked{-infinity}, direction{7};
  for (std::size_t i = 0; i < generic.size(); ++i) {
    masked.insert(masked.end(), {generic[i], -infinity});
    direction.insert(direction.end(), {u[i], nan});  // the entry at a masked key is not read
  }
  const auto visible = [](const std::vector<double>& row) {
    std::vector<double> kept;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i % 2 == 1) kept.push_back(row[i]);
    }
    return kept;
  };
  const auto check = [&](const std::vector<double>& row, const std::vector<double>& expected, double at_mask) {
    if (all_nan(expected)) {
      CHECK((visible(row) == expected || all_nan(row)));
      return;
    }
    CHECK(visible(row) == expected);
    for (std::size_t i = 0; i < row.size(); i += 2) CHECK(row[i] == at_mask);
  };
  for_each_map<double>([&](auto map, const Facts& facts) {
    INFO(facts.name);
    check(weights_of(map, masked), weights_of(map, generic), 0);
    check(jvp_of(map, masked, direction), jvp_of(map, generic, u), 0);
    check(vjp_of(map, masked, direction), vjp_of(map, generic, u), 0);
    for_each_parameter<decltype(map)>(
        [&](auto name, const char*) { check(derivative_of(map, name, masked), derivative_of(map, name, generic), 0); });
    if constexpr (LogScoring<decltype(map)>) {
      std::vector<double> row(masked.size()), expected(generic.size());
      log_weights(map, masked, row);
      log_weights(map, generic, expected);
      check(row, expected, -infinity);
    }
  });
}

TEST_CASE("a row without a visible score, with a NaN or with +infinity gives NaN in every entry", "[scoring]") {
  const std::vector<std::vector<double>> rows{{-infinity},
                                              {-infinity, -infinity},
                                              {nan},
                                              {0, nan, 1},
                                              {nan, 0, 1},
                                              {-infinity, nan},
                                              {infinity},
                                              {0, infinity, 1},
                                              {infinity, infinity, 0},
                                              {-infinity, 0, infinity},
                                              {infinity, -infinity, nan}};
  for_each_map<double>([&](auto map, const Facts& facts) {
    for (const auto& row : rows) {
      INFO(facts.name << ", row of " << row.size() << " from " << row[0]);
      CHECK(all_nan(weights_of(map, row)));
      CHECK(all_nan(jvp_of(map, row, std::vector<double>(row.size(), 1.0))));
      CHECK(all_nan(vjp_of(map, row, std::vector<double>(row.size(), 1.0))));
      for_each_parameter<decltype(map)>([&](auto name, const char*) { CHECK(all_nan(derivative_of(map, name, row))); });
      if constexpr (LogScoring<decltype(map)>) {
        std::vector<double> out(row.size());
        log_weights(map, row, out);
        CHECK(all_nan(out));
      }
    }
    std::vector<double> untouched{5};
    weights(map, Row<const double>(untouched.data(), 0), Row<double>(untouched.data(), 0));
    jvp(map, Row<const double>(untouched.data(), 0), Row<const double>(untouched.data(), 0),
        Row<double>(untouched.data(), 0));
    CHECK(untouched[0] == 5);
  });
}

TEST_CASE("a map outside its domain gives NaN in every entry", "[scoring]") {
  const auto refused = [](auto map) {
    CHECK(all_nan(weights_of(map, generic)));
    CHECK(all_nan(jvp_of(map, generic, generic)));
    CHECK(all_nan(vjp_of(map, generic, generic)));
    for_each_parameter<decltype(map)>(
        [&](auto name, const char*) { CHECK(all_nan(derivative_of(map, name, generic))); });
  };
  for (const double bad : {0.0, -1.0, nan}) {
    refused(Softmax<double>{bad});
    refused(ApproximateSoftmax<double>{bad});
    refused(LinearAttention<double>{bad});
    refused(NormSoftmax<double>{bad});
    refused(SSA<double>{bad});
    refused(SSA<double>{1, 1.5, bad});
    refused(SSA<double>{1, bad});
    refused(Entmax<double>{bad});
  }
  refused(SSA<double>{1, 0.999});
  refused(SSA<double>{infinity});
  refused(SSA<double>{1, infinity});
  refused(Entmax<double>{1});
  refused(Entmax<double>{infinity});
  refused(SSMax<double>{nan});
  refused(SSMax<double>{1, infinity});
  CHECK_FALSE(all_nan(weights_of(SSA<double>{1, 1}, generic)));
  CHECK_FALSE(all_nan(weights_of(Entmax<double>{1.0625}, generic)));
}

TEST_CASE("one score alone has weight 1 if weights sum to one", "[scoring]") {
  for (const double z : {-3.0, 0.0, 2.5}) {
    for_each_map<double>([&](auto map, const Facts& facts) {
      INFO(facts.name << " at " << z);
      const double a = weights_of(map, {z})[0];
      const bool singular = std::isnan(a);
      if (singular) {
        CHECK(z <= 0);
        CHECK(facts.name.find("sum") != std::string::npos);
      } else if (facts.sums_to_one) {
        CHECK(a == 1);
        CHECK(jvp_of(map, {z}, {1.0})[0] == 0);
        CHECK(vjp_of(map, {z}, {1.0})[0] == 0);
      }
    });
  }
  CHECK(weights_of(SaSoftmax<double>{}, {2.5})[0] == 2.5);
  CHECK(weights_of(NormalizedSaSoftmax<double>{}, {2.5})[0] == 1);
  CHECK(weights_of(NormalizedSaSoftmax<double>{}, {-2.5})[0] == 0);
  CHECK(weights_of(LinearAttention<double>{2}, {2.5})[0] == 1.25);
}

TEMPLATE_TEST_CASE("scores of +-1000, ties and denormal scores keep every map finite", "[scoring]", float, double) {
  using T = TestType;
  const T tiny = std::numeric_limits<T>::denorm_min();
  const std::vector<std::vector<T>> rows{{T(1000), T(-1000), T(999), T(1000)},
                                         {T(-1000), T(-1000), T(-1000)},
                                         {T(1000), T(1000), T(999.5)},
                                         {tiny, T(3) * tiny, T(-2) * tiny, T(0)},
                                         {T(1), T(1), T(2), T(2), T(-1)}};
  for_each_map<T>([&](auto map, const Facts& facts) {
    if (facts.name.find("over sum") != std::string::npos) return;  // tanh's and relu's sums may vanish
    for (const auto& row : rows) {
      const auto a = weights_of(map, row);
      INFO(facts.name << ", row from " << row[0]);
      if (facts.name.find("absolute") != std::string::npos && all_nan(a)) continue;  // all values of f underflow to 0
      for (const T x : a) CHECK(std::abs(x) <= T(1e6));
      if (facts.sums_to_one)
        CHECK(std::abs(total(a) - T(1)) <= T(8) * std::numeric_limits<T>::epsilon() * (1 + largest_size(a)));
    }
  });
}

TEST_CASE("rounding does not grow with the length of the row", "[scoring]") {
  for (const std::size_t n : {std::size_t{1000}, std::size_t{1000000}}) {
    const std::vector<double> equal(n, 0.1);
    const double share = 1 / static_cast<double>(n);
    for_each_map<double>([&](auto map, const Facts& facts) {
      if (!facts.sums_to_one) return;
      const auto a = weights_of(map, equal);
      INFO(facts.name << ", n = " << n);
      CHECK(std::abs(a[n / 2] - share) <= 4e-15 * share);
    });
    // 0.1 added up a million times in sequence is off by 1e-11 relative
    double naive = 0;
    for (std::size_t i = 0; i < n; ++i) naive += 0.1;
    if (n != 1000) CHECK(std::abs(naive * share - 0.1) > 1e-13);
  }
}

TEST_CASE("every row of a matrix is scored for itself, under a causal mask over its own prefix", "[scoring]") {
  Random random(2);
  const std::vector<double> scores = random.normals(20);
  std::vector<double> out(20, nan);
  const MatrixView<const double> z(scores.data(), 4, 5);
  const MatrixView<double> a(out.data(), 4, 5);
  const SSMax<double> map{0.5, 0.125};
  for (const auto visibility : {Visibility::all, Visibility::causal}) {
    weights_by_row(map, z, a, visibility);
    for (std::ptrdiff_t i = 0; i < 4; ++i) {
      const std::ptrdiff_t visible = visibility == Visibility::all ? 5 : i + 2;
      std::vector<double> row(static_cast<std::size_t>(visible));
      weights(map, z.row(i).first(visible), row);
      for (std::ptrdiff_t j = 0; j < 5; ++j) CHECK(a(i, j) == (j < visible ? row[static_cast<std::size_t>(j)] : 0));
    }
  }
}

TEST_CASE("under a causal mask fewer queries than keys are the last ones", "[scoring]") {
  for (std::ptrdiff_t i = 0; i < 5; ++i) CHECK(visible_keys(Visibility::causal, i, 5, 5) == i + 1);
  CHECK(visible_keys(Visibility::causal, 0, 1, 5) == 5);
  CHECK(visible_keys(Visibility::causal, 0, 2, 5) == 4);
  CHECK(visible_keys(Visibility::causal, 1, 2, 5) == 5);
  CHECK(visible_keys(Visibility::causal, 0, 9, 5) == 1);
  CHECK(visible_keys(Visibility::causal, 7, 9, 5) == 5);
  CHECK(visible_keys(Visibility::all, 0, 2, 5) == 5);
  CHECK(query_position(Visibility::causal, 1, 2, 5) == 4);
  CHECK(query_position(Visibility::all, 1, 2, 5) == 1);
}

}  // namespace incontext::testing
