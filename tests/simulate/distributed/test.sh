#!/bin/bash
# Runs of several processes, as a user starts them: the bits of one process, refusals, ranks that are stopped or killed.
#   test.sh library SOURCE FLAGS...  the library's header in that program and in docs/scaling.md's, compiled by each MPI
#   test.sh programs FOLDER          the programs there, by the mpirun of the MPI that they were built with
# Exit 77: there is no MPI here.
set -euo pipefail
export OMP_WAIT_POLICY=passive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none  # Open MPI 4
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none  # and 5
folder=$(mktemp -d)
# Open MPI makes its session folder without regard for others that start now: one place for each run, and for each
# process where Open MPI does not start them together.
export OMPI_MCA_orte_tmpdir_base=$folder
trap 'rm -rf "$folder"' EXIT
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}
same() { diff "$1" "$2" >&2 || fail "$3: $2 differs from $1"; }

# ranks_meet SUFFIX: whether mpirun with this suffix starts ranks that see each other, in a program with nothing of ours.
# That of Ubuntu 24.04's MPICH does not (https://bugs.launchpad.net/ubuntu/+source/mpich/+bug/2072338).
ranks_meet() {
  cat >"$folder/meet.cpp" <<'END'
#include <mpi.h>
#include <cstdio>
int main() {
  MPI_Init(nullptr, nullptr);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::printf("%d ", size);
  MPI_Finalize();
}
END
  "mpicxx$1" "$folder/meet.cpp" -o "$folder/meet" || fail "mpicxx$1 does not compile"
  timeout 60 "mpirun$1" -n 2 "$folder/meet" >"$folder/sizes" 2>"$folder/errors" || fail "mpirun$1: $(cat "$folder/errors")"
  case $(cat "$folder/sizes") in
    "1 1 ") return 1 ;;
    "2 2 ") ;;
    *) fail "mpirun$1: two ranks are $(cat "$folder/sizes" "$folder/errors")" ;;
  esac
}

library() {
  local source=$1 name found=0
  for name in openmpi mpich; do
    if ! command -v "mpicxx.$name" "mpirun.$name" >/dev/null; then
      echo "skipped: no $name"
      continue
    fi
    if ! ranks_meet .$name; then
      echo "skipped: mpirun.$name starts no ranks that see each other"
      continue
    fi
    found=$((found + 1))
    local program=$folder/$name run=(timeout 60 "mpirun.$name")
    "mpicxx.$name" -std=c++20 -O1 "${@:2}" "$source" -o "$program"
    "$program" >"$folder/alone"
    [ "$(wc -l <"$folder/alone")" = 4 ] || fail "$name: not four estimates"
    for ranks in 2 3; do
      "${run[@]}" -n $ranks "$program" >"$folder/shared" || fail "$name: exit code with $ranks ranks"
      same "$folder/alone" "$folder/shared" "$name, $ranks ranks"
    done
    local code=0
    "${run[@]}" -n 3 "$program" seed >"$folder/shared" 2>"$folder/errors" || code=$?
    [ $code = 2 ] || fail "$name: another seed ends with $code, not 2"
    [ "$(grep -c 'ranks [01] and 2 .*another seed\|ranks 2 and [01] .*another seed' "$folder/errors")" = 1 ] ||
      fail "$name: another seed is not named once: $(cat "$folder/errors")"
    if [ $found = 1 ]; then  # the page's program, by one MPI: it takes long to compile
      awk '/^```cpp$/ { ++block; next } /^```$/ { if (block) exit } block' "$(dirname "$source")/../../../docs/scaling.md" \
        >"$folder/page.cpp"
      "mpicxx.$name" -std=c++20 -O0 "${@:2}" "$folder/page.cpp" -o "$program-page"
      "$program-page" >"$folder/alone"
      "${run[@]}" -n 2 "$program-page" >"$folder/shared"
      [ -s "$folder/alone" ] || fail "the program of docs/scaling.md prints nothing"
      same "$folder/alone" "$folder/shared" "$name, the program of docs/scaling.md"
    fi
  done
  if [ $found = 0 ]; then
    echo "skipped: no MPI"
    exit 77
  fi
}

# report FILE: the part of a JSON report that does not say where and when it was made
report() { sed -n '/^  "tables"/,$p' "$1"; }
# share NAME PROGRAM ARGUMENT...: runs it by $launch; leaves the report in $folder/NAME and the exit code in $code. The
# number of each rank's process is in $folder/process.RANK.
share() {
  local output=$folder/$1
  code=0
  timeout 100 $launch sh -c 'echo $$ >'"$folder"'/process.${OMPI_COMM_WORLD_RANK-$PMI_RANK}; exec "$@"' sh "${@:2}" \
    --format json >"$output.json" 2>"$output.errors" || code=$?
  report "$output.json" >"$output"
}
alone() { "${@:2}" --format json >"$folder/$1.json"; report "$folder/$1.json" >"$folder/$1"; }

