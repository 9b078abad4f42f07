#include "examples/tasks/options.hpp"

namespace incontext::examples::tasks {

void add_task_options(CLI::App& app, TaskOptions& o) {
  const auto positive = [](double value) { return value > 0 && value <= 1e6; };
  add_choice<TaskFigure>(app, "--figure", o.figure, "What to show, see above",
                         {{"baselines", TaskFigure::baselines},
                          {"boundary", TaskFigure::boundary},
                          {"deviant", TaskFigure::deviant},
                          {"printed", TaskFigure::printed}});
  add_number(app, "--input-stddev", o.input_stddev, "baselines: standard deviation of the affine task's inputs",
             positive, "0 < value <= 1e6");
  add_number(app, "--function-stddev", o.function_stddev,
             "baselines: standard deviation of the affine task's coefficients a and b", positive, "0 < value <= 1e6");
  add_counts(app, "--lengths", o.lengths, "baselines: prefixes of the quantifier task", 1, 1000);
  add_count<std::int64_t>(app, "--largest-value", o.largest_value, "baselines: the reasoning task draws from 0 to this",
                          1, 54999);
  head_options(app, "Figures");
  add_run_options(app, o.simulation);
  add_run_output_options(app, o.output);
}

UnusedOptions complete(const CLI::App& app, TaskOptions& o) {
  UnusedOptions unused(app);
  if (o.figure != TaskFigure::baselines) {
    unused.add("--figure " + text_of(app, "--figure"),
               {"--input-stddev", "--function-stddev", "--lengths", "--largest-value"});
  }
  if (o.figure == TaskFigure::printed) {  // draws nothing
    unused.add("--figure printed", {"--trials", "--seed", "--relative-error", "--device", "--threads", "--checkpoint",
                                    "--resume", "--part", "--replace-by-partial"});
  }
  add_unused_run_options(unused, o.simulation, o.output);
  return unused;
}

}  // namespace incontext::examples::tasks
