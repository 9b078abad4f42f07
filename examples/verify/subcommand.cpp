// incontext verify: every claim of the five papers on trial. It runs other subcommands, reads their reports, and
// decides about each claim from its rows.

#include <cstdio>

#include "examples/incontext/subcommand.hpp"
#include "examples/verify/edition.hpp"
#include "examples/verify/options.hpp"
#include "examples/verify/page.hpp"
#include "examples/verify/tables.hpp"

namespace incontext::examples::verify {

namespace {

int run_ledger(VerifyOptions& o, Report report) {
  const Interrupts interrupts;
  const std::vector<Claim> claims = claims_of(o);
  Ledger ledger =
      ledger_of(claims, do_runs(with_seed(needed_runs(o.registry, claims, o.edition), o.seed), o, interrupts));
  const std::vector<Draw> again = repeated(ledger.runs_to_repeat(), o);
  if (!again.empty() && interrupts.count() == 0) {
    ledger = with_another_seed(std::move(ledger), do_runs(again, o, interrupts));
  }
  ledger.complete = interrupts.count() == 0;
  const std::vector<Mutant> mutants = mutants_of(ledger);
  report.tables = {claims_table(ledger, o.registry, mutants), groups_table(ledger), rows_table(ledger),
                   runs_table(ledger), mutants_table(ledger, mutants)};
  report.verdict = verdict_of(ledger);
  report.run.complete = ledger.complete;
  report.run.seed = o.seed;
  if (!o.page.empty()) {  // as --output's report: that of a stopped run does not replace an older one
    const bool replaces = ledger.complete || o.output.replace_by_partial;
    write_file(replaces ? o.page : partial_file(o.page), page_of(report, o.registry), "--page");
  }
  for (Table& table : report.tables) table.audit = &table != &report.tables.front();  // the first has a line per claim
  return deliver(std::move(report), o.output);
}

int run(const CLI::App& app, VerifyOptions& o) {
  Report report = report_on(app, complete(app, o));
  if (o.print_claims) {
    if (std::fputs(claims_text(o).c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
      throw InputError("--print-claims: standard output cannot be written");
    }
    return 0;
  }
  if (!o.list) return run_ledger(o, std::move(report));
  report.tables.push_back(list_table(claims_of(o), o.registry));
  return deliver(std::move(report), o.output);
}

}  // namespace

Subcommand subcommand() {
  const auto options = std::make_shared<VerifyOptions>();
  return {
      .name = "verify",
      .question = "Which claims of the five papers hold?",
      .description =
          "Tests the claims of the five papers by simulation. Claims that need a large model are not tested: the\n"
          "table says what each of them needs. Runs other subcommands, a few at a time, reads their reports, and\n"
          "decides about each claim from its rows, by the rules of docs/claims.md. The judged rows of a claim are one\n"
          "family, in which a right theory is rejected once in 10,000 runs (Holm). A row of a paper that is rejected "
          "is\n"
          "tried again with another seed. Exit 1 says that a result of ours is rejected, not a paper's.\n" +
          std::string(exit_codes_help),
      .footer =
          "\nExamples:\n"
          "  incontext verify --page ledger.html\n"
          "  incontext verify --claim temperature/theorem-4.2,normsoftmax/figure-5\n"
          "  incontext verify --paper 2501.19399 --edition full --output ssmax.json\n"
          "  incontext verify --paper 2501.19399 --print-claims > mine.toml\n",
      .add_options = [options](CLI::App& app) { add_verify_options(app, *options); },
      .body = [options](const CLI::App& app) { return run(app, *options); }};
}

}  // namespace incontext::examples::verify