programs() {
  local program=$1 code
  local plain=("$program" softmax-error --dimension 3 --context-length 5 --temperatures 1,2 --trials 300000)
  local pilot=("$program" softmax-error --dimension 3 --context-length 5 --estimator literal --relative-error 0.01)
  local grid=("$program" classify --figure valley --dimension 3 --context-length 10 --trials 4096)
  local long=("$program" softmax-error --dimension 3 --context-length 5 --temperatures 1,2 --trials 24000000 --threads 1)
  alone plain "${plain[@]}"
  alone pilot "${pilot[@]}"
  alone grid "${grid[@]}"
  for ranks in 1 2 3 4; do
    launch="mpirun -n $ranks"
    share plain-$ranks "${plain[@]}"
    same "$folder/plain" "$folder/plain-$ranks" "plain run, $ranks ranks"
    share pilot-$ranks "${pilot[@]}"
    same "$folder/pilot" "$folder/pilot-$ranks" "run with a pilot, $ranks ranks"
  done
  launch="mpirun -n 3"
  share grid-3 "${grid[@]}"
  same "$folder/grid" "$folder/grid-3" "grid, 3 ranks"

  # One rank that differs: exit code 2 and one line.
  refused() {
    [ "$code" = 2 ] || fail "$1 ends with $code, not 2"
    [ "$(grep -c '^incontext ' "$folder/x.errors")" = 1 ] || fail "$1: not one line: $(cat "$folder/x.errors")"
    grep -q -- "$2" "$folder/x.errors" || fail "$1: '$2' is not in: $(cat "$folder/x.errors")"
  }
  # mpirun's form `PROGRAM : PROGRAM` is not used: Debian 13's Open MPI 5.0.7 crashes on it.
  cat >"$folder/only" <<'END'
[ "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" != "$1" ] || set -- "$@" "$2"
shift 2
exec "$@"
END
  launch="mpirun -n 3 sh $folder/only 0 --seed=3"
  share x "${plain[@]}"
  refused "another seed" 'rank [12]: .*--seed differs (value = 1; needs 3)'
  launch="mpirun -n 2 sh $folder/only 1 --threads=none"
  share x "${plain[@]}"
  refused "a wrong option" 'rank 1: --threads'
  launch="mpirun -n 2"
  share x "${plain[@]}" --checkpoint "$folder/none/x"
  refused "a checkpoint that cannot be written" '--checkpoint: cannot be written'
  share x "$program" scores
  refused "a program that divides nothing" 'does not divide its work'
  if command -v mpirun.mpich >/dev/null && grep -q "Open MPI" <<<"$(mpirun --version)"; then
    cat >"$folder/apart" <<'END'
export OMPI_MCA_orte_tmpdir_base=$OMPI_MCA_orte_tmpdir_base/apart.$PMI_RANK
mkdir "$OMPI_MCA_orte_tmpdir_base"
exec "$@"
END
    launch="mpirun.mpich -n 2 sh $folder/apart"
    share x "${plain[@]}"
    refused "the mpirun of another MPI" 'needs the mpirun of this MPI'
  fi

  # A rank that is stopped, or killed: what was finished is kept, and goes on with fewer ranks.
  alone long "${long[@]}"
  for signal in KILL INT TERM; do
    rm -f "$folder"/process.*
    launch="mpirun -n 3"
    share cut "${long[@]}" --checkpoint "$folder/record" &
    local shared=$!
    for _ in $(seq 1500); do  # until rank 2 simulates, which is when it handles SIGINT, and something is kept
      sleep 0.02
      local caught=0
      [ ! -e "$folder/process.2" ] ||
        caught=$(sed -n 's/^SigCgt:\t/0x/p' "/proc/$(cat "$folder/process.2")/status" 2>/dev/null || echo 0)
      [ $((${caught:-0} & 2)) = 0 ] || [ ! -e "$folder/record" ] || break
    done
    kill -$signal "$(cat "$folder/process.2")"
    wait $shared
    [ $signal = KILL ] || grep -q '^  "complete": false' "$folder/cut.json" || fail "SIG$signal left no partial report"
    grep -q '"complete":false' "$folder/record" || fail "SIG$signal came too late for this test"
    launch="mpirun -n 2"
    share resumed-$signal "${long[@]}" --resume "$folder/record"
    same "$folder/long" "$folder/resumed-$signal" "resumed after SIG$signal"
    rm "$folder/record"
  done
}

case $1 in
  library) library "${@:2}" ;;
  programs)
    if ! command -v mpirun >/dev/null; then
      echo "skipped: no mpirun"
      exit 77
    fi
    if command -v mpicxx >/dev/null && ! ranks_meet ""; then
      echo "skipped: mpirun starts no ranks that see each other"
      exit 77
    fi
    programs "$2"
    ;;
esac
[ $failures = 0 ] || exit 1
echo "ranks give the bits of one process"
