#include "examples/incontext/completion.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>

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

/// The parts of the script: what can follow after which words, as the cases of two shell statements.
struct Script {
  std::string values;   ///< after an option
  std::string options;  ///< elsewhere
};

void add_case(std::string& cases, const std::string& words, const std::string& replies) {
  cases += "    '" + words + "') words='" + replies + "' ;;\n";
}

void add_subcommand(Script& script, const std::string& words, const Subcommand& subcommand) {
  if (!subcommand.tasks.empty()) {
    std::string names;
    for (const Subcommand& task : subcommand.tasks) {
      names += task.name + " ";
      add_subcommand(script, words + " " + task.name, task);
    }
    add_case(script.options, words, names + "--help --list --version");
    return;
  }
  CLI::App app;
  subcommand.add_options(app);
  std::string names, of_positionals;
  for (const CLI::Option* option : app.get_options()) {
    const std::string values = words_of(option->get_type_name());
    if (option->get_positional()) of_positionals += values.empty() ? "" : values + " ";
    for (const std::string& name : option->get_lnames()) {
      if (name != "help") names += "--" + name + " ";
      if (option->get_expected_max() > 0) add_case(script.values, words + " --" + name, values);
    }
  }
  add_case(script.options, words, of_positionals + names + "--help --version");
}

/// Where the script has no words, the shell offers files.
std::string script_of(const std::string& program, const std::vector<Subcommand>& subcommands) {
  Script script;
  add_subcommand(script, program, {.name = program, .tasks = subcommands});
  std::string groups = "''";  // a case needs a pattern
  for (const Subcommand& one : subcommands) {
    if (!one.tasks.empty()) groups += "|" + one.name;
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
)" + script.values +
         R"(    *)
      case "$place" in
)" + script.options +
         R"(      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _)" +
         program + " " + program + "\n";
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
                              " completion zsh >~/.zfunc/_" + program + "\n"};
  result.add_options = [options](CLI::App& app) {
    add_choice<std::string>(app, "shell", options->shell, "The shell", {{"bash", "bash"}, {"zsh", "zsh"}})->required();
  };
  result.body = [=](const CLI::App&) {
    std::vector<Subcommand> all = subcommands;
    all.push_back(
        {.name = "completion", .add_options = [](CLI::App& app) { app.add_option("shell")->type_name("bash|zsh"); }});
    const std::string own = options->shell == "zsh"
                                ? "#compdef " + program + "\nautoload -U +X bashcompinit && bashcompinit\n"
                                : std::string();
    write_standard_output(own + script_of(program, all));
    return exit_agreement;
  };
  return result;
}

}  // namespace incontext::examples
