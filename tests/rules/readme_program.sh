#!/bin/bash
# README's first program is a consumer project's, word for word, and so compiles and runs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

block=$(awk '/^```cpp$/ { inside = 1; next } /^```$/ && inside { exit } inside' README.md)
program=$(tail -n +2 tests/consume/simulate.cpp)
[ -n "$block" ] || breach "README.md: no \`\`\`cpp block"
if [ "$block" != "$program" ]; then
  breach "README.md: its first program is not tests/consume/simulate.cpp"
  diff <(echo "$block") <(echo "$program") || true
fi
verdict "README's first program compiles and runs"
