#!/bin/bash
# Compiles the C of translate.py: compile.sh OBJECT FILE.c...
# Each file becomes an object beside it, FILE.c.o, and all together one relocatable object. No product and sum are
# contracted. INCONTEXT_JOBS compilers run at a time, as many as there are processors if it is not set.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
object=$1
shift
printf '%s\0' "$@" | xargs -0 -P "${INCONTEXT_JOBS:-$(nproc)}" -I '{}' \
  gcc -O1 -w -march=native -ffp-contract=off -fno-math-errno -I"$here" -c '{}' -o '{}.o'
ld -r "${@/%/.o}" -o "$object"
