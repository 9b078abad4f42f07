#!/bin/bash
# reference.sh ROOT DOXYGEN DOXYFILE: the API reference has a description of every public name at namespace scope and of
# every type, and Doxygen understands every description: each formula closes, each command and each link is known.
# Members of types, and guides for the deduction of their parameters, need no description of their own.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
doxygen=$2
doxyfile=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
  cat "$doxyfile"
  printf '%s\n' "OUTPUT_DIRECTORY = $work" "WARN_LOGFILE = $work/warnings.txt" 'HTML_OUTPUT = html' 'HTML_HEADER =' 'HTML_FOOTER =' \
    'GENERATE_TAGFILE ='
} >"$work/Doxyfile"
"$doxygen" "$work/Doxyfile"
for group in core random numerics statistics scoring maps laws regression classification baselines training apply \
  simulate_{regression,classification,rows,gradients,engine}; do
  grep -q 'class="memitem' "$work/html/group__${group//_/__}.html" || breach "the reference of $group is empty"
done
while IFS= read -r hit; do breach "${hit#"$PWD"/}"; done < <(
  grep -vE 'of (class|struct) .* is not documented|[(][^()]*[)] -> .* is not documented' "$work/warnings.txt" | sort -u)
verdict "the API reference describes every public name"
