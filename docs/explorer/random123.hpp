#pragma once

// Random123 asks for a processor that it knows. Philox needs nothing of one, so WebAssembly may pass for any of them.
#define __riscv
#include <Random123/philox.h>
#undef __riscv
