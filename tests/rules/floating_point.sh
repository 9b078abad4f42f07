#!/bin/bash
# Two headers reach everyone they concern, directly or through others: core/floating_point.hpp every header, so that no
# part of the library compiles with options that change the arithmetic it needs, and numerics/linear_algebra.hpp every
# header with Eigen, which has one thread by it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mapfile -t all < <(headers include cuda)

# without GUARD: the headers that do not include it
without() {
  awk -v guard="$1" '
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
}

for guard in core/floating_point.hpp numerics/linear_algebra.hpp; do
  [ -f "include/incontext/$guard" ] || breach "include/incontext/$guard:1: the header does not exist"
done
while read -r header; do
  breach "$header:1: does not include incontext/core/floating_point.hpp, directly or through others"
done < <(without incontext/core/floating_point.hpp)
while read -r header; do
  breach "$header:1: includes Eigen without incontext/numerics/linear_algebra.hpp, directly or through others"
done < <(without incontext/numerics/linear_algebra.hpp | xargs grep -l '^#include <Eigen/' || true)
verdict "every header includes core/floating_point.hpp, and with Eigen numerics/linear_algebra.hpp"
