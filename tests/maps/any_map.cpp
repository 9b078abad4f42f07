#include "incontext/maps/any_map.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "scoring/maps.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

namespace {

using maps::AnyMap;
template <class T>
using In = scoring::Row<const T>;
template <class T>
using Out = scoring::Row<T>;

}  // namespace

TEST_CASE("any map is the map that it holds, in the same bits", "[maps]") {
  const auto check = [](auto scalar) {
    using T = decltype(scalar);
    const std::vector<T> scores{T(0.3), T(-1.2), T(2.5), T(0.7)}, direction{T(1), T(-0.5), T(0.25), T(2)};
    for_each_map<T>([&]<class Map>(const Map& map, const Facts& facts) {
      INFO(facts.name);
      const AnyMap<T> any{map};
      std::vector<T> out(4);
      weights(any, In<T>(scores), Out<T>(out));
      CHECK(out == weights_of(map, scores));
      jvp(any, In<T>(scores), In<T>(direction), Out<T>(out));
      CHECK(out == jvp_of(map, scores, direction));
      vjp(any, In<T>(scores), In<T>(direction), Out<T>(out));
      CHECK(out == vjp_of(map, scores, direction));
      std::vector<T> kept(scores.size()), expected(scores.size());
      weights(map, In<T>(scores), Out<T>(kept));
      vjp_from_weights(any, In<T>(scores), In<T>(kept), In<T>(direction), Out<T>(out));
      scoring::detail::call_vjp_from_weights(map, In<T>(scores), In<T>(kept), In<T>(direction), Out<T>(expected));
      CHECK(out == expected);
      std::vector<std::string> names;
      for_each_parameter<Map>([&](auto parameter, const std::string& name) {
        names.push_back(name);
        derivative(any, name, In<T>(scores), Out<T>(out));
        CHECK(out == derivative_of(map, parameter, scores));
      });
      std::sort(names.begin(), names.end());
      auto found = maps::parameter_names(any);
      std::sort(found.begin(), found.end());
      CHECK(found == names);
      const auto logs = [&] { log_weights(any, In<T>(scores), Out<T>(out)); };
      if constexpr (scoring::LogScoring<Map>) {
        std::vector<T> own(4);
        log_weights(map, scores, own);
        logs();
        CHECK(out == own);
      } else {
        CHECK(refuses<maps::MapTypeError>(logs, {"value = " + std::string(any.type()), "Softmax, SSMax"}));
      }
      CHECK(refuses<std::invalid_argument>([&] { derivative(any, "slope", In<T>(scores), Out<T>(out)); }, {"slope"}));
    });
  };
  check(1.0);
  check(1.0f);
}

TEST_CASE("every map of the room has a name, which finds it with the parameters of its own", "[maps]") {
  int seen = 0;
  maps::for_each_named_map<double>([&]<class Map>(const maps::NamedMap<Map>& entry) {
    const AnyMap<> found = maps::find_map<double>(entry.name);
    CHECK(found.name() == entry.name);
    REQUIRE(std::holds_alternative<Map>(found.chosen));
    const std::vector<double> scores{0.3, -1.2, 2.5};
    CHECK(weights_of(std::get<Map>(found.chosen), scores) == weights_of(Map{}, scores));
    ++seen;
  });
  CHECK(seen == 15);
  STATIC_REQUIRE(scoring::Scoring<AnyMap<>>);
  STATIC_REQUIRE(std::is_convertible_v<scoring::Softmax<double>, AnyMap<>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<AnyMap<>, scoring::Softmax<float>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<AnyMap<>, double>);
  for_each_map<double>(
      [&]<class Map>(const Map&, const Facts&) { CHECK(std::is_constructible_v<AnyMap<>, AnyMap<>>); });
  CHECK(refuses<std::invalid_argument>([] { maps::find_map<double>("softmaks"); }, {"softmaks", "softmax", "square"}));
}

