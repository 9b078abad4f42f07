#!/bin/bash
# Every public name of include/ and cuda/ carries a /// block; functions and classes say where they run; the block's
# lines keep their order. detail/ carries no promise and is left out.
rule="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/doc_blocks.awk"
source "${rule%/*}/lib.sh"

while read -r header; do
  while IFS= read -r hit; do breach "$hit"; done < <(awk -f "$rule" "$header")
done < <(headers include cuda | grep -v '/detail/')
verdict "public names are documented"
