// Stands in for libcudart, with the GPUs of machine.hpp: the functions that this project's programs call, and no
// other, so that a program that calls another does not link. A kernel runs on a thread of its own, so that a launch
// returns before it ends, as on a GPU; only one GPU at a time runs. All kernels are on the default stream: another
// stream has nothing to wait for but copies to variables, which are done when they return. In the environment,
//   PTX_DEVICES=COUNT      is the number of GPUs, 1 if it is not set, and 0 if CUDA_VISIBLE_DEVICES is empty;
//   PTX_MEMORY=BYTES       is the memory of each, 1 GiB if it is not set;
//   PTX_FAIL=N[+][:GPU]    lets call number N fail, of those that may fail, and N+ every call from there on, as if the
//                          GPU were lost; with :GPU, of the calls for that GPU. With 0 none fails, and when the program
//                          ends, their number and that of the launches on each GPU are printed.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine.hpp"

namespace {

using emulator::refuse;

// The attributes of an H200.
constexpr int multiprocessors = 132, shared_bytes_by_default = 48 << 10, shared_bytes_at_most = 227 << 10;
constexpr u32 threads_per_block = 1024;

/// What nvcc's object hands over when it registers itself: the folder of texts and binaries for GPUs.
struct FatBinary {
  int magic, version;
  const char* data;
  const void* file;
};
struct FatBinaryHeader {
  u32 magic;
  u16 version, header_bytes;
  u64 bytes;
};

struct RegisteredKernel {
  const FatBinary* file;
  std::string name;
  const Kernel* kernel = nullptr;                                 // when it has been looked up
  std::array<u64, emulator::most_gpus> most_dynamic_shared = {};  // on each GPU; 0: by default
};
struct RegisteredVariable {
  const FatBinary* file;
  std::string name;
};

/// Made when the first object registers itself, which may be before the constructors of this file run.
struct Registry {
  std::map<const void*, RegisteredKernel> kernels;
  std::map<const void*, RegisteredVariable> variables;
};
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

/// translate.py's mark of a text: its length and its Adler-32.
u64 mark_of(std::string_view text) {
  u64 a = 1, b = 0;
  for (const char letter : text) {
    a = (a + static_cast<unsigned char>(letter)) % 65521;
    b = (b + a) % 65521;
  }
  return text.size() << 32 | b << 16 | a;
}

/// Held by who uses the functions of machine.hpp: a kernel, as long as it runs.
std::mutex& machine() {
  static auto* const one = new std::mutex;
  return *one;
}

/// The translation of one of the texts that the object has.
const Module& module_of(const FatBinary* file) {
  static std::mutex mutex;
  const std::lock_guard one(mutex);
  static std::map<const FatBinary*, const Module*> found;
  const Module*& module = found[file];
  if (module) return *module;
  FatBinaryHeader header;
  std::memcpy(&header, file->data, sizeof header);
  const std::string_view all(file->data, header.header_bytes + header.bytes);
  for (auto at = all.find(".version "); at != all.npos; at = all.find(".version ", at + 1)) {
    const u64 mark = mark_of(all.substr(at, all.find('\0', at) - at));
    for (const Module* one : emulator::modules())
      if (one->mark == mark) module = one;
  }
  if (!module) refuse("kernels of an object whose PTX was not translated");
  return *module;
}

RegisteredKernel& kernel_of(const void* host) {
  const auto entry = registry().kernels.find(host);
  if (entry == registry().kernels.end()) refuse("a kernel that no object registered");
  RegisteredKernel& registered = entry->second;
  const Module& module = module_of(registered.file);
  static std::mutex mutex;
  const std::lock_guard one(mutex);
  for (u64 i = 0; i < module.kernel_count && !registered.kernel; ++i)
    if (registered.name == module.kernels[i].name) registered.kernel = &module.kernels[i];
  if (!registered.kernel) refuse("kernel %s is not in the PTX", registered.name.c_str());
  return registered;
}

thread_local cudaError_t last_error = cudaSuccess;
cudaError_t failed(cudaError_t error) { return last_error = error; }

int device_count() {
  static const int count = [] {
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible && *visible == '\0') return 0;
    const char* const text = std::getenv("PTX_DEVICES");
    const int number = text ? std::atoi(text) : 1;
    if (number < 0 || number > emulator::most_gpus) refuse("PTX_DEVICES is %s, not 0 to %d", text, emulator::most_gpus);
    return number;
  }();
  return count;
}

/// That the calling thread has selected.
thread_local int own_gpu = 0;

struct Gpu {
  std::future<void> kernel = {};  // the last
  std::atomic<long> launches = 0;
  cudaStream_t stream = nullptr;           // of the last kernel
  std::atomic<bool> is_waited_for = true;  // whether the host knows that it has ended

