#!/usr/bin/env bash
# The program as users' own configurations build it, in which a simulator is compiled for each instruction set:
#   preset     cmake --preset default, with what this machine has of MPI, nvcc and ccache
#   alone      the same without these three
#   plain      cmake -S . -B BUILD and make
# It says its version, and prints the same report from each build.
#   default_build.sh WORK [TARGET]    of the first build, incontext-program if absent
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mkdir -p "$1"
work=$(realpath "$1")
jobs=${INCONTEXT_JOBS:-$(nproc)}
version=$(sed -n 's/^project(incontext VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
fail() { echo "FAILED: $*"; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail "$*"; }; }

# try BUILD TARGET: builds the target, says versions, and compares the report of one small simulation with the first build's
try() {
  quietly cmake --build "$work/$1" --parallel "$jobs" --target "$2"
  local program=$work/$1/examples/incontext
  [ "$("$program" --version)" = "incontext $version" ] || fail "$1: --version says: $("$program" --version)"
  "$program" classify --trials 1024 --dimension 3 --context-length 10 >"$work/$1.txt" ||
    fail "$1: incontext classify ends with exit code $?"
  [ -f "$work/first.txt" ] || cp "$work/$1.txt" "$work/first.txt"
  diff "$work/first.txt" "$work/$1.txt" || fail "$1: another report"
  echo "$1: builds and runs, $SECONDS s"
}
rm -f "$work/first.txt"
quietly cmake --preset default -B "$work/preset"
try preset "${2:-incontext-program}"
quietly cmake --preset default -B "$work/alone" -DINCONTEXT_MPI=OFF -DINCONTEXT_CUDA=OFF -DINCONTEXT_CCACHE=
try alone incontext-program
# make is what CMake takes by itself
quietly cmake -S . -B "$work/plain" -G "$(command -v make >/dev/null && echo "Unix Makefiles" || echo Ninja)"
try plain incontext-program
