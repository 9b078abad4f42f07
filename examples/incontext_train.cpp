// temporary
#include "examples/support/command_line.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/report.hpp"
#include "examples/support/unused_options.hpp"
#include "examples/train/reasoning.hpp"
using namespace incontext::examples;
using namespace incontext::examples::train;
int main(int argc, char** argv) {
  ReasoningOptions o; SimulationOptions s; OutputOptions out; bool course = false;
  return run_program({.name="incontext-train",.description="t"}, argc, argv, [&](CLI::App& app){ add_reasoning_options(app,o); add_flag(app,"--course",course,"c");
    add_count<std::int64_t>(app,"--seeds",o.seeds,"s",0); add_count<std::int64_t>(app,"--steps",o.steps,"s",0); add_count<std::int64_t>(app,"--batch",o.batch,"s",0); add_run_options(app,s); add_output_options(app,out); },
    [&](const CLI::App& app){ complete(o); o.first_seed=s.seed; Report report{.program="incontext-train",.command=command_of(app),.arguments=arguments_of(app)};
      Judgment j; Controls c({{"statement"},{"at"}}); ReasoningSimulator sim(s,out.quiet); ReasoningParts p{o,sim,j,c};
      report.tables = course? reasoning_course_tables(p): eureka_tables(p); if(!c.empty()) report.tables.push_back(c.table()); report.run=sim.record(); judge(report,j); if(report.verdict) c.join(*report.verdict); return deliver(report,out); });
}
