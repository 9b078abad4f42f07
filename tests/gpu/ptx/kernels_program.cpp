// Runs kernels of a translated text:
//   kernels_program INPUT OUTPUT [KERNEL BLOCKS THREADS SHARED-BYTES INPUT-BYTES OUTPUT-BYTES]...
// A kernel has two parameters, the addresses of its input and of its output. It takes its input from the file INPUT, in
// which the inputs of all kernels follow one another; its output is appended to the file OUTPUT.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "machine.hpp"

namespace {

const Kernel& kernel_named(const std::string& name) {
  for (const Module* module : emulator::modules())
    for (u64 i = 0; i < module->kernel_count; ++i)
      if (name == module->kernels[i].name) return module->kernels[i];
  emulator::refuse("no kernel %s", name.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3 || count % 6 != 3) return 2;
  std::ifstream file(arguments[1], std::ios::binary);
  const std::vector<char> input{std::istreambuf_iterator<char>(file), {}};
  std::ofstream output(arguments[2], std::ios::binary);
  std::size_t at = 0;
  for (int i = 3; i < count; i += 6) {
    const auto number = [&](int place) { return std::strtoull(arguments[i + place], nullptr, 10); };
    const u64 input_bytes = number(4), output_bytes = number(5);
    u64 addresses[] = {emulator::allocate(input_bytes), emulator::allocate(output_bytes)};
    emulator::copy_to(addresses[0], input.data() + at, input_bytes);
    at += input_bytes;
    void* parameters[] = {&addresses[0], &addresses[1]};
    const u32 grid[] = {static_cast<u32>(number(1)), 1, 1}, block[] = {static_cast<u32>(number(2)), 1, 1};
    emulator::launch(kernel_named(arguments[i]), grid, block, number(3), parameters);
    std::vector<char> result(output_bytes);
    emulator::copy_from(result.data(), addresses[1], output_bytes);
    output.write(result.data(), static_cast<std::streamsize>(output_bytes));
    for (const u64 address : addresses) emulator::release(address);
  }
  return 0;
}
