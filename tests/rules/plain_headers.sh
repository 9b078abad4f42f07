#!/bin/bash
# core/, scoring/ and random/ are plain data and <cmath>: no Eigen, Boost, Thrust, no exceptions outside of contracts,
# in words as well as in includes. A const object is safe to share between threads: no header has a mutable member
# or a const_cast. All headers have #pragma once and no line over 120 characters or header over 250 lines.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while read -r header; do
  while IFS= read -r hit; do breach "$header:$hit: not in a room that runs on the device"; done < <(
    sed -E 's://.*$::' "$header" |
      grep -nE '\b(Eigen|boost|thrust)(::|/)|\bstd::(vector|string|map|function|shared_ptr|unique_ptr)\b' |
      { [[ $header == */core/contracts.hpp ]] && grep -v 'std::string' || cat; } || true
  )
  [[ $header == */core/contracts.hpp ]] ||
    while IFS= read -r hit; do breach "$header:$hit: an exception on the device side"; done < <(
      sed -E 's://.*$::' "$header" | grep -nE '\b(throw|try|catch)\b' || true
    )
done < <(headers include/incontext/core include/incontext/scoring include/incontext/random)

while read -r header; do
  while IFS= read -r hit; do breach "$header:$hit: a const object that is not safe to share between threads"; done < <(
    sed -E 's://.*$::' "$header" | grep -nE '\b(mutable|const_cast)\b' || true
  )
  grep -qx '#pragma once' "$header" || breach "$header:1: no #pragma once"
  lines=$(wc -l <"$header")
  [ "$lines" -le 250 ] || breach "$header:$lines: over 250 lines; split it"
  while IFS=: read -r line _; do breach "$header:$line: over 120 characters"; done < <(
    grep -nE '^.{121,}' "$header" || true
  )
done < <(headers include cuda)
verdict "device rooms hold plain data; headers are guarded and short"
