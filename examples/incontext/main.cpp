// incontext: the one program. Its first word names a subcommand, each of which answers a question.

#include "examples/incontext/completion.hpp"
#include "examples/incontext/subcommands.hpp"

int main(int argc, char** argv) {
  using namespace incontext::examples;
  const ProgramText program{
      .name = "incontext",
      .description =
          "In-context learning by attention: closed-form theory beside simulations that know no formula.\n"
          "Each subcommand answers a question:\n",
      .footer =
          "\nincontext SUBCOMMAND --help says what a subcommand computes, its options, examples and exit codes.\n"
          "Start with: incontext temperature --input-scale 2 --context-length 40\n"};
  std::vector<Subcommand> all = subcommands();
  all.push_back(completion(program.name, all));
  return run_subcommand(program, all, argc, argv);
}
