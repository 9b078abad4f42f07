#!/usr/bin/env bash
# Compares what the bits program prints with the record: the one built with the rest, on every device and number of
# threads, and those of the other compilers and instruction sets there are here.
#   compare_builds.sh SOURCE_DIR WORK_DIR PROGRAM BUILT_WITH(g++|clang++|other) "COMPILE FLAGS (includes, definitions)" SLOW(ON|OFF)
# OFF compiles for each instruction set that runs here once, by one of the compilers; ON compiles all, and for this very
# processor, by both.
set -euo pipefail
source_dir=$1 work=$2 program=$3 built_with=$4
read -r -a flags <<<"$5"
mkdir -p "$work"
record=$source_dir/tests/simulate/bits.txt

# same WHAT COMMAND...
same() {
  if ! "${@:2}" | diff "$record" -; then
    echo "different bits: $1"
    exit 1
  fi
  echo "same bits: $1"
}

same "serial" "$program" serial
for device in openmp tbb; do
  for threads in 1 2 3; do same "$device, $threads threads" "$program" "$device" "$threads"; done
done

loader=/lib64/ld-linux-x86-64.so.2
newest=-march=native middle=-march=native all=-march=native
supports() { [ -x "$loader" ] && grep -q "^  $1 (supported, searched)" <<<"$("$loader" --help)"; }
if supports x86-64-v3; then newest=-march=x86-64-v3 middle=$newest all="$newest $all"; fi
if supports x86-64-v4; then newest=-march=x86-64-v4,-mprefer-vector-width=512 all="$newest $all"; fi
# compiler -> what it compiles for, besides the plain processor where all are compiled
declare -A targets=([g++]=$newest [clang++]=$middle)
if [ "$6" = ON ]; then
  targets=([g++]="plain $all" [clang++]="plain $all")
elif command -v clang++ >/dev/null && [ "$newest" = "$middle" ]; then
  targets[g++]=""
fi

launcher=()
! command -v ccache >/dev/null || launcher=(ccache)
for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || { echo "skipped: no $compiler"; continue; }
  for target in ${targets[$compiler]}; do
    flags_of=${target//,/ }
    if [ "$target" = plain ]; then
      [ "$compiler" != "$built_with" ] || continue
      flags_of=""
    fi
    "${launcher[@]}" "$compiler" -std=c++20 -O3 $flags_of -ffp-contract=off -fno-math-errno "${flags[@]}" \
      -c "$source_dir/tests/simulate/bits_program.cpp" -o "$work/bits.o"
    "$compiler" "$work/bits.o" -o "$work/bits"
    same "$compiler $target" "$work/bits" serial
  done
done
