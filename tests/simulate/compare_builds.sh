#!/usr/bin/env bash
# Compiles the bits program with every compiler and instruction set there is here and compares what it prints with the
# record.   compare_builds.sh SOURCE_DIR WORK_DIR "COMPILE FLAGS (includes, definitions)"
set -euo pipefail
source_dir=$1 work=$2
read -r -a flags <<<"$3"
mkdir -p "$work"
record=$source_dir/tests/simulate/bits.txt
launcher=()
! command -v ccache >/dev/null || launcher=(ccache)
builds=0
for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || { echo "skipped: no $compiler"; continue; }
  for target in "" -march=native; do
    "${launcher[@]}" "$compiler" -std=c++20 -O2 $target -ffp-contract=off -fno-math-errno "${flags[@]}" \
      -c "$source_dir/tests/simulate/bits_program.cpp" -o "$work/bits.o"
    "$compiler" "$work/bits.o" -o "$work/bits"
    if ! "$work/bits" serial | diff "$record" -; then
      echo "different bits: $compiler $target"
      exit 1
    fi
    echo "same bits: $compiler ${target:-plain}"
    builds=$((builds + 1))
  done
done
[ "$builds" -ge 2 ]
