#!/usr/bin/env bash
# The library for 64-bit ARM, as Macs and many servers have it: compiled by a cross compiler, run by an emulator. Every
# trial has the bits of x86-64, and so have attention and every map that needs no function of the C library; the first
# program of every room prints the same. The maps and attention also run on an x86-64 of 2008, which does not fuse.
#   compare_processors.sh SOURCE_DIR WORK_DIR C++_COMPILER "COMPILE FLAGS (includes, definitions)"
set -euo pipefail
source_dir=$1 work=$2 native=$3
read -r -a flags <<<"$4"
cross=aarch64-linux-gnu-g++
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
command -v $cross >/dev/null || { echo "skipped: no $cross"; exit 77; }
[ -n "$emulator" ] || { echo "skipped: no qemu-aarch64"; exit 77; }
mkdir -p "$work"

# compile SOURCE PROGRAM COMPILER FLAGS...: linked by g++, for ARM by the cross compiler
launcher=()
! command -v ccache >/dev/null || launcher=(ccache)
compile() {
  "${launcher[@]}" "$3" -std=c++20 -O2 -ffp-contract=off -fno-math-errno -Wno-psabi "${flags[@]}" -I"$source_dir" \
    "${@:4}" -c "$source_dir/$1" -o "$work/program.o"
  case $2 in arm) "$cross" -static "$work/program.o" -o "$work/arm" ;; *) "$3" "$work/program.o" -o "$work/$2" ;; esac
}
run() { "$emulator" "$work/arm" "$@"; }

# same WHAT EXPECTED COMMAND...
same() {
  if ! "${@:3}" | diff "$2" -; then echo "not as on x86-64: $1"; exit 1; fi
  echo "as on x86-64: $1"
}

compile tests/simulate/bits_program.cpp arm $cross
same "the bits of every trial, g++" "$source_dir/tests/simulate/bits.txt" run serial
clang=$(command -v clang++-16 || command -v clang++ || true) # Macs have it
if [ -n "$clang" ]; then
  compile tests/simulate/bits_program.cpp arm "$clang" --target=aarch64-linux-gnu
  same "the bits of every trial, clang++" "$source_dir/tests/simulate/bits.txt" run serial
fi

compile tests/maps/bits_program.cpp native "$native"
"$work/native" >"$work/maps.txt"
[ "$(wc -l <"$work/maps.txt")" -gt 100 ]
compile tests/maps/bits_program.cpp arm $cross
same "the bits of maps and attention, g++" "$work/maps.txt" run
if [ -n "$clang" ]; then
  compile tests/maps/bits_program.cpp arm "$clang" --target=aarch64-linux-gnu
  same "the bits of maps and attention, clang++" "$work/maps.txt" run
fi
if old=$(command -v qemu-x86_64-static || command -v qemu-x86_64); then
  same "the bits of maps and attention without fused multiply-add" "$work/maps.txt" "$old" -cpu Nehalem "$work/native"
  # Code with the instruction has no product and sum of its own that the compiler may contract.
  compile tests/maps/bits_program.cpp native "$native" -ffp-contract=fast
  same "the bits of maps and attention, with contraction" "$work/maps.txt" "$work/native"
else
  echo "skipped: no qemu-x86_64"
fi

for program in "$source_dir"/examples/first_steps/*.cpp; do
  name=$(basename "$program" .cpp)
  compile "examples/first_steps/$name.cpp" arm $cross
  same "first_steps/$name" "${program%.cpp}.txt" run
done
