#!/bin/bash
# README has at most 130 lines. Every relative link of README and of the pages of docs/ leads to a file or folder of the
# tree and, after a #, to a heading of that page. Every page of docs/ can be reached from docs/index.md. The `spec` of
# every case of the reference values leads to a section of docs/theory/.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

lines=$(wc -l <README.md)
[ "$lines" -le 130 ] || breach "README.md:$lines: over 130 lines; move the rest to a page of docs/"

declare -a links=()
declare -A reached=([docs/index.md]=1)
waiting=(docs/index.md)
[ -f docs/index.md ] || breach "docs/index.md:1: does not exist"
while read -r page; do
  while IFS=: read -r line link; do
    target=${link%%#*}
    anchor=${link#"$target"}
    file=$page
    [ -z "$target" ] || file=$(realpath -m --relative-to=. "$(dirname "$page")/$target")
    if [ ! -e "$file" ]; then
      breach "$page:$line: a dead link: $link"
    elif [[ $anchor == '#'* && $file == *.md ]] && ! grep -qxF -- "${anchor#\#}" <(anchors "$file"); then
      breach "$page:$line: no such heading: $link"
    fi
    [ "$page" = README.md ] || links[$((${#links[@]}))]="$page $file"
  done < <(awk '/^```/ { code = !code; next } !code { print FNR ":" $0 }' "$page" |
    grep -oE '^[0-9]+:|\]\([^) ]+\)' |
    awk '/^[0-9]+:$/ { line = $0; next } { sub(/^\]\(/, ""); sub(/\)$/, ""); print line $0 }' |
    grep -vE '^[0-9]+:(https?|mailto):' || true)
done < <(echo README.md; find docs -name '*.md' 2>/dev/null | sort)

while [ ${#waiting[@]} -gt 0 ]; do
  page=${waiting[0]}
  waiting=("${waiting[@]:1}")
  for link in "${links[@]:-}"; do
    [ "${link%% *}" = "$page" ] || continue
    file=${link#* }
    if [[ $file == docs/*.md && -z ${reached[$file]:-} ]]; then
      reached[$file]=1
      waiting+=("$file")
    fi
  done
done
while read -r page; do
  [ -n "${reached[$page]:-}" ] || breach "$page:1: cannot be reached from docs/index.md"
done < <(find docs -name '*.md' 2>/dev/null | sort)
# A field of a case is indented by three blanks, which an output of the same name is not.
for file in tests/oracles/*.json; do
  [ -f "$file" ] || continue
  [ "$(grep -c '^   "kind":' "$file")" -eq "$(grep -c '^   "spec":' "$file")" ] || breach "$file:1: a case without a spec"
  while IFS=: read -r line link; do
    page=${link%%#*}
    if [[ $page != docs/theory/*.md || $link != *'#'?* || ! -f $page ]]; then
      breach "$file:$line: no section of docs/theory/: $link"
    elif ! grep -qxF -- "${link#*#}" <(anchors "$page"); then
      breach "$file:$line: no such heading: $link"
    fi
  done < <(grep -nE '^   "spec":' "$file" | sed -E 's/^([0-9]+):.*"spec": *"([^"]*)".*/\1:\2/' | sort -t: -u -k2)
done
verdict "README is short, links lead somewhere, pages can be reached"
