#include "machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

// Changes the stack: keeps what a function keeps by the calling convention of x86-64, and the stack's address in *from.
extern "C" void change_stack(void** from, void* to);
asm(R"(
  .text
  .globl change_stack
change_stack:
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  ret
)");

namespace {

constexpr u32 warp_size = 32;
// Where things are in the emulated memory. Between any two pieces `gap` bytes belong to nobody.
constexpr std::size_t stack_bytes = 1 << 20;
constexpr u64 parameters_begin = memory_begin + 4096, variables_begin = memory_begin + (1 << 20),
              locals_begin = memory_begin + (16 << 20), shared_begin = memory_begin + private_bytes,
              heap_begin = shared_begin + (1 << 20), memory_end = memory_begin + memory_bytes;
constexpr u64 gap = 256;
constexpr u64 heap_bytes = (memory_end - heap_begin) / emulator::most_gpus / gap * gap;  // of each GPU

/// The last accesses to a word of four bytes: when, by which thread, to which bytes, and whether others came too.
struct Access {
  u32 epoch = 0;
  u16 thread = 0;
  u8 bytes = 0;                      // a bit for each
  bool by_several : 1 = false;       // threads of the block, since the last barrier
  bool by_other_blocks : 1 = false;  // of the launch
};
struct WordRecord {
  Access written, read;
};
constexpr u64 records_begin = 0x300000000000ull;
WordRecord* records_of(u64 address) {
  return reinterpret_cast<WordRecord*>(records_begin) + (address - memory_begin) / 4;
}

/// A thread that waits for others: it has a stack of its own, and the scheduler gives it turns.
struct Fiber {
  enum class State { ready, at_barrier, in_warp, ended };

  Thread thread{};
  void* stack = nullptr;
  State state = State::ready;
  // what it brings to a meeting of its warp, and what it gets
  int operation = 0;
  u32 mask = 0, value = 0, lane = 0, bounds = 0, result = 0;
  pred is_inside = 0;
};

/// What the launches of a kernel did: instructions, and bytes that threads read and wrote in allocated memory.
struct Counts {
  u64 launches = 0, instructions = 0, read = 0, written = 0;
};

/// Adds a launch to what the program prints at its end if the environment has PTX_COUNT.
void add_counts(const char* kernel, const Counts& counts) {
  static const bool is_asked_for = std::getenv("PTX_COUNT") != nullptr;
  if (!is_asked_for) return;
  static auto* const all = new std::map<std::string, Counts>;
  if (all->empty()) {
    std::atexit([] {
      for (const auto& [name, sum] : *all)
        std::fprintf(stderr, "emulator: %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name.c_str(),
                     sum.launches, sum.instructions, sum.read, sum.written);
    });
  }
  Counts& sum = (*all)[kernel];
  ++sum.launches;
  sum.instructions += counts.instructions;
  sum.read += counts.read;
  sum.written += counts.written;
}

/// What runs. Epochs count barriers, blocks and launches, and never repeat: `launch_epoch` and `block_epoch` are the
/// first of the present launch and block.
struct Run {
  const Kernel* kernel = nullptr;
  const Thread* thread = nullptr;
  std::vector<Fiber>* fibers = nullptr;
  Fiber* fiber = nullptr;
  void* scheduler = nullptr;
  int gpu = 0;
  u32 epoch = 1, launch_epoch = 1, block_epoch = 1;
  Counts counts = {};
};
Run run;
std::string order = "forward";
u64 random_state = 0;
/// Of each GPU, address to bytes. It is never destroyed, because the program may free memory until its end.
auto& allocated = *new std::array<std::map<u64, u64>, emulator::most_gpus>;
int gpu_of(u64 address) { return static_cast<int>((address - heap_begin) / heap_bytes); }

/// The variables of every GPU. Those of one are in place, where its kernels find them, the others' in `kept`.
struct Variables {
  std::mutex mutex = {};
  u64 end = variables_begin;
  int in_place = 0;
  std::array<std::vector<char>, emulator::most_gpus> kept = {};

