// incontext evaluate on the kinds of in-context classification.

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.hpp"
#include "tests/examples/run_program.hpp"

namespace classification_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

const std::string oracle_file = std::string(INCONTEXT_ORACLES) + "/classification.json";

Finished evaluate(const Json& document) { return run_program("evaluate", {"-", "--format", "json"}, document.dump()); }

/// The oracle file with the first case of one kind.
Json first_of(const std::string& kind) {
  Json document = Json::parse(content_of(oracle_file));
  for (const Json& item : Json(document["cases"])) {
    if (item["kind"] == kind) {
      document["cases"] = Json::array({item});
      return document;
    }
  }
  FAIL("no case of " << kind);
  return document;
}

}  // namespace

TEST_CASE("the table of computed contexts fits a wide terminal", "[programs]") {
  const Finished finished = run_program("evaluate", {oracle_file, "--all-rows"});
  CHECK(finished.exit_code == 0);
  CHECK(finished.output.find("fields}") != std::string::npos);
  std::size_t widest = 0;
  for (std::size_t at = 0; at < finished.output.size();) {
    const std::size_t end = finished.output.find('\n', at);
    widest = std::max(widest, end - at);
    at = end + 1;
  }
  CHECK(widest <= 160);
}

TEST_CASE("incontext evaluate refuses what classification can't be asked", "[programs]") {
  const auto refused = [](const std::string& kind, const std::string& field, const Json& value,
                          const std::string& named) {
    Json document = first_of(kind);
    document["cases"][0]["in"][field] = value;
    const Finished finished = evaluate(document);
    CAPTURE(kind, field, finished.errors);
    CHECK(finished.exit_code == 2);
    CHECK(finished.errors.find(named) != std::string::npos);
  };
  refused("log_A", "d", 0, "dimension");
  refused("sphere_constants", "d", 1, "dimension");
  refused("inverse_S_moments", "kappa", "-1", "kappa");
  refused("inverse_S_moments", "n", 0, "context_length");
  refused("k2_softmax_exact", "n", 5, "context_length");
  refused("k2_hemisphere", "alpha", "2", "boundary_angle");
  refused("d2_voronoi_limit", "n", 7, "context_length");
  refused("d2_voronoi_limit", "d", 3, "d");
  refused("tiny_context", "labels", Json::array({0, 0, 1, 9}), "label");
  refused("tiny_context", "kappa", "-1", "kappa");
  refused("tiny_context", "y", 2, "label");
}

}  // namespace classification_program_test
