#!/bin/bash
# README's programs are consumer projects', word for word, and so compile and run.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

block=$(awk '/^```cpp$/ { inside = 1; next } /^```$/ && inside { exit } inside' README.md)
program=$(tail -n +2 tests/consume/simulate.cpp)
[ -n "$block" ] || breach "README.md: no \`\`\`cpp block"
if [ "$block" != "$program" ]; then
  breach "README.md: its first program is not tests/consume/simulate.cpp"
  diff <(echo "$block") <(echo "$program") || true
fi
program=$(tail -n +2 tests/consume/torch.cpp)
[[ $(<README.md) == *$'```cpp\n'"$program"$'\n```'* ]] || breach "README.md: tests/consume/torch.cpp is not in it"
verdict "README's programs compile and run"
