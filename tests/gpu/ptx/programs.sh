#!/bin/bash
# Runs programs whose kernels the emulator runs, and exits with 1 if one does not do what it must:
#   programs.sh bits PROGRAM BITS.TXT      prints BITS.TXT, in several orders of threads and with little memory
#   programs.sh in_every_order PROGRAM     succeeds, and prints the same, whatever the order of the threads
#   programs.sh tables PROGRAM             tables of its subcommands that have kernels are those of the CPU, number by
#                                          number
#   programs.sh failures PROGRAM           where a call of CUDA fails, it says so in a line and prints no number
#   programs.sh two_files PROGRAM          succeeds with one GPU and with two, whose memories and variables are apart
#   programs.sh two_gpus PROGRAM           each of two GPUs does what it is asked for, both share a run with its bits,
#                                          and one that is lost ends it without a number
#   programs.sh interrupts PROGRAM         Ctrl-C ends a run within seconds, also in the midst of a kernel, and what its
#                                          checkpoint has is what one run has
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
  # 125,000 numbers: the blocks of a launch compute several batches each, in the same memory
  PTX_MEMORY=8000000 must "with little memory" prints "$work/forward" "$1"
}

# The tables of a subcommand on the emulated GPU and on the CPU are the same, and there is one.
same_tables() {
  local code=0
  "$@" --quiet --device openmp --output "$work/openmp.json" || code=$?
  [ $code -le 3 ] && [ $code -ne 2 ] || return 1 # 0, 1 and 3 are verdicts, which may be whatever they are on both
  has_tables "$work/openmp.json" "$@" --quiet --device cuda
}

# has_tables FILE COMMAND...: the command's report has the tables of the file
has_tables() {
  local code=0
  "${@:2}" --output "$work/other.json" || code=$?
  [ $code -le 3 ] && [ $code -ne 2 ] || return 1
  python3 -c 'import json, sys
tables = [json.load(open(name))["tables"] for name in sys.argv[1:]]
assert tables[0], "no table"
assert tables[0] == tables[1], "the tables differ"' "$1" "$work/other.json"
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
    # in rows of fewer than 16 scores a GPU has an exponential of its own
    ["train regression"]="--context-length 20 --seeds 1 --steps 8 --batch 32"
    ["train classification"]="--context-length 20 --classes 2 --trials 256 --seeds 1 --steps 8 --batch 32"
  )
  local name names
  names=$("$1" --list | grep -vxE 'completion|train') || { echo "FAILED: the program lists no subcommand"; exit 1; }
  for name in "${!arguments[@]}"; do
    grep -qx "$name" <<<"$names" || must "$name" false
  done
  while read -r name; do
    if [ -n "${arguments[$name]-}" ]; then
      # shellcheck disable=SC2086 # the arguments are words
      must "$name" same_tables "$1" $name ${arguments[$name]}
    else
      must "$name: has no kernels" refuses_gpu "$1" "$name"
    fi
  done <<<"$names"
}

# A subcommand without kernels has no device, or says in one line that it does not run on a GPU.
refuses_gpu() {
  local code=0
  # shellcheck disable=SC2086 # the name may be two words
  "$1" $2 --device cuda >"$work/out" 2>"$work/err" || code=$?
  cat "$work/err"
  [ $code -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ]
}

