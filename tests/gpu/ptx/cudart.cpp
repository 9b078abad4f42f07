// Stands in for libcudart, with one GPU, that of machine.hpp: the functions that this project's programs call, and no
// other, so that a program that calls another does not link. A launch is over when it returns, so that streams have
// nothing to wait for. In the environment,
//   PTX_MEMORY=BYTES  is the GPU's memory, 1 GiB if it is not set;
//   PTX_FAIL=N        lets call number N fail, of those that may fail, and PTX_FAIL=N+ every call from there on, as if
//                     the GPU were lost; with 0 none fails, and their number is printed when the program ends.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
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
  const Kernel* kernel = nullptr;  // when it has been looked up
  u64 most_dynamic_shared = shared_bytes_by_default;
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

/// The translation of one of the texts that the object has.
const Module& module_of(const FatBinary* file) {
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
  for (u64 i = 0; i < module.kernel_count && !registered.kernel; ++i)
    if (registered.name == module.kernels[i].name) registered.kernel = &module.kernels[i];
  if (!registered.kernel) refuse("kernel %s is not in the PTX", registered.name.c_str());
  return registered;
}

cudaError_t last_error = cudaSuccess;
cudaError_t failed(cudaError_t error) { return last_error = error; }

/// Whether PTX_FAIL lets this call fail.
bool must_fail() {
  static const char* const text = std::getenv("PTX_FAIL");
  if (!text) return false;
  char* end = nullptr;
  const long first = std::strtol(text, &end, 10);
  static long calls = 0;
  if (++calls == 1 && first == 0) std::atexit([] { std::fprintf(stderr, "emulator: %ld calls\n", calls); });
  return calls == first || (*end == '+' && calls > first);
}

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
std::vector<Configuration> configurations;

u64 free_memory() {
  const char* const text = std::getenv("PTX_MEMORY");
  const u64 all = text ? std::strtoull(text, nullptr, 10) : u64{1} << 30;
  return all - std::min(all, emulator::allocated_bytes());
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
                             cudaStream_t) {
  if (must_fail()) return failed(cudaErrorLaunchFailure);
  const RegisteredKernel& registered = kernel_of(host);
  const Kernel& kernel = *registered.kernel;
  const u64 threads = u64{block.x} * block.y * block.z, blocks = u64{grid.x} * grid.y * grid.z;
  if (threads == 0 || threads > std::min(kernel.most_threads, threads_per_block) || block.z > 64 || blocks == 0 ||
      grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 || shared > registered.most_dynamic_shared)
    return failed(cudaErrorInvalidValue);
  const u32 grid_size[] = {grid.x, grid.y, grid.z}, block_size[] = {block.x, block.y, block.z};
  emulator::launch(kernel, grid_size, block_size, shared, arguments);
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (must_fail()) return failed(cudaErrorMemoryAllocation);
  const u64 address = bytes <= free_memory() ? emulator::allocate(bytes) : 0;
  *pointer = reinterpret_cast<void*>(address);
  return address ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* pointer) {
  return pointer == nullptr || emulator::release(address_of(pointer)) ? cudaSuccess : failed(cudaErrorInvalidValue);
}
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t) { return cudaMalloc(pointer, bytes); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (must_fail()) return failed(cudaErrorUnknown);
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
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
  if (must_fail()) return failed(cudaErrorUnknown);
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
    emulator::copy_to(*variable.address + offset, from, bytes);
    return cudaSuccess;
  }
  return failed(cudaErrorInvalidSymbol);
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  if (must_fail()) return failed(cudaErrorUnknown);
  *free = free_memory();
  *all = *free + emulator::allocated_bytes();
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  if (must_fail()) return failed(cudaErrorUnknown);
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  if (must_fail()) return failed(cudaErrorUnknown);
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (must_fail()) return failed(cudaErrorUnknown);
  return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (must_fail()) return failed(cudaErrorUnknown);
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
  kernel_of(host).most_dynamic_shared = static_cast<u64>(value);
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t error) {
  static std::string text;
  text = "cudaError " + std::to_string(error);
  return text.c_str();
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return must_fail() ? failed(cudaErrorIllegalAddress) : cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return must_fail() ? failed(cudaErrorIllegalAddress) : cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return must_fail() ? failed(cudaErrorIllegalAddress) : cudaSuccess; }
}
