/* What the translated kernels (C) and the emulator (C++) share: a thread, its memory, and arithmetic that C lacks. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint8_t pred, b8, u8;
typedef uint16_t b16, u16;
typedef uint32_t b32, u32;
typedef uint64_t b64, u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;

/* A thread of the grid that runs. Addresses are those of the emulated GPU's memory. */
typedef struct Thread {
  u32 tid[3], ntid[3], ctaid[3], nctaid[3];
  u32 number; /* within the block */
  u64 parameters;
  u64 shared;
  u64 local; /* the first free byte of the thread's own memory */
  u64 instructions; /* that it has run, where translate.py was told to --count */
} Thread;

/* A variable of a translated file: `address` is set when the file is registered. */
typedef struct Variable {
  const char* name;
  u64 bytes, alignment;
  const void* initial; /* null: zeros */
  u64* address;
} Variable;

typedef struct Parameter {
  u32 offset, bytes;
} Parameter;

typedef struct Kernel {
  const char* name;
  void (*run)(Thread*);
  int meets; /* whether its threads wait for one another */
  u32 parameter_count;
  const Parameter* parameters;
  u32 parameter_bytes, shared_bytes, local_bytes, most_threads;
} Kernel;

/* What one text of PTX became. `mark` says which text, as nvcc puts it into the host's object, too. */
typedef struct Module {
  u64 mark; /* length << 32 | Adler-32 */
  const Kernel* kernels;
  u64 kernel_count;
  const Variable* variables;
  u64 variable_count;
} Module;

void register_module(const Module*);

/* ---- memory: one span of the address space, with what is known of each of its bytes beside it ---- */
/* Below private_bytes: parameters, variables and the threads' own memory, whose accesses are not recorded, so that a
   race on a variable is not noticed. Above: what several threads see. */
static const u64 memory_begin = 0x100000000000ull, private_bytes = 1ull << 30, memory_bytes = 1ull << 33,
                 knowledge_begin = 0x200000000000ull;
/* Fresh bytes are allocated, and nothing wrote them. */
enum { unknown_byte = 0, fresh_byte = 1, written_byte = 3 };

static inline void know(u64 address, u64 bytes, int state) {
  memset((char*)(knowledge_begin + (address - memory_begin)), state, bytes);
}

/* Ends the program: the access is misaligned, outside of what was allocated, or reads what nothing wrote. */
void refuse_access(const Thread*, u64 address, u32 bytes, int writes) __attribute__((noreturn));
/* Ends the program if another thread's access and this one have no order, and one of them writes. Two that write the
   same bits do not count: the memory has these bits afterwards, whoever comes first. `value` is null where the access
   reads. */
void record_access(Thread*, u64 address, u32 bytes, const void* value);

static inline void copy_small(void* to, const void* from, u32 bytes) {
  switch (bytes) {
    case 1:
      memcpy(to, from, 1);
      break;
    case 2:
      memcpy(to, from, 2);
      break;
    case 4:
      memcpy(to, from, 4);
      break;
    case 8:
      memcpy(to, from, 8);
      break;
    default:
      memcpy(to, from, 16);
  }
}

/* An access of 1, 2, 4, 8 or 16 bytes must be aligned to its size. */
static inline void check_access(const Thread* thread, u64 address, u32 bytes, int writes) {
  const u64 at = address - memory_begin, needed = 0x0101010101010101ull * (writes ? fresh_byte : written_byte);
  if (at > memory_bytes - bytes || address % bytes != 0) refuse_access(thread, address, bytes, writes);
  u64 known[2] = {needed, needed};
  copy_small(known, (const char*)(knowledge_begin + at), bytes);
  if ((known[0] & known[1] & needed) != needed) refuse_access(thread, address, bytes, writes);
}

