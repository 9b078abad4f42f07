#!/bin/bash
# The first session on a GPU, rehearsed: scripts/gpu-check packs the programs whose kernels the emulator runs in the
# place of the real ones, and runs them in a root that has a C library, a shell, its tools and Python, and none of our
# packages. Every step must pass, or be skipped because PyTorch or JAX is not there, and the result is one archive.
#   rehearsal.sh FOLDER PROBE BITS [ROOT]
# FOLDER has the programs emulated-..., PROBE and BITS are gpu_probe with the emulator and incontext-bits. ROOT is such
# a root, for example of debootstrap; without one it is made of this machine's tools. Exits with 77 where no root can
# be changed.
set -euo pipefail
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unshare=(unshare --mount)
[ "$(id -u)" -eq 0 ] || unshare+=(--map-root-user)
"${unshare[@]}" true 2>/dev/null || { echo "skipped: this machine does not let a program change its root"; exit 77; }

# What git knows of the project and what `run` needs, and .gpu, which it is told to carry.
mkdir -p "$work/session/.gpu/bin"
cp -r "$project/scripts" "$work/session/"
mkdir -p "$work/session/tests/simulate" "$work/session/bench"
cp "$project/tests/simulate/bits.txt" "$work/session/tests/simulate/"
cp -r "$project/bench/gpu" "$work/session/bench/"
bin=$work/session/.gpu/bin
cp "$2" "$bin/gpu_probe"
cp "$3" "$bin/incontext-bits"
cp "$1/emulated-bits" "$bin/incontext-bits-cuda"
cp "$1/emulated-apply" "$bin/test_apply_device"
cp "$1/emulated-scoring-maps" "$bin/test_scoring_device"
cp "$1/emulated-incontext" "$bin/incontext-cuda"
[ ! -f "$1/emulated-throughput" ] || cp "$1/emulated-throughput" "$bin/bench-gpu-throughput"
git -C "$work/session" init -q
git -C "$work/session" -c user.name=rehearsal -c user.email=none commit -q --allow-empty -m rehearsal
# kernels in C are larger than a GPU's
INCONTEXT_GPU_MIB=1000 bash "$work/session/scripts/gpu-check" gather

# A root of this machine's tools, with the libraries that they need.
if [ -n "${4:-}" ]; then
  cp -a "$4" "$work/root"
else
  mkdir -p "$work/root"/{tmp,usr/bin}
  ln -s usr/bin "$work/root/bin"
  ln -s bash "$work/root/bin/sh"
  python=$(python3 -c 'import sys; print(sys.executable)')
  home=$(python3 -c 'import sys; print(sys.base_prefix)')
  library=$(python3 -c 'import os; print(os.path.dirname(os.__file__))')
  tools=(bash cat cp cut date diff dirname du env grep gzip head ldd ls mkdir mktemp rm sed seq sleep sort tac tail
    tar tee timeout tr true uname wc)
  for tool in "${tools[@]}"; do cp -L "$(type -P "$tool")" "$work/root/usr/bin/"; done
  cp -L "$(type -P awk)" "$work/root/usr/bin/awk"
  mkdir -p "$work/root$home/bin" "$work/root$library"
  cp -L "$python" "$work/root$home/bin/python3"
  tar -C "$library" --exclude=site-packages --exclude=dist-packages --exclude=test --exclude='config-*' -cf - . |
    tar -C "$work/root$library" -xf -
  [ "$home/bin" = /usr/bin ] || ln -s "$home/bin/python3" "$work/root/usr/bin/python3"
  { ldd "$work/root"/usr/bin/* "$work/root$home/bin/python3" 2>/dev/null || true; } |
    awk '/=> \// { print $3 } /^\t\/lib/ { print $1 }' | sort -u | xargs cp -L --parents -t "$work/root"
fi
mkdir -p "$work/root"/{session,dev,proc,tmp}
cp -a "$work/session/." "$work/root/session/"
rm -rf "$work/session"

# in_root COMMAND...: runs it there, with an empty environment
in_root() {
  # shellcheck disable=SC2016 # the inner shell's
  "${unshare[@]}" bash -c 'root=$1
    mount --rbind /dev "$root/dev" && mount --rbind /proc "$root/proc" || exit 77
    shift
    exec env -i PATH=/usr/bin:/bin HOME=/tmp LC_ALL=C "$(command -v chroot)" "$root" "$@"' _ "$work/root" "$@"
}
in_root bash -c true || { echo "skipped: no root of its own"; exit 77; }
code=0 from=$SECONDS
in_root env INCONTEXT_GPU_SHARE=1000 bash /session/scripts/gpu-check run || code=$?
out=$work/root/session/.gpu/out
failed=0
[ -f "$out/gpu-check.md" ] || { echo "FAILED: no table"; exit 1; }
# expect DESCRIPTION COMMAND...
expect() { "${@:2}" || { echo "FAILED: $1"; failed=1; }; }
expect "the run ends with exit code $code" [ $code -eq 0 ]
expect "it took $((SECONDS - from)) s, more than nine minutes" [ $((SECONDS - from)) -lt 540 ]
expect "other files than a table and an archive" [ "$(ls "$out")" = $'gpu-check.md\ngpu-check.tgz' ]
others=$(grep -E '^\| [^|]+ \| [^|]+ \| [0-9]+ \|$' "$out/gpu-check.md" |
  grep -vE '\| (passed|skipped: no (PyTorch|JAX) with CUDA) \|' || true)
expect "steps that are not green: $others" [ -z "$others" ]
for step in libraries bits-record bits-trials bits-waves apply maps temperature train-regression interrupt no-gpu \
  out-of-memory; do
  expect "step $step is not in the table" grep -q "^| $step | passed" "$out/gpu-check.md"
done
logs=$(tar -tzf "$out/gpu-check.tgz")
expect "no log of the bits in the archive" grep -q bits-record.log <<<"$logs"
# power: the same run notices a wrong bit
sed -i '5s/0x1\./0x1.8/' "$work/root/session/tests/simulate/bits.txt"
code=0
text=$(in_root env INCONTEXT_GPU_SHARE=1000 bash /session/scripts/gpu-check run) || code=$?
expect "a wrong bit is not noticed" [ $code -eq 1 ]
expect "a wrong bit does not end the checks" grep -q 'all that follows | skipped' <<<"$text"
# and without the packed libraries nothing starts
rm -r "$work/root/session/.gpu/lib"
code=0
in_root bash /session/scripts/gpu-check run >"$work/without" 2>&1 || code=$?
expect "the programs find our libraries elsewhere" \
  grep -qE 'libraries \| FAILED|error while loading shared libraries' "$work/without"
[ $failed -ne 0 ] || echo "the session passes"
exit $failed
