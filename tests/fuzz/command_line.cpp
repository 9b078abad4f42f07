// The fuzzed lines of text are the arguments of incontext scores; it stops before it would begin to compute.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/scores/options.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace incontext::examples;
  using namespace incontext::examples::scores;
  std::vector<std::string> words{"incontext scores", ""};
  for (std::size_t i = 0; i < size; ++i) {
    const char c = static_cast<char>(data[i]);
    if (c == '\n' || c == '\0') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  incontext::fuzz::read_or_refuse([&] {
    ScoresOptions options;
    CLI::App app("", words.front());
    app.option_defaults()->always_capture_default();
    add_scores_options(app, options);
    try {
      parse_arguments(app, static_cast<int>(arguments.size()), arguments.data());
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return;  // --help
      throw InputError(shown(error.what(), 1000));
    }
    check_combination(app, options);
    const auto as_json = arguments_of(app);
    incontext::fuzz::require(!as_json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).empty(),
                             "the report can repeat the arguments");
  });
  return 0;
}