  bool is_running() { return kernel.valid() && kernel.wait_for(std::chrono::seconds(0)) != std::future_status::ready; }
  void wait() {
    if (kernel.valid()) kernel.wait();
  }
};
/// Never destroyed, because the program may use the GPUs until its end.
Gpu& gpu() {
  static auto* const all = new std::array<Gpu, emulator::most_gpus>;
  return (*all)[static_cast<std::size_t>(own_gpu)];
}

/// Refuses work in another stream than that of a kernel that may still run: nothing orders the two. (Streams are those
/// of cudaStreamNonBlocking, which do not wait for the default stream.)
void require_order(const char* what, cudaStream_t stream) {
  if (!gpu().is_waited_for && gpu().stream != stream)
    refuse("%s in another stream than that of a kernel that nobody has waited for", what);
}
cudaError_t waited_for(cudaStream_t stream) {
  if (gpu().stream == stream) {
    gpu().wait();
    gpu().is_waited_for = true;
  }
  return cudaSuccess;
}

/// Whether PTX_FAIL lets this call fail.
bool must_fail() {
  static const char* const text = std::getenv("PTX_FAIL");
  if (!text) return false;
  char* end = nullptr;
  const long first = std::strtol(text, &end, 10);
  const bool goes_on = *end == '+';
  if (goes_on) ++end;
  if (*end == ':' && std::atoi(end + 1) != own_gpu) return false;
  static std::atomic<long> calls = 0;
  const long number = ++calls;
  if (number == 1 && first == 0) {
    std::atexit([] {
      std::fprintf(stderr, "emulator: %ld calls\n", calls.load());
      for (own_gpu = 0; own_gpu < device_count(); ++own_gpu)
        std::fprintf(stderr, "emulator: %ld launches on GPU %d\n", gpu().launches.load(), own_gpu);
    });
  }
  return number == first || (goes_on && number > first);
}

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

u64 free_memory() {
  const char* const text = std::getenv("PTX_MEMORY");
  const u64 all = text ? std::strtoull(text, nullptr, 10) : u64{1} << 30;
  return all - std::min(all, emulator::allocated_bytes(own_gpu));
}

