#!/bin/bash
# Every header includes core/floating_point.hpp, directly or through others, so that no part of the library compiles with
# options that change the arithmetic it needs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

guard=include/incontext/core/floating_point.hpp
mapfile -t all < <(headers include cuda)
if [ ! -f "$guard" ]; then
  breach "$guard:1: the header that refuses such options does not exist"
else
  while read -r header; do
    breach "$header:1: does not include incontext/core/floating_point.hpp, directly or through others"
  done < <(
    awk -v guard=incontext/core/floating_point.hpp '
      { name = FILENAME; sub(/^[^\/]*\//, "", name); file[name] = FILENAME }
      /^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]incontext\// {
        target = $0
        gsub(/^[^"<]*["<]|[">].*$/, "", target)
        includers[target] = includers[target] " " name
      }
      END {
        reached[guard] = 1
        queue[1] = guard
        for (first = last = 1; first <= last; ++first) {
          count = split(includers[queue[first]], above, " ")
          for (i = 1; i <= count; ++i) if (!(above[i] in reached)) { reached[above[i]] = 1; queue[++last] = above[i] }
        }
        for (name in file) if (!(name in reached)) print file[name]
      }' "${all[@]}" | sort
  )
fi
verdict "every header includes core/floating_point.hpp"