# ends_well EXIT_CODE COMMAND...: where a call of CUDA fails, the command ends with exit code 2 and one line, or as if
# none had failed, which is right after a question that it can do without.
ends_well() {
  local code=0
  "${@:2}" >"$work/out" 2>"$work/err" || code=$?
  if [ $code -eq "$1" ] && [ ! -s "$work/err" ] && cmp -s "$work/out" "$work/whole"; then
    harmless=$((harmless + 1))
  elif [ $code -ne 2 ] || [ -s "$work/out" ] || [ "$(wc -l <"$work/err")" -ne 1 ] ||
    grep -qE ': +\(|: *$' "$work/err"; then # a cause that is empty
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

two_files() {
  must "one GPU" "$1"
  PTX_DEVICES=2 must "two GPUs" "$1"
  PTX_DEVICES=2 must "a kernel that writes to another GPU's memory" says "GPU 1 accesses memory of GPU 0" 3 \
    "$1" wrong-gpu
}

# says TEXT EXIT_CODE COMMAND...: the command ends with that code and says the text
says() {
  local code=0
  "${@:3}" >"$work/out" 2>"$work/err" || code=$?
  cat "$work/out" "$work/err"
  [ $code -eq "$2" ] && grep -qF -- "$1" "$work/err"
}

# launched COUNT-OF-GPU-0 COUNT-OF-GPU-1 COMMAND...: the command succeeds, and the numbers of its launches match
launched() {
  local code=0 found
  PTX_FAIL=0 "${@:3}" >"$work/out" 2>"$work/err" || code=$?
  found=$(awk '/^emulator: [0-9]+ launches on GPU/ { printf "%s ", $2 }' "$work/err")
  cat "$work/err"
  # 1 and 3 are verdicts
  [ $code -le 3 ] && [ $code -ne 2 ] && [ -s "$work/out" ] && [[ $found =~ ^($1)\ ($2)\ $ ]]
}

two_gpus() {
  local task=("$1" temperature --dimension 4 --context-length 8)
  local run=("${task[@]}" --trials 20000)
  local some='[1-9][0-9]*' n tried=0 harmless=0 code=0
  export PTX_DEVICES=2 PTX_MEMORY=1000000 # several waves, so that both GPUs have some
  must "the first GPU alone" launched "$some" 0 "${run[@]}" --device cuda:0
  must "the second GPU alone" launched 0 "$some" "${run[@]}" --device cuda:1
  must "training on the second GPU" launched 0 "$some" "$1" train regression --seeds 1 --steps 8 --batch 32 \
    --device cuda:1
  must "both" launched "$some" "$some" "${run[@]}" --device cuda:all
  "${run[@]}" --device openmp --output "$work/openmp.json" || true
  must "both have the bits of the CPU" has_tables "$work/openmp.json" "${run[@]}" --device cuda:all
  run=("${task[@]}" --trials 8000)
  must "a third GPU is refused" says "a number below 2, the number of GPUs here" 2 "${run[@]}" --device cuda:2
  "${run[@]}" --device cuda:all >"$work/whole" || code=$?
  for n in 1 2 3 5 8 13 21 34; do
    PTX_FAIL=$n+:1 must "the second GPU is lost at its call $n" ends_well $code "${run[@]}" --device cuda:all
    PTX_FAIL=$n+:0 must "the first GPU is lost at its call $n" ends_well $code "${run[@]}" --device cuda:all
    tried=$((tried + 2))
  done
  echo "$harmless of $tried failures change nothing"
  [ $((2 * harmless)) -lt $tried ] || failed=1
}

# interrupted SECONDS COMMAND...: Ctrl-C so many seconds after its first trial began ends the command within ten, with
# the exit code of a run that was stopped, and it says no more than what it leaves
interrupted() {
  local code=0 process i
  "${@:2}" >"$work/out" 2>"$work/err" &
  process=$!
  for ((i = 0; i < 3000; ++i)); do # until it handles SIGINT, which is signal 2
    grep -qE '^SigCgt:.*[2367abef]$' "/proc/$process/status" 2>/dev/null && break
    sleep 0.01
  done
  sleep "$1"
  kill -INT $process
  for ((i = 0; i < 1000; ++i)); do
    kill -0 $process 2>/dev/null || break
    sleep 0.01
  done
  ! kill -KILL $process 2>/dev/null || echo "it goes on"
  wait $process || code=$?
  echo "exit code $code, 3 expected"
  cat "$work/err"
  [ $code -eq 3 ] && ! grep -v ': stopped early: ' "$work/err"
}

interrupts() {
  local long=("$1" temperature --dimension 4 --context-length 8 --trials 400000 --quiet) devices
  mkdir "$work/kept"
  "${long[@]}" --device openmp --output "$work/openmp.json" || true
  export PTX_MEMORY=1000000 # a wave takes a part of a second
  for devices in cuda cuda:all; do
    PTX_DEVICES=2 must "Ctrl-C on $devices" interrupted 0.5 "${long[@]}" --device $devices \
      --checkpoint "$work/kept/record" --output "$work/kept/report.json"
    must "the files on $devices" is_stopped_run "$work/kept"
    must "the run that goes on after $devices" has_tables "$work/openmp.json" "${long[@]}" --device openmp \
      --resume "$work/kept/record"
    rm -f "$work"/kept/*
  done
  unset PTX_MEMORY
  # trials of a million tokens end when the kernel learns of the request
  must "Ctrl-C in a kernel" interrupted 2 "$1" temperature --dimension 4 --context-length 1e6 --trials 1024 --quiet \
    --device cuda
}

# The folder has a record and a report of a part of the trials, and nothing else.
is_stopped_run() {
  ls -A "$1"
  [ "$(ls -A "$1")" = $'record\nreport.json.partial' ] && python3 -c 'import json, sys
run = json.load(open(sys.argv[1]))
print(run["trials"], "trials")
assert not run["complete"] and 0 < run["trials"]' "$1/report.json.partial"
}

"$@"
exit $failed
