#!/bin/bash
# extract.sh ROOT FILE: writes the snippets of the headers as one source file. Every header that an umbrella header of
# simulate/ includes has one; that of distributed.hpp, which needs MPI, is a program of docs/scaling.md.
set -euo pipefail
cd "$1"
for header in $(sed -nE 's:^#include "(.*)":cuda/\1:p' cuda/incontext/simulate/*.hpp) cuda/incontext/simulate/engine/devices.hpp; do
  grep -qE '^///     [^ ].*;$' "$header" || { echo "$header:1: has no snippet in its blocks"; exit 1; }
done
find "$PWD/include" "$PWD/cuda" -name '*.hpp' -not -path '*/detail/*' -not -name distributed.hpp | sort |
  xargs awk -f tests/docs/snippets/extract.awk >"$2"
