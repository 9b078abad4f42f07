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
      if (point["z"].is_null()) continue;
      const double expected = theory[i]["points"][j]["theory"];
      largest = std::max(largest, std::abs((point["mean"].get<double>() - expected) / point["error"].get<double>()));
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("the explorer's simulations agree with its curves, and not with those of neighboring sliders") {
  for (const Json& panel : Json::parse(explorer::describe())) {
    const std::string name = panel["name"];
    if (name == "adaptive-rate") continue;  // its curves are approximations
    CAPTURE(name);
    const Json settings = start_of(panel);
    CHECK(largest_z(name, settings, settings, 8192) < 5);
    Json neighboring = settings;
    const std::string slider = panel["sliders"][0]["name"];
    neighboring[slider] = std::round(1.2 * settings[slider].get<double>() + 1);
    CHECK(largest_z(name, settings, neighboring, 8192) > 8);
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