/* Loads and stores. They are not inline, because kernels of ten thousand accesses would take much longer to compile. */
__attribute__((noinline, unused)) static void load(Thread* thread, u64 address, u32 bytes, int may_be_visible,
                                                   void* value) {
  check_access(thread, address, bytes, 0);
  if (may_be_visible && address >= memory_begin + private_bytes) record_access(thread, address, bytes, 0);
  copy_small(value, (const char*)address, bytes);
}
__attribute__((noinline, unused)) static void store(Thread* thread, u64 address, u32 bytes, int may_be_visible,
                                                    const void* value) {
  const u64 written[2] = {0x0101010101010101ull * written_byte, 0x0101010101010101ull * written_byte};
  check_access(thread, address, bytes, 1);
  if (may_be_visible && address >= memory_begin + private_bytes) record_access(thread, address, bytes, value);
  copy_small((char*)(knowledge_begin + (address - memory_begin)), written, bytes);
  copy_small((char*)address, value, bytes);
}

/* ---- threads that wait for one another ---- */
enum ShuffleMode { shuffle_up, shuffle_down, shuffle_bfly, shuffle_idx };
void meet_block(Thread*);
void meet_warp(Thread*, u32 mask);
u32 shuffle(Thread*, enum ShuffleMode, u32 value, u32 lane, u32 bounds, u32 mask, pred* is_inside);
u32 vote_ballot(Thread*, pred value, u32 mask);
void stop_by_trap(const Thread*) __attribute__((noreturn));

/* ---- arithmetic ---- */
enum Rounding { round_rz, round_rm, round_rp };
f32 add_f32(f32, f32, enum Rounding);
f32 sub_f32(f32, f32, enum Rounding);
f32 mul_f32(f32, f32, enum Rounding);
f32 rounded_fma_f32(f32, f32, f32, enum Rounding);
f64 add_f64(f64, f64, enum Rounding);
f64 sub_f64(f64, f64, enum Rounding);
f64 mul_f64(f64, f64, enum Rounding);
f64 rounded_fma_f64(f64, f64, f64, enum Rounding);
f32 narrowed(f64, enum Rounding);

static inline f32 f32_of(b32 bits) {
  f32 value;
  memcpy(&value, &bits, 4);
  return value;
}
static inline f64 f64_of(b64 bits) {
  f64 value;
  memcpy(&value, &bits, 8);
  return value;
}
static inline b32 bits_of_f32(f32 value) {
  b32 bits;
  memcpy(&bits, &value, 4);
  return bits;
}
static inline b64 bits_of_f64(f64 value) {
  b64 bits;
  memcpy(&bits, &value, 8);
  return bits;
}

static inline u16 high_product_u16(u16 a, u16 b) { return (u16)((u32)a * b >> 16); }
static inline s16 high_product_s16(s16 a, s16 b) { return (s16)((s32)a * b >> 16); }
static inline u32 high_product_u32(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
static inline s32 high_product_s32(s32 a, s32 b) { return (s32)((s64)a * b >> 32); }
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;
static inline u64 high_product_u64(u64 a, u64 b) { return (u64)((u128)a * b >> 64); }
static inline s64 high_product_s64(s64 a, s64 b) { return (s64)((s128)a * b >> 64); }

/* The manual leaves division by zero to the machine: the emulator refuses it, and wraps the one that overflows. */
void refuse_division(void) __attribute__((noreturn));
#define DIVISION(type, wraps)                            \
  static inline type quotient_##type(type a, type b) {   \
    if (b == 0) refuse_division();                       \
    return (wraps) ? (type)(0 - (u64)a) : (type)(a / b); \
  }                                                      \
  static inline type remainder_##type(type a, type b) {  \
    if (b == 0) refuse_division();                       \
    return (wraps) ? (type)0 : (type)(a % b);            \
  }
DIVISION(u16, 0)
DIVISION(u32, 0)
DIVISION(u64, 0)
DIVISION(s16, b == -1)
DIVISION(s32, b == -1)
DIVISION(s64, b == -1)
#undef DIVISION

static inline u64 field(u64 a, u32 first, u32 count) {
  u64 shifted = first < 64 ? a >> first : 0;
  return count < 64 ? shifted & (((u64)1 << count) - 1) : shifted;
}
static inline u64 with_field(u64 a, u64 b, u32 first, u32 count, u32 bits) {
  if (first >= bits) return b;
  u64 ones = (count < 64 ? ((u64)1 << count) - 1 : ~(u64)0) << first;
  return (b & ~ones) | (a << first & ones);
}
static inline u64 reversed_bits(u64 a) {
  u64 result = 0;
  for (int i = 0; i < 64; ++i) result |= (a >> i & 1) << (63 - i);
  return result;
}
/* Bit i of the table is the result where the bits of a, b and c are those of i: 4, 2 and 1. */
static inline u32 logic(u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (int i = 0; i < 8; ++i)
    if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}
