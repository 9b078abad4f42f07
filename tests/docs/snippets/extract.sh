#!/bin/bash
# extract.sh ROOT FILE: writes the snippets of the headers as one source file. Every header of simulate/ that a user
# includes has one; that of distributed.hpp, which needs MPI, is a program of docs/scaling.md.
set -euo pipefail
cd "$1"
for header in cuda/incontext/simulate/*.hpp; do
  case ${header##*/} in run.hpp | distributed.hpp) continue ;; esac  # engine/run.hpp has it
  grep -qE '^///     [^ ].*;$' "$header" || { echo "$header:1: has no snippet in its blocks"; exit 1; }
done
find "$PWD/include" "$PWD/cuda" -name '*.hpp' -not -path '*/detail/*' -not -name distributed.hpp | sort |
  xargs awk -f tests/docs/snippets/extract.awk >"$2"
