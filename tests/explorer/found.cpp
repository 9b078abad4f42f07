// Prints what the page leaves under #test: every panel drawn, and simulated by two steps where its sliders start.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "docs/explorer/session.hpp"

int main() {
  using Json = nlohmann::ordered_json;
  namespace explorer = incontext::explorer;
  Json found = Json::array();
  for (const Json& panel : Json::parse(explorer::describe())) {
    Json settings = Json::object();
    for (const Json& slider : panel["sliders"]) settings[slider["name"].get<std::string>()] = slider["start"];
    const std::string name = panel["name"];
    const Json theory = Json::parse(explorer::theory(name, settings.dump()));
    explorer::start(name, settings.dump(), 1);
    explorer::step(1024);
    found.push_back({{"name", name}, {"theory", theory}, {"simulated", Json::parse(explorer::step(1024))}});
  }
  std::puts(found.dump().c_str());
}