/* Each four bits of `how` name one of the eight bytes of b:a; the highest of the four copies its sign instead. */
static inline u32 permuted_bytes(u32 a, u32 b, u32 how) {
  u64 bytes = (u64)b << 32 | a;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    u32 selector = how >> (4 * i) & 15, byte = bytes >> (8 * (selector & 7)) & 255;
    if (selector & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

/* Of -0 and +0 the first is less. A number is taken before NaN. */
#define FUNCTIONS_OF_FLOATS(type, suffix)                                                                \
  static inline type least_##type(type a, type b) {                                                      \
    if (a != a || b != b) return a != a ? b : a;                                                         \
    return a < b || (a == b && __builtin_signbit(a)) ? a : b;                                            \
  }                                                                                                      \
  static inline type greatest_##type(type a, type b) {                                                   \
    if (a != a || b != b) return a != a ? b : a;                                                         \
    return a > b || (a == b && __builtin_signbit(b)) ? a : b;                                            \
  }                                                                                                      \
  static inline type fma_##type(type a, type b, type c) { return __builtin_fma##suffix(a, b, c); }       \
  static inline type size_##type(type a) { return __builtin_fabs##suffix(a); }                           \
  static inline type square_root_##type(type a) { return __builtin_sqrt##suffix(a); }                    \
  static inline type with_sign_##type(type a, type sign) { return __builtin_copysign##suffix(a, sign); } \
  static inline type nearest_whole_##type(type a) { return __builtin_rint##suffix(a); }                  \
  static inline type whole_toward_zero_##type(type a) { return __builtin_trunc##suffix(a); }             \
  static inline type whole_below_##type(type a) { return __builtin_floor##suffix(a); }                   \
  static inline type whole_above_##type(type a) { return __builtin_ceil##suffix(a); }
FUNCTIONS_OF_FLOATS(f32, f)
FUNCTIONS_OF_FLOATS(f64, )
#undef FUNCTIONS_OF_FLOATS

/* Of a number that is whole: the nearest that the type has. */
static inline s32 saturated_s32(f64 a) { return a >= 0x1p31 ? INT32_MAX : a <= -0x1p31 ? INT32_MIN : (s32)a; }
static inline u32 saturated_u32(f64 a) { return a >= 0x1p32 ? UINT32_MAX : a <= 0 ? 0 : (u32)a; }
static inline s64 saturated_s64(f64 a) { return a >= 0x1p63 ? INT64_MAX : a <= -0x1p63 ? INT64_MIN : (s64)a; }
static inline u64 saturated_u64(f64 a) { return a >= 0x1p64 ? UINT64_MAX : a <= 0 ? 0 : (u64)a; }

/* Zero, of the same sign, in the place of a subnormal number. */
static inline f32 flushed(f32 a) { return __builtin_fabsf(a) < 0x1p-126f ? __builtin_copysignf(0, a) : a; }
static inline f32 exp2_f32(f32 a) { return (f32)exp2((f64)a); }
static inline f32 log2_f32(f32 a) { return (f32)log2((f64)a); }
static inline f32 sine_f32(f32 a) { return (f32)sin((f64)a); }
static inline f32 cosine_f32(f32 a) { return (f32)cos((f64)a); }
/* Looks at the upper half of the bits alone and returns such a number. */
static inline f64 coarse_reciprocal(f64 a) {
  f64 upper = f64_of(bits_of_f64(a) >> 32 << 32);
  if (__builtin_fabs(upper) < 0x1p-1022) upper = __builtin_copysign(0, upper);
  f64 result = f64_of(bits_of_f64(1 / upper) >> 32 << 32);
  return __builtin_fabs(result) < 0x1p-1022 ? __builtin_copysign(0, result) : result;
}

#ifdef __cplusplus
}
#endif
