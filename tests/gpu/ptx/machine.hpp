#pragma once

#include <cstdint>
#include <vector>

#include "machine.h"

/// GPUs on a CPU: their memory, and launches of kernels that translate.py made C of. One GPU at a time runs, one block
/// after another; threads that wait for one another take turns, in the order that the variable PTX_ORDER of the
/// environment names: forward (the default), backward, or at random, by a number, the seed. But for set_variable, one
/// thread of the host at a time may call these functions.
namespace emulator {

/// The exit status of a program that did what a GPU must not do.
inline constexpr int refused = 3;

/// Ends the program with a message that names the kernel, the block and the thread that run.
[[noreturn, gnu::format(printf, 1, 2)]] void refuse(const char* format, ...);

/// The translated files of the program.
std::vector<const Module*>& modules();

inline constexpr int most_gpus = 4;

/// Memory of a GPU, fresh; 0 if there is none.
u64 allocate(u64 bytes, int gpu = 0);
/// False if nothing was allocated there.
bool release(u64 address);
u64 allocated_bytes(int gpu = 0);
bool is_gpu_memory(u64 address);
/// Whose allocated memory, or the gap after it, an address is in; -1: no GPU's.
int gpu_of_memory(u64 address);
void copy_to(u64 address, const void* from, u64 bytes);
/// Refuses bytes that nothing wrote.
void copy_from(void* to, u64 address, u64 bytes);

/// Writes to a variable, of which every GPU has its own. A kernel may run meanwhile.
void set_variable(int gpu, u64 address, const void* from, u64 bytes);

/// Runs a kernel to its end. It is refused another GPU's memory.
void launch(const Kernel& kernel, const u32* grid, const u32* block, u64 dynamic_shared, void** arguments, int gpu = 0);

/// What a thread does in a meeting of its warp, beside the modes of a shuffle.
inline constexpr int wait = -1, vote = -2;
/// Which lane's value `lane` gets, and whether this is the one that it asked for, or else its own.
struct Source {
  u32 lane;
  bool is_inside;
};
Source shuffle_source(ShuffleMode mode, u32 lane, u32 b, u32 bounds);

}  // namespace emulator
