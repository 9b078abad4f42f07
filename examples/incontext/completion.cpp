#include "examples/incontext/completion.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "examples/support/output.hpp"

namespace incontext::examples {

namespace {

/// The words that an option takes, which its type lists between bars; empty where it takes numbers, names or files. A word
/// with a capital letter, such as cuda:N, stands for others, and one with a colon is two words to a shell.
std::string words_of(const std::string& type) {
  std::string words;
  if (type.find('|') == std::string::npos) return words;
  for (std::size_t at = 0; at <= type.size();) {
    const std::size_t end = std::min(type.find('|', at), type.size());
    const std::string_view word = std::string_view(type).substr(at, end - at);
    const bool is_literal = word != "-" && std::none_of(word.begin(), word.end(), [](unsigned char c) {
                              return std::isupper(c) != 0 || c == ':';
                            });
    if (is_literal) words += (words.empty() ? "" : " ") + std::string(word);
    at = end + 1;
  }
  return words;
}

/// An option of a subcommand: its name behind two dashes, whether a value follows, and the words that this can be.
struct Completed {
  std::string name;
  bool has_value;
  std::string words;
};

/// What can follow the words of a subcommand: names of tasks or words of positional arguments, and options.
struct Place {
  std::vector<std::string> words;
  std::string names;
  std::vector<Completed> options;
  bool is_group = false;  ///< whether the names are those of subcommands or tasks
};

void add_places(std::vector<Place>& places, const std::vector<std::string>& words, const Subcommand& subcommand) {
  Place place{.words = words,
              .names = {},
              .options = {{"help", false, ""}, {"version", false, ""}},
              .is_group = !subcommand.tasks.empty()};
  for (const Subcommand& task : subcommand.tasks) {
    place.names += (place.names.empty() ? "" : " ") + task.name;
    std::vector<std::string> all = words;
    all.push_back(task.name);
    add_places(places, all, task);
  }
  if (subcommand.tasks.empty()) {
    CLI::App app;
    subcommand.add_options(app);
    for (const CLI::Option* option : app.get_options()) {
      const std::string values = words_of(option->get_type_name());
      if (option->get_positional()) place.names += values;
      for (const std::string& name : option->get_lnames()) {
        if (name != "help") place.options.push_back({name, option->get_expected_max() > 0, values});
      }
    }
  } else {
    place.options.push_back({"list", false, ""});
  }
  places.push_back(std::move(place));
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : between) + word;
  return all;
}

/// A function of bash, and of zsh, which has bash's. Where it has no words, the shell offers files.
std::string bash_script(const std::string& program, const std::vector<Place>& places) {
  std::string of_values, of_places, groups = "''";  // a case needs a pattern
  const auto add_case = [](std::string& cases, const std::string& words, const std::string& replies) {
    cases += "    '" + words + "') words='" + replies + "' ;;\n";
  };
  for (const Place& place : places) {
    const std::string words = joined(place.words, " ");
    std::string replies = place.names;
    for (const Completed& option : place.options) {
      replies += " --" + option.name;
      if (option.has_value) add_case(of_values, words + " --" + option.name, option.words);
    }
    add_case(of_places, words, replies);
    if (place.words.size() == 3 && groups.find("|" + place.words[1]) == std::string::npos)
      groups += "|" + place.words[1];
  }
  return "_" + program + R"(() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} place=)" +
         program + R"( words=
  if [ "$word" = = ]; then word=; elif [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
  [ "$COMP_CWORD" -lt 2 ] || place="$place ${COMP_WORDS[1]}"
  case ${COMP_WORDS[1]} in
    )" + groups +
         R"() [ "$COMP_CWORD" -lt 3 ] || place="$place ${COMP_WORDS[2]}" ;;
  esac
  case "$place $before" in
)" + of_values +
         R"(    *)
      case "$place" in
)" + of_places +
         R"(      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _)" +
         program + " " + program + "\n";
}

/// Commands of fish: what can follow the words of a place, where nothing or anything else was typed after them.
std::string fish_script(const std::string& program, const std::vector<Place>& places) {
  const std::string at = "__" + program + "_at";
  std::string script = "function " + at + R"(
    set -l typed (commandline -poc)[2..]
    set -l place $argv[2..]
    test $argv[1] = within; or test (count $typed) -eq (count $place); or return 1
    test (count $typed) -ge (count $place); or return 1
    for i in (seq (count $place))
        test "$typed[$i]" = "$place[$i]"; or return 1
    end
end
)";
  for (const Place& place : places) {
    const std::vector<std::string> words(place.words.begin() + 1, place.words.end());
    const std::string begin = "complete -c " + program + " -n '" + at + (place.is_group ? " exactly " : " within ") +
                              joined(words, " ") + "'";
    if (!place.names.empty()) script += begin + " -f -a '" + place.names + "'\n";
    for (const Completed& option : place.options) {
      script += begin + " -l " + option.name;
      if (option.has_value) script += option.words.empty() ? " -r" : " -x -a '" + option.words + "'";
      script += "\n";
    }
  }
  return script;
}

struct CompletionOptions {
  std::string shell;
};

}  // namespace

Subcommand completion(const std::string& program, const std::vector<Subcommand>& subcommands) {
  const auto options = std::make_shared<CompletionOptions>();
  Subcommand result{.name = "completion",
                    .question = "How does a shell complete this command line?",
                    .description = "Prints the script by which a shell completes subcommands, options and their words.",
                    .footer = "\nExamples:\n  source <(" + program + " completion bash)\n  " + program +
                              " completion zsh >~/.zfunc/_" + program + "\n  " + program +
                              " completion fish >~/.config/fish/completions/" + program + ".fish\n"};
  result.add_options = [options](CLI::App& app) {
    add_choice<std::string>(app, "shell", options->shell, "The shell",
                            {{"bash", "bash"}, {"zsh", "zsh"}, {"fish", "fish"}})
        ->required();
  };
  result.body = [=](const CLI::App&) {
    std::vector<Subcommand> all = subcommands;
    all.push_back({.name = "completion",
                   .add_options = [](CLI::App& app) { app.add_option("shell")->type_name("bash|zsh|fish"); }});
    std::vector<Place> places;
    add_places(places, {program}, {.name = program, .tasks = all});
    const std::string of_zsh = "#compdef " + program + "\nautoload -U +X bashcompinit && bashcompinit\n";
    write_standard_output(options->shell == "fish"
                              ? fish_script(program, places)
                              : (options->shell == "zsh" ? of_zsh : "") + bash_script(program, places));
    return exit_agreement;
  };
  return result;
}

}  // namespace incontext::examples