  char* place() { return reinterpret_cast<char*>(variables_begin); }
  char* of(int gpu) { return gpu == in_place ? place() : kept[static_cast<std::size_t>(gpu)].data(); }
  /// Before anything is written, all GPUs have the same.
  void begin() {
    if (kept[0].empty()) kept.fill({place(), place() + (end - variables_begin)});
  }
  void put_in_place(int gpu) {
    const std::lock_guard one(mutex);
    begin();
    if (gpu == in_place) return;
    std::copy_n(place(), end - variables_begin, kept[static_cast<std::size_t>(in_place)].begin());
    std::copy_n(of(gpu), end - variables_begin, place());
    in_place = gpu;
  }
};
/// Made when the first file is registered, which may be before the constructors of this file run.
Variables& variables() {
  static auto* const all = new Variables;
  return *all;
}

bool is_random() { return order != "forward" && order != "backward"; }

u32 random_below(u32 limit) {
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return static_cast<u32>((random_state >> 33) % limit);
}

void read_order() {
  if (const char* text = std::getenv("PTX_ORDER")) order = text;
  char* end = nullptr;
  random_state = std::strtoull(order.c_str(), &end, 10);
  if (is_random() && (*end != '\0' || order.empty()))
    emulator::refuse("PTX_ORDER is %s, not forward, backward or a number", order.c_str());
}

/// The numbers below `count` in the order that the user asks for.
std::vector<u32> turns_of(u32 count) {
  std::vector<u32> turns(count);
  std::iota(turns.begin(), turns.end(), 0u);
  if (order == "backward") std::reverse(turns.begin(), turns.end());
  if (is_random())
    for (u32 i = count; i > 1; --i) std::swap(turns[i - 1], turns[random_below(i)]);
  return turns;
}

void map_memory(u64 at, std::size_t bytes) {
  void* const got = mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != reinterpret_cast<void*>(at))
    emulator::refuse("no memory at the address %llx", static_cast<unsigned long long>(at));
}

/// Maps the emulated memory when it is first needed, which is before the constructors of this file run.
void map_all_memory() {
  static const bool once = [] {
    map_memory(memory_begin, memory_bytes);
    map_memory(knowledge_begin, memory_bytes);
    map_memory(records_begin, memory_bytes / 4 * sizeof(WordRecord));
    return true;
  }();
  (void)once;
}

void leave_fiber() { change_stack(&run.fiber->stack, run.scheduler); }

void run_fiber() {
  run.kernel->run(&run.fiber->thread);
  run.fiber->state = Fiber::State::ended;
  leave_fiber();
  std::abort();
}

void start(Fiber& fiber, char* stack) {
  auto* top = reinterpret_cast<void**>(stack + stack_bytes - 64);  // aligned to 16, and to 8 more after the call
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&run_fiber);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber.stack = top;
  fiber.state = Fiber::State::ready;
}

/// Every thread of a block that waits for one another, each on a stack of its own, in turns.
void run_fibers(std::vector<Fiber>& fibers, char* stacks) {
  const u32 count = static_cast<u32>(fibers.size());
  for (u32 i = 0; i < count; ++i) start(fibers[i], stacks + i * stack_bytes);
  run.fibers = &fibers;
  for (;;) {
    bool progress = false;
    for (const u32 i : turns_of(count)) {
      if (fibers[i].state != Fiber::State::ready) continue;
      progress = true;
      run.fiber = &fibers[i];
      run.thread = &fibers[i].thread;
      change_stack(&run.scheduler, fibers[i].stack);
    }
    u32 ended = 0, at_barrier = 0;
    for (const Fiber& fiber : fibers) {
      ended += fiber.state == Fiber::State::ended;
      at_barrier += fiber.state == Fiber::State::at_barrier;
    }
    if (ended == count) break;
    if (at_barrier == count) {
      ++run.epoch;
      for (Fiber& fiber : fibers) fiber.state = Fiber::State::ready;
    } else if (!progress) {
      emulator::refuse("%u of %u threads wait at a barrier, %u have ended and %u wait in their warps", at_barrier,
                       count, ended, count - ended - at_barrier);
    }
  }
  run.fibers = nullptr;
  run.fiber = nullptr;
}

