#include "docs/explorer/session.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.hpp"

namespace {

using Json = nlohmann::ordered_json;
namespace explorer = incontext::explorer;

Json start_of(const Json& panel) {
  Json settings = Json::object();
  for (const Json& slider : panel["sliders"]) settings[slider["name"].get<std::string>()] = slider["start"];
  return settings;
}

/// The largest |z| of a panel's points, where the simulation is drawn under `drawn` and the theory is of `settings`.
double largest_z(const std::string& panel, const Json& settings, const Json& drawn, std::int64_t trials) {
  const auto simulated = [&](const Json& at) {
    REQUIRE(Json::parse(explorer::start(panel, at.dump(), 5)).empty());
    return Json::parse(explorer::step(trials));
  };
  const Json theory = simulated(settings), points = simulated(drawn);
  double largest = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < points[i]["points"].size(); ++j) {
      const Json& point = points[i]["points"][j];
      if (!point["in_range"].get<bool>()) continue;
      const Json& of = theory[i]["points"][j];
      const double expected = of["theory"], own_error = of["theory_error"].get<double>() * expected;
      const double off = std::max(0.0, std::abs(point["mean"].get<double>() - expected) - own_error);
      largest = std::max(largest, off / point["error"].get<double>());
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("the explorer's simulations agree with its curves, and not with those of neighboring sliders") {
  for (const Json& panel : Json::parse(explorer::describe())) {
    const std::string name = panel["name"];
    CAPTURE(name);
    const Json settings = start_of(panel);
    CHECK(largest_z(name, settings, settings, 8192) < 5);
    Json neighboring = settings;
    const std::string slider = panel["sliders"][0]["name"];
    neighboring[slider] = std::round(1.2 * settings[slider].get<double>() + 1);
    CHECK(largest_z(name, settings, neighboring, 8192) > 8);
  }
}

TEST_CASE("the explorer says that its curves and points agree, by a bound that grows with the looks") {
  for (const Json& panel : Json::parse(explorer::describe())) {
    CAPTURE(panel["name"]);
    REQUIRE(Json::parse(explorer::start(panel["name"], start_of(panel).dump(), 5)).empty());
    double bound = 0;
    for (int look = 1; look <= 8; ++look) {
      double largest = 0;
      for (const Json& series : Json::parse(explorer::step(2048))) {
        for (const Json& point : series["points"]) {
          if (point["in_range"].get<bool>()) largest = std::max(largest, std::abs(point["z"].get<double>()));
        }
      }
      const Json found = Json::parse(explorer::verdict());
      CHECK(found["looks"] == look);
      CHECK(found["judged"].get<int>() >= 5);
      CHECK(found["disagreements"] == 0);
      CHECK(found["largest"] == largest);
      CHECK(largest < found["bound"].get<double>());
      CHECK(found["bound"].get<double>() > bound);
      bound = found["bound"];
    }
    CHECK(bound > 4.5);
    CHECK(bound < 6);
  }
}

TEST_CASE("the explorer marks where its approximations are out of range, and there alone") {
  for (const Json& panel : Json::parse(explorer::describe())) {
    const std::string name = panel["name"], settings = start_of(panel).dump();
    CAPTURE(name);
    bool any_beyond = false;
    const Json curves = Json::parse(explorer::theory(name, settings))["curves"];
    for (const Json& curve : curves) {
      for (const Json& in_range : curve["in_range"]) any_beyond = any_beyond || !in_range.get<bool>();
    }
    CHECK(any_beyond == (name == "adaptive-rate"));
  }
  // Two classes, d = 3, n = 40, c = 8: the adaptive approximation is 0.191 at kappa = 8, where the loss is 0.226.
  const Json settings = {{"d", 3}, {"n", 40}, {"gain", 8}, {"kappa", 2}};
  explorer::start("adaptive-rate", settings.dump(), 1);
  const Json points = Json::parse(explorer::step(65536))[0]["points"];
  CHECK(points.front()["in_range"] == true);
  CHECK(points.back()["x"] == 8.0);
  CHECK(points.back()["in_range"] == false);
  CHECK(points.back()["theory"].get<double>() < 0.9 * points.back()["mean"].get<double>());
}

TEST_CASE("the explorer prints the best temperatures, at which its curves are least") {
  const Json panel = Json::parse(explorer::describe())[0];
  const Json curves = Json::parse(explorer::theory(panel["name"], start_of(panel).dump()))["curves"];
  // The numbers of README.md, for this layer and this shift.
  CHECK(std::abs(curves[0]["least"]["x"].get<double>() - 2.904762) < 1e-6);
  CHECK(std::abs(curves[1]["least"]["x"].get<double>() - 5.057267) < 1e-3);
  for (const Json& curve : curves) {
    if (curve["least"].is_null()) continue;
    for (const Json& value : curve["values"]) CHECK(curve["least"]["value"].get<double>() <= value.get<double>());
  }
}

TEST_CASE("the explorer draws on: further trials are added to those before") {
  const Json panel = Json::parse(explorer::describe())[0];
  explorer::start(panel["name"], start_of(panel).dump(), 1);
  const Json one = Json::parse(explorer::step(512))[0]["points"][0],
             two = Json::parse(explorer::step(1024))[0]["points"][0];
  CHECK(one["trials"] == 512);
  CHECK(two["trials"] == 1536);
  CHECK(two["error"].get<double>() < one["error"].get<double>());
  CHECK(two["mean"] != one["mean"]);
}

TEST_CASE("the explorer's errors are messages") {
  const auto error_of = [](const std::string& answer) { return Json::parse(answer).value("error", std::string()); };
  CHECK(error_of(explorer::theory("nothing", "{}")) == "there is no panel 'nothing'");
  CHECK(error_of(explorer::start("needle", R"({"gap": 1, "stddev": -1, "s": 1, "n": 10})", 1)).find("noise_stddev") !=
        std::string::npos);
  CHECK_FALSE(error_of(explorer::step(64)).empty());  // the simulation that could not start
}
