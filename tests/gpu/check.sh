#!/bin/bash
# Power check of scripts/gpu-check: with programs that stand in for the packed ones, it passes on equal bits and exits 1
# on a wrong bit, on two programs that fail alike, on a wrong answer, out of time and without a GPU. With a PROGRAM, the
# real one, it also tries that each subcommand understands the arguments that the script has for it.
#   check.sh [PROGRAM]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Python itself: where it is a script that looks for one, that takes longer than all of this.
PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
mkdir -p "$work"/{scripts,tests/simulate,.gpu/bin,.gpu/lib}
cp "$root/scripts/gpu-check" "$work/scripts/"
echo "trial 0x1p+1" >"$work/tests/simulate/bits.txt"
echo 0123456789abcdef >"$work/.gpu/commit"

# program NAME LINE...: a packed program
program() {
  printf '%s\n' '#!/bin/bash' "${@:2}" >"$work/.gpu/bin/$1"
  chmod +x "$work/.gpu/bin/$1"
}
good() {
  program gpu_probe 'exit 0'
  program incontext-bits 'echo "trial 0x1p+1"'
  program incontext-bits-cuda 'echo "trial 0x1p+1"'
  program bench-gpu-throughput 'echo "sampler float,1,1,2e9,normals"' 'echo "trial,1,1,1e9,normals"'
}
# expect EXIT_CODE PATTERN [WORD]
expect() {
  local code=0 text
  text=$(OUT="$work/out" bash "$work/scripts/gpu-check" run ${3:+"$3"} 2>&1) || code=$?
  if [ "$code" -ne "$1" ] || ! grep -qE -- "$2" <<<"$text"; then
    echo "FAILED: exit code $code, $1 expected with '$2':"
    echo "$text"
    exit 1
  fi
}
good; expect 0 '\| trial \| 1 \| 1 \| 1e\+09 \| normals \| 50% \| *\|'
good; expect 0 '\| bits-waves \| passed'
good; program bench-gpu-throughput 'echo "sampler float,1048576,1,2e9,normals"'
expect 0 '\| 2e\+09 \| normals .*6.3e\+11 to 6.8e\+11 \|'
good; program incontext-bits-cuda 'echo "trial 0x1p+2"'; expect 1 'all that follows \| skipped: bits-trials says'
good; program incontext-bits-cuda 'echo "trial 0x1p+2"'; expect 1 'bits-record \| FAILED .*< trial 0x1p\+2'
good; program incontext-bits-cuda '[ "${3:-}" != 200003 ] && echo "trial 0x1p+1"'; expect 1 'bits-waves \| FAILED'
good; program incontext-bits-cuda 'exit 3'; program incontext-bits 'exit 3'; expect 1 'bits-waves \| FAILED'
good; program incontext-bits-cuda '[ -z "${4:-}" ] && echo "trial 0x1p+1"'; expect 1 'bits-trials \| FAILED'
good; rm "$work/.gpu/bin/incontext-bits-cuda"; expect 1 'bits \| skipped: not packed'
good; program bench-gpu-throughput 'echo "wrong answer: trial"' 'echo "other,1,1,1,normals"' 'exit 1'; expect 1 'throughput \| FAILED .*wrong answer: trial'
good; program test_apply_device 'echo "weights FAILED"' 'exit 1'; expect 1 'apply \| FAILED .*weights FAILED'
rm "$work/.gpu/bin/test_apply_device"
helps='[ "${*: -1}" != --help ] || exit 0'
good; program incontext-cuda "$helps" 'echo "incontext: there is not enough memory" >&2' 'exit 2'
expect 1 'out-of-memory \| passed' # exit 1 because it writes no tables
good; program incontext-cuda "$helps" 'exit 2'; expect 1 'out-of-memory \| FAILED'
rm "$work/.gpu/bin/incontext-cuda"
# tables NUMBER-ON-GPU: a program that writes a table with that number on a GPU and 1 elsewhere
tables() {
  # shellcheck disable=SC2016 # the program's own text
  program incontext-cuda "$helps" 'device=cpu; [[ " $* " != *" cuda "* ]] || device=cuda' \
    'for word; do [ "${last:-}" != --output ] || file=$word; last=$word; done' \
    "[ -z \"\${file:-}\" ] || echo \"{\\\"tables\\\": [\$([ \$device = cuda ] && echo $1 || echo 1)]}\" >\"\$file\"" 'exit 1'
}
good; tables 1; expect 1 '\| temperature \| passed' # exit 1 because of the other steps
good; tables 2; expect 1 'temperature \| FAILED .*the tables differ'
good; program incontext-cuda 'exit 2'; expect 1 'train-classification \| skipped: not in this program'
rm "$work/.gpu/bin/incontext-cuda"
good; program bench-gpu-throughput 'sleep 60'; INCONTEXT_GPU_SECONDS=5 expect 1 'throughput \| out of time after'
good; expect 0 passed
[ "$(ls "$work/out")" = $'gpu-check.md\ngpu-check.tgz' ] || { echo "FAILED: other files: $(ls "$work/out")"; exit 1; }
grep -q bits-waves.log <<<"$(tar -tzf "$work/out/gpu-check.tgz")" || { echo "FAILED: no log in the archive"; exit 1; }
good; PATH=/usr/bin:/bin expect 0 '\| racecheck(-bits)? \| (skipped: no compute-sanitizer|passed|FAILED)' tools
[ -f "$work/out/gpu-check-tools.tgz" ] || { echo "FAILED: no archive of the tools"; exit 1; }
mkdir "$work/tools"
for text in '==PROF== Profiling "trial"' '==WARNING== No kernels were profiled.'; do
  printf '%s\n' '#!/bin/bash' "echo '$text'" >"$work/tools/ncu" && chmod +x "$work/tools/ncu"
  verdict=passed
  [[ $text == *PROF* ]] || verdict='FAILED .*No kernels were profiled'
  good; PATH=$work/tools:/usr/bin:/bin expect 0 "ncu-literal \\| $verdict" tools
done
good; expect 2 'run or run tools' other
good; program gpu_probe 'echo "skipped: no GPU"' 'exit 77'; expect 1 '^no GPU: skipped: no GPU'
if [ -n "${1:-}" ]; then
  while read -r words; do
    code=0
    # shellcheck disable=SC2086 # the arguments are words
    "$1" $words --quiet --device openmp --output "$work/table.json" >/dev/null 2>"$work/errors" || code=$?
    case $code in
      0 | 1 | 3) ;;
      *) echo "FAILED: $words ends with exit code $code: $(cat "$work/errors")"; exit 1 ;;
    esac
  done < <(INCONTEXT_GPU_SHARE=1000 bash "$root/scripts/gpu-check" commands)
fi
echo "scripts/gpu-check refuses every fault and passes without one"
