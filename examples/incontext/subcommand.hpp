#pragma once

#include <memory>
#include <utility>

#include "examples/support/command_line.hpp"
#include "examples/support/controls.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/judgment.hpp"
#include "examples/support/report.hpp"
#include "examples/support/unused_options.hpp"

/// What the subcommands have in common: options, a report about them that is delivered, and most often a judgment of
/// tables that have a simulation beside theory.
namespace incontext::examples {

/// The subcommand whose options `add_options` adds and whose report `report_of` makes.
template <class Options>
Subcommand reporting(Subcommand text, void (*add_options)(CLI::App& app, Options& options),
                     Report (*report_of)(const CLI::App& app, Options& options)) {
  const auto options = std::make_shared<Options>();
  text.add_options = [=](CLI::App& app) { add_options(app, *options); };
  text.body = [=](const CLI::App& app) { return deliver(report_of(app, *options), options->output); };
  return text;
}

/// The report with the tables that `tables(report, judgment)` returns, then the table of negative controls, the summary
/// of the run, and one verdict on all of them.
template <class Simulator, class NegativeControls, class Tables>
Report judged(Report report, const Simulator& simulator, const NegativeControls& controls, const Tables& tables) {
  Judgment judgment;
  report.tables = tables(report, judgment);
  if (!controls.empty()) report.tables.push_back(controls.table());
  report.run = simulator.summary();
  judge(report, judgment);
  controls.join(*report.verdict);
  return report;
}

}  // namespace incontext::examples
