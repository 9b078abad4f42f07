#!/bin/bash
# What is in a system's Memory comes home by copy_home, in one copy: the iterators of a GPU's memory copy one element at
# a time, which takes ten microseconds each. So no header uses the iterators of a Memory that it declares.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while read -r header; do
  while read -r name; do
    while IFS=: read -r line _; do
      breach "$header:$line: the iterators of $name, which is a system's Memory, copy one element at a time: use copy_home"
    done < <(grep -nE "(^|[^.[:alnum:]_])$name\.c?(begin|end)\(" "$header" || true)
  done < <(grep -oE '\bMemory(<[^;=(]*>)?&? +[a-z_0-9]+[^;=(]*[;(]' "$header" |
    sed -E 's/^Memory(<.*>)?&? +//; s/[;(]//; s/,/\n/g' | tr -d ' {}' | sort -u)
done < <(headers cuda)
verdict "results come home in one copy"