u64 address_of(const void* pointer) { return reinterpret_cast<u64>(pointer); }

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* file) { return static_cast<void**>(file); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void** file, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  registry().kernels[host] = {reinterpret_cast<const FatBinary*>(file), name};
}
void __cudaRegisterVar(void** file, char* host, char*, const char* name, int, std::size_t, int, int) {
  registry().variables[host] = {reinterpret_cast<const FatBinary*>(file), name};
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations.empty()) return failed(cudaErrorMissingConfiguration);
  const Configuration top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
  if (must_fail()) return failed(cudaErrorLaunchFailure);
  require_order("a kernel is launched", stream);
  const RegisteredKernel& registered = kernel_of(host);
  const Kernel& kernel = *registered.kernel;
  const u64 asked = registered.most_dynamic_shared[static_cast<std::size_t>(own_gpu)];
  const u64 threads = u64{block.x} * block.y * block.z, blocks = u64{grid.x} * grid.y * grid.z;
  if (threads == 0 || threads > std::min(kernel.most_threads, threads_per_block) || block.z > 64 || blocks == 0 ||
      grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 || shared > (asked > 0 ? asked : shared_bytes_by_default))
    return failed(cudaErrorInvalidValue);
  // the host may change the arguments when this has returned
  std::vector<std::vector<char>> values;
  for (u32 i = 0; i < kernel.parameter_count; ++i) {
    const char* const value = static_cast<const char*>(arguments[i]);
    values.emplace_back(value, value + kernel.parameters[i].bytes);
  }
  gpu().wait();
  ++gpu().launches;
  gpu().stream = stream;
  gpu().is_waited_for = false;
  const auto run = [&kernel, grid, block, shared, values = std::move(values), number = own_gpu]() mutable {
    const u32 grid_size[] = {grid.x, grid.y, grid.z}, block_size[] = {block.x, block.y, block.z};
    std::vector<void*> addresses;
    for (std::vector<char>& value : values) addresses.push_back(value.data());
    const std::lock_guard one(machine());
    emulator::launch(kernel, grid_size, block_size, shared, addresses.data(), number);
  };
  gpu().kernel = std::async(std::launch::async, run);
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (must_fail()) return failed(cudaErrorMemoryAllocation);
  const std::lock_guard one(machine());
  const u64 address = bytes <= free_memory() ? emulator::allocate(bytes, own_gpu) : 0;
  *pointer = reinterpret_cast<void*>(address);
  return address ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* pointer) {
  gpu().wait();
  const std::lock_guard one(machine());
  return pointer == nullptr || emulator::release(address_of(pointer)) ? cudaSuccess : failed(cudaErrorInvalidValue);
}
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t) { return cudaMalloc(pointer, bytes); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  require_order("memory is freed", stream);
  return cudaFree(pointer);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* found, const void* pointer) {
  if (must_fail()) return failed(cudaErrorUnknown);
  const int number = emulator::gpu_of_memory(address_of(pointer));
  *found = {};
  found->type = number < 0 ? cudaMemoryTypeUnregistered : cudaMemoryTypeDevice;
  found->device = number < 0 ? 0 : number;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (must_fail()) return failed(cudaErrorUnknown);
  require_order("memory is copied", stream);
  gpu().wait();
  const std::lock_guard one(machine());
  const bool to_gpu = emulator::is_gpu_memory(address_of(to)), from_gpu = emulator::is_gpu_memory(address_of(from));
  if (kind != cudaMemcpyDefault && (to_gpu != (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) ||
                                    from_gpu != (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice)))
    return failed(cudaErrorInvalidValue);
  std::vector<char> between(bytes);
  if (from_gpu) emulator::copy_from(between.data(), address_of(from), bytes);
  if (!from_gpu) std::memcpy(between.data(), from, bytes);
  if (to_gpu) emulator::copy_to(address_of(to), between.data(), bytes);
  if (!to_gpu) std::memcpy(to, between.data(), bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
  if (must_fail()) return failed(cudaErrorUnknown);
  require_order("memory is set", nullptr);
  gpu().wait();
  const std::lock_guard one(machine());
  emulator::copy_to(address_of(pointer), std::vector<char>(bytes, static_cast<char>(value)).data(), bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                    cudaMemcpyKind, cudaStream_t) {
  if (must_fail()) return failed(cudaErrorUnknown);
  const auto entry = registry().variables.find(symbol);
  if (entry == registry().variables.end()) return failed(cudaErrorInvalidSymbol);
  const Module& module = module_of(entry->second.file);
  for (u64 i = 0; i < module.variable_count; ++i) {
    const Variable& variable = module.variables[i];
    if (entry->second.name != variable.name) continue;
    if (offset + bytes > variable.bytes) return failed(cudaErrorInvalidValue);
    emulator::set_variable(own_gpu, *variable.address + offset, from, bytes);
    return cudaSuccess;
  }
  return failed(cudaErrorInvalidSymbol);
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  if (must_fail()) return failed(cudaErrorUnknown);
  const std::lock_guard one(machine());
  *free = free_memory();
  *all = *free + emulator::allocated_bytes(own_gpu);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  if (must_fail()) return failed(cudaErrorUnknown);
  *count = device_count();
  return *count > 0 ? cudaSuccess : failed(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int* device) {
  if (must_fail()) return failed(cudaErrorUnknown);
  *device = own_gpu;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (must_fail()) return failed(cudaErrorUnknown);
  if (device < 0 || device >= device_count()) return failed(cudaErrorInvalidDevice);
  own_gpu = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (must_fail()) return failed(cudaErrorUnknown);
  if (device < 0 || device >= device_count()) return failed(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = shared_bytes_at_most;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = multiprocessors;
      return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported:
      *value = 0;
      return cudaSuccess;
    default:
      refuse("attribute %d of the device is asked for", static_cast<int>(attribute));
  }
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t*, int) { return failed(cudaErrorNotSupported); }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return failed(cudaErrorNotSupported); }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return failed(cudaErrorNotSupported); }
cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute attribute, int value) {
  if (must_fail()) return failed(cudaErrorUnknown);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
    refuse("attribute %d of a kernel is set", static_cast<int>(attribute));
  if (value < 0 || value > shared_bytes_at_most) return failed(cudaErrorInvalidValue);
  kernel_of(host).most_dynamic_shared[static_cast<std::size_t>(own_gpu)] = static_cast<u64>(value);
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t error) {
  thread_local std::string text;
  text = "cudaError " + std::to_string(error);
  return text.c_str();
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(new char);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!gpu().is_waited_for && gpu().stream == stream) refuse("a stream is destroyed before its kernel is waited for");
  delete reinterpret_cast<char*>(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return must_fail() ? failed(cudaErrorIllegalAddress) : waited_for(stream);
}
// While the kernel runs this is no call that may fail: how often the host asks is chance.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (gpu().is_running() && gpu().stream == stream) return failed(cudaErrorNotReady);
  return must_fail() ? failed(cudaErrorIllegalAddress) : waited_for(stream);
}
cudaError_t cudaDeviceSynchronize() { return must_fail() ? failed(cudaErrorIllegalAddress) : waited_for(gpu().stream); }
}