/// Waits until all lanes of the mask have come to the same operation; the last one computes the results of all.
void meet_in_warp(Thread* thread, int operation, u32 mask, u32 value, u32 lane, u32 bounds) {
  Fiber& me = *run.fiber;
  const u32 my_lane = thread->number % warp_size, first = thread->number - my_lane;
  if (!(mask >> my_lane & 1)) emulator::refuse("the thread is not in the mask %x of its warp", mask);
  me.operation = operation;
  me.mask = mask;
  me.value = value;
  me.lane = lane;
  me.bounds = bounds;
  me.state = Fiber::State::in_warp;
  bool is_last = true;
  std::vector<Fiber>& all = *run.fibers;
  for (u32 other = 0; other < warp_size; ++other) {
    if (!(mask >> other & 1)) continue;
    if (first + other >= all.size()) emulator::refuse("the mask %x has threads that do not exist", mask);
    const Fiber& fiber = all[first + other];
    if (fiber.state == Fiber::State::ended) emulator::refuse("the mask %x has a thread that has ended", mask);
    // one that waits with others, or for another instruction, has not come yet
    if (fiber.state != Fiber::State::in_warp || fiber.mask != mask || fiber.operation != operation) is_last = false;
  }
  if (!is_last) {
    leave_fiber();
    return;
  }
  u32 ballot = 0;
  for (u32 other = 0; other < warp_size; ++other)
    if (mask >> other & 1) ballot |= u32{all[first + other].value != 0} << other;
  for (u32 other = 0; other < warp_size; ++other) {
    if (!(mask >> other & 1)) continue;
    Fiber& fiber = all[first + other];
    if (operation == emulator::vote) {
      fiber.result = ballot;
    } else if (operation != emulator::wait) {
      const emulator::Source source =
          emulator::shuffle_source(static_cast<ShuffleMode>(operation), other, fiber.lane, fiber.bounds);
      fiber.is_inside = source.is_inside;
      if (!(mask >> source.lane & 1))
        emulator::refuse("lane %u takes the value of lane %u, which is not in the mask %x", other, source.lane, mask);
      fiber.result = all[first + source.lane].value;
    }
    fiber.state = Fiber::State::ready;
  }
}

const char* place_of(u64 address) {
  if (address < memory_begin || address >= memory_end) return "not of the GPU";
  return address < variables_begin ? "parameters"
         : address < locals_begin  ? "a variable"
         : address < shared_begin  ? "the thread's own memory"
         : address < heap_begin    ? "shared memory"
                                   : "global memory";
}

Access after(const Access& before, u32 thread, u32 bytes) {
  Access now;
  now.epoch = run.epoch;
  now.thread = static_cast<u16>(thread);
  now.by_several = before.epoch == run.epoch && (before.by_several || before.thread != thread);
  now.by_other_blocks = before.epoch >= run.launch_epoch && (before.by_other_blocks || before.epoch < run.block_epoch);
  now.bytes = static_cast<u8>(bytes | (before.epoch == run.epoch || now.by_other_blocks ? before.bytes : 0));
  return now;
}

/// Whether an earlier access to one of the bytes, of another thread, has no order with the present one: it is of
/// another block of this launch, or of this block since the last barrier. A barrier of a warp makes no order here,
/// which no kernel needs so far.
bool is_unordered(const Access& before, u32 thread, u32 bytes) {
  if (before.epoch < run.launch_epoch || (before.bytes & bytes) == 0) return false;
  if (before.by_other_blocks || before.epoch < run.block_epoch) return true;
  return before.epoch == run.epoch && (before.by_several || before.thread != thread);
}

