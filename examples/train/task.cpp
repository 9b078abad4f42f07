#include "examples/train/task.hpp"

#include <incontext/statistics/moments.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace incontext::examples::train {

void add_full_flag(CLI::App& app, TaskOptions& o) {
  add_flag(app, "--full", o.full, "The full run: more settings, more seeds, longer training; minutes");
}

void add_edition_count(CLI::App& app, TaskOptions& o, const std::string& name, std::int64_t& target,
                       const std::string& description, std::int64_t quick, std::int64_t full, std::int64_t maximum) {
  const std::string defaults =
      quick == full ? "" : "; default: " + std::to_string(quick) + ", --full: " + std::to_string(full);
  target = quick;
  CLI::Option* option = add_count<std::int64_t>(app, name, target, description + defaults, 1, maximum);
  if (quick != full) show_no_default(option);
  o.counts.push_back({name, &target, quick, full});
}

void add_words(CLI::App& app, const std::string& name, std::vector<std::string>& target, const std::string& description,
               const std::vector<std::string>& known) {
  std::string words;
  for (const std::string& word : known) words += (words.empty() ? "" : ",") + word;
  const auto read = [&target, name, words, known](const std::string& text) {
    target = parse_list(text);
    for (const std::string& word : target) {
      if (std::find(known.begin(), known.end(), word) == known.end()) throw_unknown_word(name, word, known, ",");
      if (std::count(target.begin(), target.end(), word) > 1) throw_input_error(name, "is named twice", word, words);
    }
  };
  show_no_default(add_read(app, name, read, description + ": some of " + words, "WORD,WORD,..."));
}

void complete_counts(const CLI::App& app, const TaskOptions& o) {
  for (const EditionCount& count : o.counts) {
    if (!is_given(app, count.name)) *count.target = o.full ? count.full : count.quick;
  }
}

void state_counts(const TaskOptions& o, nlohmann::ordered_json& arguments) {
  for (const EditionCount& count : o.counts) arguments[count.name.substr(2)] = *count.target;
}

statistics::Estimate estimate_of_runs(const std::vector<double>& values) {
  return statistics::Estimate(statistics::moments_of(values.data(), std::ssize(values)));
}

Cell finite_cell(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }

}  // namespace incontext::examples::train
