#include <benchmark/benchmark.h>

#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include "bench/support/answer.hpp"
#include "bench/support/build.hpp"

// The main of every benchmark program. Beside Google Benchmark's own options:
//   --device=NAME         where the simulators run (automatic, serial, openmp, tbb, cuda)
//   --theory-factor=X     what the closed forms are multiplied by; 1.2 must make every benchmark refuse

namespace incontext::bench {

Settings& settings() {
  static Settings instance;
  return instance;
}

}  // namespace incontext::bench

namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

void add_context() {
  using namespace incontext::bench;
  benchmark::AddCustomContext("incontext", std::string(build_version));
  benchmark::AddCustomContext("commit", std::string(build_commit()));
  benchmark::AddCustomContext("compiler", std::string(build_compiler));
  benchmark::AddCustomContext("flags", std::string(build_flags));
  benchmark::AddCustomContext("cpu", processor());
  benchmark::AddCustomContext("threads", std::to_string(std::thread::hardware_concurrency()));
  benchmark::AddCustomContext("device", settings().device);
  benchmark::AddCustomContext("precision", "in each benchmark's name: float or double");
}

/// Takes our options out of the command line, which Google Benchmark would refuse.
int take_settings(int argc, char** argv) {
  auto& settings = incontext::bench::settings();
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&](std::string_view name) { return std::string(argument.substr(name.size())); };
    if (argument.starts_with("--device=")) {
      settings.device = value("--device=");
    } else if (argument.starts_with("--theory-factor=")) {
      settings.theory_factor = std::stod(value("--theory-factor="));
    } else {
      argv[kept++] = argv[i];
    }
  }
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    argc = take_settings(argc, argv);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    add_context();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return incontext::bench::settings().refused ? 1 : 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
