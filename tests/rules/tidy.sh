#!/bin/bash
# tidy.sh ROOT CLANG_TIDY WORK INCLUDE_FOLDER... [-- SOURCE...]: clang-tidy (.clang-tidy) finds nothing in the rooms of
# closed forms, read by one unit that includes every umbrella header, nor in the sources named.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
tidy=$2
work=$3
shift 3
flags=(-std=c++20 -Iinclude -Icuda -I.)
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  flags+=("-isystem$1")
  shift
done
mkdir -p "$work"
(cd include && printf '#include "%s"\n' incontext/*.hpp) >"$work/every_room.cpp"
printf '%s\0' "$work/every_room.cpp" "${@:2}" |
  xargs -0 -P 2 -I{} "$tidy" --quiet --config-file=.clang-tidy {} -- "${flags[@]}" >"$work/found.txt" 2>"$work/tidy.log" ||
  breach "clang-tidy failed: $(grep -v 'warnings generated' "$work/tidy.log" | head -3)"
while IFS= read -r hit; do breach "${hit#"$PWD"/}"; done < <(grep -E ': (warning|error): ' "$work/found.txt" | sort -u)
verdict "clang-tidy finds nothing"
