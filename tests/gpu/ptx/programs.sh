#!/bin/bash
# Runs programs whose kernels the emulator runs, and exits with 1 if one does not do what it must:
#   programs.sh bits PROGRAM BITS.TXT      prints BITS.TXT, in several orders of threads and with little memory
#   programs.sh in_every_order PROGRAM     succeeds, and prints the same, whatever the order of the threads
#   programs.sh tables PROGRAM             tables of its subcommands, but train, are those of the CPU, number by number
#   programs.sh failures PROGRAM           where a call of CUDA fails, it says so in a line and prints no number
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# must DESCRIPTION COMMAND...: the command succeeds
must() {
  if "${@:2}" >"$work/log" 2>&1; then
    echo "$1: passed"
  else
    echo "$1: FAILED with exit code $?"
    tail -20 "$work/log"
    failed=1
  fi
}

# prints FILE COMMAND...: the command succeeds and prints the file
prints() {
  "${@:2}" >"$work/printed" && diff "$1" "$work/printed"
}

bits() {
  must "bits" prints "$2" "$1" cuda
  # 500,000 numbers of memory: several waves, whose trials share the memory
  PTX_MEMORY=4000000 must "bits with little memory" prints "$2" "$1" cuda
  "$1" serial 0 1500 >"$work/serial"
  local order
  for order in backward 1 2; do
    PTX_ORDER=$order must "bits in the order $order" prints "$work/serial" "$1" cuda 0 1500
  done
}

in_every_order() {
  PTX_ORDER=forward must "in the order forward" "$1"
  cp "$work/log" "$work/forward"
  cat "$work/forward"
  local order
  for order in backward 1 2 3; do PTX_ORDER=$order must "in the order $order" prints "$work/forward" "$1"; done
}

# The tables of a subcommand on the emulated GPU and on the CPU are the same, and there is one.
same_tables() {
  local device code=0
  for device in cuda openmp; do
    code=0
    "$@" --quiet --device $device --output "$work/$device.json" || code=$?
    [ $code -le 3 ] && [ $code -ne 2 ] || return 1 # 0, 1 and 3 are verdicts, which may be whatever they are on both
  done
  python3 -c 'import json, sys
tables = [json.load(open(name))["tables"] for name in sys.argv[1:]]
assert tables[0], "no table"
assert tables[0] == tables[1], "the tables differ"' "$work"/{cuda,openmp}.json
}

tables() {
  local -A arguments=(
    [temperature]="--dimension 4 --context-length 8 --trials 2000"
    [softmax-error]="--attention scaled --dimension 4 --context-length 10 --trials 2000"
    [classify]="--context-length 20 --trials 1024"
    [fading]="--figure retrieval --lengths 50,200 --trials 200"
    [gradients]="--trials 128"
    [tasks]="--trials 1024"
    [baselines]="--context-lengths 5,10 --trials 1024"
  )
  local name names
  names=$("$1" --list | grep -vE ' |^completion$') || { echo "FAILED: the program lists no subcommand"; exit 1; }
  for name in "${!arguments[@]}"; do
    grep -qx "$name" <<<"$names" || must "$name" false
  done
  for name in $names; do
    if [ -n "${arguments[$name]-}" ]; then
      # shellcheck disable=SC2086 # the arguments are words
      must "$name" same_tables "$1" "$name" ${arguments[$name]}
    else
      echo "$name: not run"
    fi
  done
}

# ends_well EXIT_CODE COMMAND...: where a call of CUDA fails, the command ends with exit code 2 and one line, or as if
# none had failed, which is right after a question that it can do without.
ends_well() {
  local code=0
  "${@:2}" >"$work/out" 2>"$work/err" || code=$?
  if [ $code -eq "$1" ] && [ ! -s "$work/err" ] && cmp -s "$work/out" "$work/whole"; then
    harmless=$((harmless + 1))
  elif [ $code -ne 2 ] || [ -s "$work/out" ] || [ "$(wc -l <"$work/err")" -ne 1 ]; then
    echo "exit code $code"
    cat "$work/out" "$work/err"
    return 1
  fi
}

failures() {
  local run=("$1" temperature --dimension 4 --context-length 8 --trials 2000 --device cuda)
  local code=0 calls step n mode harmless=0 tried=0
  PTX_FAIL=0 "${run[@]}" >"$work/whole" 2>"$work/err" || code=$?
  calls=$(awk '/^emulator: [0-9]+ calls$/ { print $2 }' "$work/err")
  [ -s "$work/whole" ] && [ "$calls" -gt 20 ] || { cat "$work/err"; exit 1; }
  step=$((calls / 40 + 1)) # each of the first 20, which choose the GPU, and then some
  for mode in "" +; do
    for ((n = 1; n <= calls; n += n < 20 ? 1 : step)); do
      PTX_FAIL=$n$mode must "call $n$mode of $calls" ends_well $code "${run[@]}"
      tried=$((tried + 1))
    done
  done
  echo "$harmless of $tried failures change nothing"
  [ $((2 * harmless)) -lt $tried ] || failed=1
}

"$@"
exit $failed
