#!/bin/bash
# The programs that README and the pages of docs/ quote are compiled and run by the tests, word for word: README's first
# program is a consumer project's, docs/torch.md's is another's, and every program of tests/docs/ and of
# examples/first_steps/ and what it prints is quoted by a page. Each room has a first program, of 15 to 30 lines.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

block=$(awk '/^```cpp$/ { inside = 1; next } /^```$/ && inside { exit } inside' README.md)
program=$(tail -n +2 tests/consume/simulate.cpp)
[ -n "$block" ] || breach "README.md: no \`\`\`cpp block"
if [ "$block" != "$program" ]; then
  breach "README.md: its first program is not tests/consume/simulate.cpp"
  diff <(echo "$block") <(echo "$program") || true
fi

# quoted BLOCK PAGES...: whether one of the pages has the block
quoted() {
  local block=$1 page
  shift
  for page in "$@"; do
    [[ $(<"$page") != *"$block"* ]] || return 0
  done
  return 1
}
program=$(tail -n +2 tests/consume/torch.cpp)
quoted $'```cpp\n'"$program"$'\n```' docs/torch.md || breach "docs/torch.md: tests/consume/torch.cpp is not in it"
mapfile -t pages < <(find docs -name '*.md' 2>/dev/null | sort)
while read -r source; do
  program=$(tail -n +2 "$source")
  printed=$(<"${source%.cpp}.txt")
  quoted $'```cpp\n'"$program"$'\n```' "${pages[@]}" || breach "$source: no page of docs/ quotes it"
  quoted $'```\n'"$printed"$'\n```' "${pages[@]}" || breach "${source%.cpp}.txt: no page of docs/ quotes it"
done < <(find tests/docs examples/first_steps -name '*.cpp' 2>/dev/null | sort)

for folder in include/incontext/*/ cuda/incontext/*/; do
  first=examples/first_steps/$(basename "$folder").cpp
  [[ $folder != */adapters/ ]] || continue  # docs/torch.md has its program
  if [ ! -f "$first" ]; then
    breach "$first:1: $folder has no first program"
    continue
  fi
  lines=$(wc -l <"$first")
  [[ $lines -ge 15 && $lines -le 30 ]] || breach "$first:$lines: not of 15 to 30 lines"
done
verdict "programs in README and docs/ compile and run"
