#!/bin/bash
# generate.sh SCRIPT KINDS FILE: computes some kinds of reference values anew with tests/oracles/generate/SCRIPT and
# compares them with tests/oracles/FILE; then plants a wrong digit in a copy of the file, which must be noticed. Exit code
# 77 (skipped) where Python or mpmath is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=$1 kinds=$2 file=$3
python3 -c 'import mpmath, numpy' 2>/dev/null || { echo "skipped: python3 with mpmath and numpy is missing"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
python3 "$here/generate/$script" --kinds "$kinds"

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
kind=${kinds%%,*}
# The 8th digit of the first number that has one, in the "out" of the kind's first case that has such a number.
awk -v kind="\"kind\": \"$kind\"" 'index($0, kind) && !done {
    out = index($0, "\"out\"")
    if (match(substr($0, out), /[0-9]\.[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]/)) {
      at = out + RSTART + 7
      $0 = substr($0, 1, at - 1) (substr($0, at, 1) + 1) % 10 substr($0, at + 1)
      done = 1
    }
  } { print }' "$here/$file" >"$copy/$file"
if cmp -s "$here/$file" "$copy/$file"; then
  echo "FAILED: no digit was planted"
  exit 1
fi
if planted=$(python3 "$here/generate/$script" --kinds "$kind" --oracles "$copy"); then
  echo "FAILED: a planted digit was not noticed:"
  echo "$planted"
  exit 1
fi
grep -q '^DIFFERS' <<<"$planted"