TEST_CASE("a function of some maps gets those, and names them where it gets another", "[maps]") {
  const auto temperature = []<class Map>(const Map& map)
    requires requires { map.temperature; }
  {
    return map.temperature;
  };
  CHECK(maps::visit("here", AnyMap<>{scoring::Softmax<double>{3}}, temperature) == 3);
  const auto visited = [&] { maps::visit("here", AnyMap<>{scoring::Entmax<double>{}}, temperature); };
  CHECK(refuses<std::invalid_argument>(
      visited, {"here", "value = Entmax", "needs Softmax, ApproximateSoftmax, LinearAttention, SSA, NormSoftmax)"}));
}

TEST_CASE("a list of maps is visited as a list of their own type, if they have one", "[maps]") {
  const auto sum = [](const std::vector<scoring::Softmax<double>>& list) {
    double all = 0;
    for (const auto& map : list) all += map.temperature;
    return all;
  };
  const AnyMap<> two{scoring::Softmax<double>{2}}, five{scoring::Softmax<double>{5}}, other{scoring::SSA<double>{}};
  CHECK(maps::visit_list("here", std::vector{two, five}, sum) == 7);
  const auto list = [&](std::vector<AnyMap<>> maps) { return [=] { maps::visit_list("here", maps, sum); }; };
  CHECK(refuses<std::invalid_argument>(list({}), {"number of maps", "at least 1"}));
  CHECK(refuses<maps::MapTypeError>(list({two, other}), {"not of one type", "value = SSA", "Softmax"}));
  CHECK(refuses<maps::MapTypeError>(list({other, other}), {"value = SSA", "needs Softmax"}));
}

TEST_CASE("parameters are visited in the order of the members of each map", "[maps]") {
  maps::for_each_named_map<double>([]<class Map>(const maps::NamedMap<Map>& entry) {
    INFO(entry.name);
    const auto in_order = [](const Map& map, std::vector<double> numbers) {
      std::vector<double> found;
      maps::for_each_parameter(map, [&](auto, double value) { found.push_back(value); });
      CHECK(found == numbers);
    };
    if constexpr (requires { Map{1.0, 2.0, 3.0}; }) {
      in_order({1.0, 2.0, 3.0}, {1, 2, 3});
    } else if constexpr (requires { Map{1.0, 2.0}; }) {
      in_order({1.0, 2.0}, {1, 2});
    } else if constexpr (requires { Map{1.0}; }) {
      in_order({1.0}, {1});
    } else {
      in_order({}, {});
    }
  });
}

TEST_CASE("parameters and choices of any map are read and written by their names", "[maps]") {
  AnyMap<> map = maps::find_map<double>("normsoftmax");
  maps::for_each_parameter(map, [](auto parameter, double& value) {
    CHECK(std::string(parameter.name) == "temperature");
    value = 4;
  });
  maps::for_each_choice(map, []<class Choice>(const char* name, Choice& choice) {
    CHECK(std::string(name) == "scale");
    choice = static_cast<Choice>(1);
  });
  const auto names_of_choices = [](const char* name) {
    std::vector<std::string> names;
    AnyMap<> named = maps::find_map<double>(name);
    maps::for_each_choice(named, [&](const char* choice, auto&) { names.emplace_back(choice); });
    return names;
  };
  CHECK(names_of_choices("linear") == std::vector<std::string>{"normalization"});
  CHECK(names_of_choices("tanh") == std::vector<std::string>{"normalization"});
  CHECK(names_of_choices("softmax").empty());
  const auto& own = std::get<scoring::NormSoftmax<double>>(map.chosen);
  CHECK(own.temperature == 4);
  CHECK(own.scale == scoring::ScoreScale::sample_stddev);
  CHECK(refuses<std::domain_error>([] { validate(AnyMap<>{scoring::Softmax<double>{-1}}); }, {"temperature", "-1"}));
}

}  // namespace incontext::testing
