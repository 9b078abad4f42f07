#include "incontext/training/checkpoint.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

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
  const TrainingState state{{0.1, -1e-310, 3}, {{1 / 3.0, -0.0, 1e300}, {5e-324, 2, 7}, 41}, 0.7};
  save_checkpoint(path, "d 5 seed 1", state);
  const TrainingState back = load_checkpoint(path, "d 5 seed 1");
  CHECK(back.parameters == state.parameters);
  CHECK(back.adam.first == state.adam.first);
  CHECK(back.adam.second == state.adam.second);
  CHECK(back.adam.steps == 41);
  CHECK(back.first_loss == 0.7);
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
}

TEST_CASE("a checkpoint is written through no name that others can foresee, and a link to it remains one",
          "[training]") {
  namespace fs = std::filesystem;
  const fs::path folder = "training_checkpoint_folder";
  fs::remove_all(folder);
  fs::create_directory(folder);
  const auto file = [&](const char* name) { return (folder / name).string(); };
  std::ofstream(file("own.part")) << "kept";
  fs::create_symlink("own.part", folder / "linked.part");
  fs::create_symlink("real", folder / "link");  // to no file yet
  const TrainingState state{{1}, {{2}, {3}, 4}, 5};
  for (const char* name : {"own", "linked", "link"}) save_checkpoint(file(name), "s", state);
  CHECK(text_of(file("own.part")) == "kept");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK_FALSE(fs::is_symlink(folder / "linked"));
  for (const char* name : {"own", "linked", "real"}) CHECK(load_checkpoint(file(name), "s").adam.steps == 4);
  fs::permissions(file("own"), fs::perms::owner_read | fs::perms::owner_write);
  save_checkpoint(file("own"), "s", state);
  CHECK(fs::status(file("own")).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 6);
  fs::remove_all(folder);
}

TEST_CASE("a checkpoint of a negative number of steps is refused", "[training]") {
  const std::string path = "training_checkpoint_steps.txt";
  save_checkpoint(path, "s", {{1}, {{2}, {3}, -20}, 5});
  CHECK(refuses<std::runtime_error>([&] { load_checkpoint(path, "s"); }, {"is damaged", path}));
  std::remove(path.c_str());
}

TEST_CASE("the bound of divergence is measured from the first loss of all, also after a resume", "[training]") {
  const std::array<double, 4> losses{1, 50, 99, 101};
  const GradientFunction growing = [&](std::span<const double>, std::int64_t step) {
    return BatchGradient{.loss = losses[static_cast<std::size_t>(step)], .gradient = {0.0}};
  };
  const std::string path = "training_checkpoint_first_loss.txt";
  const TrainerOptions options{.largest_loss_growth = 100};
  Trainer trainer({1.0}, growing, options);
  trainer.step();
  trainer.step();
  save_checkpoint(path, "s", trainer.state());
  Trainer resumed({1.0}, growing, options);
  resumed.resume(load_checkpoint(path, "s"));
  CHECK(resumed.step());
  CHECK(refuses<std::domain_error>([&] { resumed.step(); }, {"at step 3 the loss is 101, at the first 1"}));
  std::remove(path.c_str());
}

}  // namespace incontext::testing
