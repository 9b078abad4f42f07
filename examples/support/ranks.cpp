#include "examples/support/ranks.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "examples/support/termination.hpp"
#include "examples/support/text.hpp"

#if defined(INCONTEXT_MPI)
#include <incontext/simulate/engine/distributed.hpp>
#endif

namespace incontext::examples {

namespace {

/// What the program that started this one tells it.
struct Started {
  int rank = 0;
  int ranks = 1;
};

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  const std::string_view digits = text;
  int number = otherwise;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// Open MPI's mpirun, MPICH's and Intel's mpiexec, and Slurm's srun set these.
Started started() {
  constexpr std::array<std::pair<const char*, const char*>, 3> variables{
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"},
       {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}};
  for (const auto& [rank, ranks] : variables) {
    if (number_in(ranks, 0) > 0) return {number_in(rank, 0), number_in(ranks, 1)};
  }
  return {};
}

bool is_part(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--part" || argument.starts_with("--part=")) return true;
  }
  return false;
}

bool prints = true;
const SharedProcess* process = nullptr;

#if defined(INCONTEXT_MPI)

simulate::DistributedRun* run = nullptr;

std::string library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int size = 0;
  MPI_Get_library_version(text.data(), &size);
  const std::string whole(text.data(), static_cast<std::size_t>(size));
  return whole.substr(0, whole.find_first_of(",\n"));
}

#endif

}  // namespace

bool is_first_rank() { return prints; }

const SharedProcess* shared_process() { return process; }

#if defined(INCONTEXT_MPI)

struct Ranks::State {
  simulate::DistributedRun run;
  SharedProcess process;
  TerminationStops termination;
};

void wait_for_other_ranks() {
  if (run != nullptr) run->wait_for_others();
}

/// mpirun ends its processes by SIGTERM, also when it receives Ctrl-C; then they stop as by Ctrl-C.
Ranks::Ranks(int argc, const char* const* argv) {
  const Started all = started();
  if (all.ranks == 1 || is_part(argc, argv)) return;
  prints = all.rank == 0;
  state_ = std::make_unique<State>();
  simulate::DistributedRun& own = state_->run;
  if (own.ranks() != all.ranks) {
    throw InputError("MPI: " + std::to_string(all.ranks) + " processes were started, and " + library() +
                     " of this program connects " + std::to_string(own.ranks()) + " (needs the mpirun of this MPI)");
  }
  state_->process = {.rank = own.rank(),
                     .ranks = own.ranks(),
                     .local_rank = own.local_rank(),
                     .threads = own.threads(),
                     .record = &own.record(),
                     .keep = [&own](simulate::SimulationRecord& record, std::function<void()> on_stop) {
                       own.keep(record, std::move(on_stop));
                     }};
  prints = own.rank() == 0;
  process = &state_->process;
  run = &own;
}

Ranks::~Ranks() {
  process = nullptr;
  run = nullptr;
}

int Ranks::leave(int exit_code, const std::string& failure) {
  return state_ ? state_->run.leave(exit_code, failure) : exit_code;
}

#else

struct Ranks::State {};

void wait_for_other_ranks() {}

Ranks::Ranks(int argc, const char* const* argv) {
  const Started all = started();
  if (all.ranks == 1 || is_part(argc, argv)) return;
  prints = all.rank == 0;
  throw InputError("MPI: this program was built without it, and was started as one of " + std::to_string(all.ranks) +
                   " processes (needs one process, --part, or a build with MPI)");
}

Ranks::~Ranks() = default;

int Ranks::leave(int exit_code, const std::string&) { return exit_code; }

#endif

}  // namespace incontext::examples
