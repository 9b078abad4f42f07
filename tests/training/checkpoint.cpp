#include "incontext/training/checkpoint.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace training;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a checkpoint keeps every bit, and anything else is refused and kept", "[training]") {
  const std::string path = "training_checkpoint_test.txt";
  const TrainingState state{{0.1, -1e-310, 3}, {{1 / 3.0, -0.0, 1e300}, {5e-324, 2, 7}, 41}};
  save_checkpoint(path, "d 5 seed 1", state);
  const TrainingState back = load_checkpoint(path, "d 5 seed 1");
  CHECK(back.parameters == state.parameters);
  CHECK(back.adam.first == state.adam.first);
  CHECK(back.adam.second == state.adam.second);
  CHECK(back.adam.steps == 41);
  const std::string whole = text_of(path);
  const auto refused = [&](const std::string& text, const char* settings = "d 5 seed 1") {
    std::ofstream(path, std::ios::binary) << text;
    const std::string message = message_of<std::runtime_error>([&] { load_checkpoint(path, settings); });
    CHECK(text_of(path) == text);
    return message;
  };
  CHECK(names(refused(whole, "d 6 seed 1"), path, "other settings: it has d 5, this run d 6", "d 6 seed 1"));
  CHECK(names(refused(whole, "d 5 seed 1 k 2"), "this run has also k"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(names(refused(whole.substr(0, size)), path, "left as it is"));
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string altered = whole;
    altered[at] ^= 1;
    CHECK(names(refused(altered), path));
  }
  std::remove(path.c_str());
  CHECK(refuses<std::runtime_error>([&] { load_checkpoint(path, ""); }, {"cannot read", path}));
  CHECK(refuses<std::runtime_error>([&] { save_checkpoint("/nowhere/at/all", "", state); }, {"/nowhere/at/all"}));
  CHECK(!std::filesystem::exists(path + ".part"));
}

}  // namespace incontext::testing
