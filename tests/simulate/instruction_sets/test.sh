#!/usr/bin/env bash
# The loader chooses the library that the processor can run, every library prints the same bits, and no instruction of a
# newer processor is outside its own.
#   test.sh PROGRAM
set -euo pipefail
program=$1
library=lib$(basename "$program")-simulator.so
folder=$(dirname "$program")

fail() { echo "FAILED: $*"; exit 1; }

# ---- chosen by the loader; GLIBC_TUNABLES hides instructions from it
loader=/lib64/ld-linux-x86-64.so.2
supports() { grep -q "^  $1 (supported, searched)" <<<"$("$loader" --help)"; }
best=plain without_avx512=plain
if supports x86-64-v3; then best=AVX2 without_avx512=AVX2; fi
if supports x86-64-v4; then best=AVX-512; fi
record=$(GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2 "$program" | tail -n +2)
grep -q '^bits ' <<<"$record" || fail "no bits: $record"
grep -q '^refusal .*is refused always' <<<"$record" || fail "no refusal: $record"

# expect INSTRUCTIONS COMMAND...
expect() {
  local printed
  printed=$("${@:2}") || fail "exit $? from ${*:2}"
  [ "$(head -1 <<<"$printed")" = "instructions $1" ] || fail "not $1 but $(head -1 <<<"$printed") from ${*:2}"
  [ "$(tail -n +2 <<<"$printed")" = "$record" ] || fail "other bits from $1: $printed, not $record"
  echo "same bits: $1, ${*:2}"
}
expect "$best" "$program"
expect "$without_avx512" env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F "$program"
expect plain env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2 "$program"
if command -v qemu-x86_64 >/dev/null; then
  expect plain qemu-x86_64 -cpu Nehalem "$program"  # SSE4.2; any AVX instruction ends the program
else
  echo "skipped: no qemu-x86_64"
fi

# ---- registers of AVX (ymm) and AVX-512 (zmm) in the code
registers() { objdump -d --no-show-raw-insn "$1" | grep -c "%$2" || true; }
for plain in "$program" "$folder/$library"; do
  for register in ymm zmm; do
    [ "$(registers "$plain" $register)" = 0 ] || fail "$plain uses $register"
  done
done
v3=$folder/glibc-hwcaps/x86-64-v3/$library v4=$folder/glibc-hwcaps/x86-64-v4/$library
[ "$(registers "$v3" ymm)" -gt 0 ] || fail "$v3 does not use ymm"
[ "$(registers "$v3" zmm)" = 0 ] || fail "$v3 uses zmm"
[ "$(registers "$v4" zmm)" -gt 0 ] || fail "$v4 does not use zmm"

# ---- nothing else can be taken for a function of the program or of another library
for each in "$folder/$library" "$v3" "$v4"; do
  shown=$(nm -DC --defined-only "$each" | cut -d' ' -f3-)
  [ -n "$shown" ] || fail "$each shows nothing"
  if grep -v '^incontext::testing::InstructionSetSimulator::' <<<"$shown"; then fail "$each shows more than its class"; fi
done
