#!/bin/bash
# Every public name of include/ and cuda/ carries a /// block; functions and classes say where they run; the block's
# lines keep their order; no line or formula is torn. A test or a section of docs/ that a block names is there, what is
# derived links its section, Accuracy names its test or its reason, and a real number has Units. detail/ carries no
# promise and is left out.
rule="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/doc_blocks.awk"
source "${rule%/*}/lib.sh"

# What a block may name: files, folders, and the sections of pages as forges spell them.
known=$(mktemp)
trap 'rm -f "$known"' EXIT
{
  find tests docs 2>/dev/null || true
  find docs -name '*.md' 2>/dev/null | while read -r page; do anchors "$page" | sed "s|^|$page#|"; done
} >"$known"
mapfile -t all < <(headers include cuda | grep -v '/detail/')
for header in "${all[@]}"; do
  while IFS= read -r hit; do breach "$hit"; done < <(awk -v known="$known" -f "$rule" "$header")
done
verdict "public names are documented"
