#!/usr/bin/env bash
# Builds the program with a preset's sanitizers and runs every figure and mode of its subcommands, small. Fails where a
# sanitizer reports anything, or where one ends with another exit code than without sanitizers.
#   programs.sh SOURCE_DIR BUILD_DIR PRESET(sanitize|sanitize-threads)
set -euo pipefail
cd "$1"
build=$2 preset=$3
cmake --preset "$preset" -B "$build" -DINCONTEXT_SLOW_TESTS=OFF -DINCONTEXT_BUILD_BENCHMARKS=OFF >/dev/null
cmake --build "$build" --parallel "${INCONTEXT_JOBS:-$(nproc)}" --target concurrent_runs incontext-program

# The runtimes of OpenMP and TBB are not compiled with the thread sanitizer, which therefore does not see that they
# synchronize. It can judge the library's own threads and simulations that a user's threads run at once.
devices=(serial openmp tbb)
[ "$preset" = sanitize ] || devices=(serial)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1

failed=0
"$build/tests/sanitizers/concurrent_runs" || failed=1

# run EXPECTED_EXIT_CODES SUBCOMMAND ARGUMENT...
run() {
  local code=0
  "$build/examples/incontext" "${@:2}" >"$work/output" 2>"$work/errors" || code=$?
  if [[ ",$1," != *",$code,"* ]] || grep -qE 'Sanitizer|runtime error' "$work/errors"; then
    printf 'FAILED (exit %s): incontext %s\n' "$code" "${*:2}"
    head -40 "$work/errors"
    failed=1
  fi
}

# Few trials leave rows that are not judged: exit code 3 is as good as 0.
for device in "${devices[@]}"; do
  small=(--trials 2000 --device "$device")
  [ "$device" = serial ] || small+=(--threads 3)
  for figure in 2a 2b 2c 3a 3b 3c 6 7 mean-shift scores; do run 0,3 temperature --figure "$figure" "${small[@]}"; done
  run 0,3 temperature "${small[@]}" --output "$work/report.json"
  run 0,3 temperature --data examples/data/diabetes.csv --labels progression --standardize "${small[@]}"
  for estimator in conditional sufficient-statistics; do run 0,3 temperature --estimator "$estimator" "${small[@]}"; done
  for quantity in temperature context-length map; do run 0,3 softmax-error --vary "$quantity" "${small[@]}"; done
  for figure in phase fading retrieval bounded; do
    run 0,3 fading --figure "$figure" --lengths 100 "${small[@]}"
  done
  run 0,3 fading --figure diagram --points 4 --trials 2000 --device "$device" --threads 3
  for figure in baselines boundary deviant; do run 0,3 tasks --figure "$figure" "${small[@]}"; done
  run 0,3 fading --figure optimum --lengths 20 "${small[@]}"
  for figure in temperature frozen schedule normsoftmax queries groups ends; do
    run 0,3 gradients --figure "$figure" --trials 64 "${small[@]:2}"
  done
  for figure in rules 5 6 7 8a 8b elimination onset; do
    run 0,3 classify --figure "$figure" --search-trials 16 --trials 256 "${small[@]:2}"
  done
  run 0,3 classify --figure laws --trials 256 "${small[@]:2}"
done
run 0 scores --row 1,2,-inf,3 --weights "$work/weights.npy"
for figure in approximation ssa-base ssmax-fading ssmax-threshold deviant prompt normsoftmax-bound; do
  run 0,3 scores --figure "$figure"
done
run 0,3 baselines --dimension 4 --context-lengths 3,8 --trials 2000
run 0,1,3 train regression --steps 8 --batch 16
run 0,1,3 train classification --map linear --steps 3 --trials 256
run 0,1,3 train affine --steps 3
run 0,1,3 train quantifier --steps 3
run 0,1,3 train needle --steps 3
run 0 verify --claim signed-averaging/saturation
run 0 completion bash
run 2 temperature --temperatures 0
run 2 scores --row 1,x
exit "$failed"