/// A rounded operation: the processor's rounding is set for it alone. The operands are volatile for the compiler, which
/// would otherwise compute before or after.
template <class T, class Work>
T rounded(Rounding rounding, Work work) {
  const int before = std::fegetround();
  std::fesetround(rounding == round_rz ? FE_TOWARDZERO : rounding == round_rm ? FE_DOWNWARD : FE_UPWARD);
  volatile T result = work();
  std::fesetround(before);
  return result;
}

}  // namespace

namespace emulator {

void refuse(const char* format, ...) {
  std::fflush(stdout);
  std::fputs("emulator: ", stderr);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  if (run.kernel) std::fprintf(stderr, "\n  in %s", run.kernel->name);
  if (run.kernel && run.thread)
    std::fprintf(stderr, "\n  block %u, thread %u", run.thread->ctaid[0], run.thread->number);
  std::fputs("\n", stderr);
  std::_Exit(refused);
}

Source shuffle_source(ShuffleMode mode, u32 lane, u32 b, u32 bounds) {
  // the manual's pseudocode: the segment that a lane is in, and the lane that it reads
  const u32 clamp = bounds & 31, segment = bounds >> 8 & 31;
  const u32 most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  b &= 31;
  u32 source = 0;
  bool is_inside = false;
  switch (mode) {
    case shuffle_up:
      source = lane - b;
      is_inside = static_cast<std::int32_t>(source) >= static_cast<std::int32_t>(most);
      break;
    case shuffle_down:
      source = lane + b;
      is_inside = source <= most;
      break;
    case shuffle_bfly:
      source = lane ^ b;
      is_inside = source <= most;
      break;
    case shuffle_idx:
      source = least | (b & ~segment);
      is_inside = source <= most;
      break;
  }
  return {is_inside ? source : lane, is_inside};
}

std::vector<const Module*>& modules() {
  static auto* const all = new std::vector<const Module*>;
  return *all;
}

u64 allocate(u64 bytes, int gpu) {
  map_all_memory();
  static const bool is_checked_at_the_end =
      std::atexit([] {
        for (const auto& own : allocated)
          if (!own.empty()) refuse("%zu pieces of memory are allocated when the program ends", own.size());
      }) == 0;
  if (!is_checked_at_the_end) refuse("atexit fails");
  const u64 begin = heap_begin + static_cast<u64>(gpu) * heap_bytes;
  auto& own = allocated[static_cast<std::size_t>(gpu)];
  u64 at = begin;
  for (const auto& [address, size] : own) {
    if (address - at >= bytes + gap) break;
    at = (address + size + 2 * gap - 1) / gap * gap;
  }
  if (bytes > begin + heap_bytes - gap - at) return 0;
  own[at] = bytes;
  know(at, bytes, fresh_byte);
  return at;
}

bool release(u64 address) {
  if (address < heap_begin || gpu_of(address) >= most_gpus) return false;
  auto& own = allocated[static_cast<std::size_t>(gpu_of(address))];
  const auto found = own.find(address);
  if (found == own.end()) return false;
  know(address, found->second, unknown_byte);
  own.erase(found);
  return true;
}

u64 allocated_bytes(int gpu) {
  u64 all = 0;
  for (const auto& entry : allocated[static_cast<std::size_t>(gpu)]) all += entry.second;
  return all;
}

bool is_gpu_memory(u64 address) { return address >= memory_begin && address < memory_end; }

int gpu_of_memory(u64 address) {
  return address < heap_begin || gpu_of(address) >= most_gpus ? -1 : static_cast<int>(gpu_of(address));
}

void copy_to(u64 address, const void* from, u64 bytes) {
  for (u64 i = 0; i < bytes; ++i)
    if (!is_gpu_memory(address + i) ||
        !(reinterpret_cast<u8*>(knowledge_begin)[address + i - memory_begin] & fresh_byte))
      refuse("a copy to %llu bytes at %llx, which is %s", static_cast<unsigned long long>(bytes),
             static_cast<unsigned long long>(address), place_of(address));
  know(address, bytes, written_byte);
  std::memcpy(reinterpret_cast<void*>(address), from, bytes);
}

void copy_from(void* to, u64 address, u64 bytes) {
  for (u64 i = 0; i < bytes; ++i)
    if (!is_gpu_memory(address + i) ||
        reinterpret_cast<u8*>(knowledge_begin)[address + i - memory_begin] != written_byte)
      refuse("a copy of %llu bytes at %llx, of which nothing wrote number %llu", static_cast<unsigned long long>(bytes),
             static_cast<unsigned long long>(address), static_cast<unsigned long long>(i));
  std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
}

void set_variable(int gpu, u64 address, const void* from, u64 bytes) {
  Variables& all = variables();
  const std::lock_guard one(all.mutex);
  all.begin();
  std::memcpy(all.of(gpu) + (address - variables_begin), from, bytes);
}

void launch(const Kernel& kernel, const u32* grid, const u32* block, u64 dynamic_shared, void** arguments, int gpu) {
  read_order();
  map_all_memory();
  variables().put_in_place(gpu);
  run.gpu = gpu;
  run.kernel = &kernel;
  run.counts = {};
  run.launch_epoch = ++run.epoch;
  know(parameters_begin, variables_begin - parameters_begin, unknown_byte);
  for (u32 i = 0; i < kernel.parameter_count; ++i) {
    const Parameter& parameter = kernel.parameters[i];
    know(parameters_begin + parameter.offset, parameter.bytes, fresh_byte);
    copy_to(parameters_begin + parameter.offset, arguments[i], parameter.bytes);
  }
  const u32 threads = block[0] * block[1] * block[2];
  const u64 shared_bytes = kernel.shared_bytes + dynamic_shared;
  static char* stacks = nullptr;
  if (kernel.meets && stacks == nullptr) {
    stacks = static_cast<char*>(
        mmap(nullptr, 1024 * stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks == MAP_FAILED) refuse("no memory for stacks");
  }
  if (locals_begin + u64{kernel.local_bytes} * threads > shared_begin) refuse("no room for the threads' own memory");
  std::vector<Fiber> fibers(kernel.meets ? threads : 0);
  for (const u32 number : turns_of(grid[0] * grid[1] * grid[2])) {
    run.block_epoch = ++run.epoch;
    know(shared_begin, shared_bytes, fresh_byte);
    std::fill_n(records_of(shared_begin), (shared_bytes + 3) / 4, WordRecord{});
    const auto thread_of = [&](u32 i) {
      Thread thread{};
      thread.number = i;
      for (int axis = 0, left = static_cast<int>(i), of_grid = static_cast<int>(number); axis < 3; ++axis) {
        thread.ntid[axis] = block[axis];
        thread.nctaid[axis] = grid[axis];
        thread.tid[axis] = static_cast<u32>(left) % block[axis];
        thread.ctaid[axis] = static_cast<u32>(of_grid) % grid[axis];
        left /= static_cast<int>(block[axis]);
        of_grid /= static_cast<int>(grid[axis]);
      }
      thread.parameters = parameters_begin;
      thread.shared = shared_begin;
      thread.local = locals_begin + u64{kernel.local_bytes} * i;
      return thread;
    };
    if (kernel.meets) {
      for (u32 i = 0; i < threads; ++i) fibers[i].thread = thread_of(i);
      run_fibers(fibers, stacks);
      for (const Fiber& fiber : fibers) run.counts.instructions += fiber.thread.instructions;
    } else {
      for (const u32 i : turns_of(threads)) {
        Thread thread = thread_of(i);
        run.thread = &thread;
        kernel.run(&thread);
        run.counts.instructions += thread.instructions;
      }
    }
    run.thread = nullptr;
    know(shared_begin, shared_bytes, unknown_byte);
  }
  ++run.epoch;
  add_counts(kernel.name, run.counts);
  run.kernel = nullptr;
}

}  // namespace emulator

void register_module(const Module* module) {
  map_all_memory();
  u64& free = variables().end;
  for (u64 i = 0; i < module->variable_count; ++i) {
    const Variable& variable = module->variables[i];
    *variable.address = (free + variable.alignment - 1) / variable.alignment * variable.alignment;
    free = *variable.address + variable.bytes + gap;
    if (free > locals_begin) emulator::refuse("no room for variables");
    know(*variable.address, variable.bytes, written_byte);
    if (variable.initial) std::memcpy(reinterpret_cast<void*>(*variable.address), variable.initial, variable.bytes);
  }
  emulator::modules().push_back(module);
}

void refuse_access(const Thread*, u64 address, u32 bytes, int writes) {
  emulator::refuse("%s %u bytes at %llx (%s): misaligned, not allocated, or never written", writes ? "writes" : "reads",
                   bytes, static_cast<unsigned long long>(address), place_of(address));
}

void record_access(Thread* thread, u64 address, u32 bytes, const void* value) {
  if (run.fiber && is_random() && random_below(64) == 0) leave_fiber();
  if (address >= heap_begin) (value ? run.counts.written : run.counts.read) += bytes;
  if (address >= heap_begin && gpu_of(address) != run.gpu)
    emulator::refuse("GPU %d accesses memory of GPU %d", run.gpu, gpu_of(address));
  const u32 of_word = bytes >= 4 ? 15 : ((1u << bytes) - 1) << address % 4;
  for (u32 i = 0; i < bytes; i += 4) {
    WordRecord& record = *records_of(address + i);
    const bool is_same = value && std::memcmp(reinterpret_cast<const void*>(address), value, bytes) == 0;
    const bool other_wrote = is_unordered(record.written, thread->number, of_word) && !is_same;
    if (other_wrote || (value && is_unordered(record.read, thread->number, of_word)))
      emulator::refuse("hazard in %s at %llx: it %s what thread %u of this block or of another %s", place_of(address),
                       static_cast<unsigned long long>(address), value ? "writes" : "reads",
                       static_cast<unsigned>(other_wrote ? record.written.thread : record.read.thread),
                       other_wrote ? "writes" : "reads");
    Access& mine = value ? record.written : record.read;
    mine = after(mine, thread->number, of_word);
  }
}

void refuse_division() { emulator::refuse("division of integers by zero"); }
void stop_by_trap(const Thread*) { emulator::refuse("trap"); }

void meet_block(Thread*) {
  run.fiber->state = Fiber::State::at_barrier;
  leave_fiber();
}
void meet_warp(Thread* thread, u32 mask) { meet_in_warp(thread, emulator::wait, mask, 0, 0, 0); }
u32 shuffle(Thread* thread, ShuffleMode mode, u32 value, u32 lane, u32 bounds, u32 mask, pred* is_inside) {
  Fiber* const me = run.fiber;
  meet_in_warp(thread, mode, mask, value, lane, bounds);
  *is_inside = me->is_inside;
  return me->result;
}
u32 vote_ballot(Thread* thread, pred value, u32 mask) {
  Fiber* const me = run.fiber;
  meet_in_warp(thread, emulator::vote, mask, value, 0, 0);
  return me->result;
}

#define ROUNDED_FUNCTIONS(type)                                                \
  type add_##type(type a, type b, Rounding r) {                                \
    volatile type x = a, y = b;                                                \
    return rounded<type>(r, [&] { return x + y; });                            \
  }                                                                            \
  type sub_##type(type a, type b, Rounding r) { return add_##type(a, -b, r); } \
  type mul_##type(type a, type b, Rounding r) {                                \
    volatile type x = a, y = b;                                                \
    return rounded<type>(r, [&] { return x * y; });                            \
  }                                                                            \
  type rounded_fma_##type(type a, type b, type c, Rounding r) {                \
    volatile type x = a, y = b, z = c;                                         \
    return rounded<type>(r, [&] { return fma_##type(x, y, z); });              \
  }
ROUNDED_FUNCTIONS(f32)
ROUNDED_FUNCTIONS(f64)
#undef ROUNDED_FUNCTIONS
f32 narrowed(f64 a, Rounding r) {
  volatile f64 x = a;
  return rounded<f32>(r, [&] { return static_cast<f32>(x); });
}
