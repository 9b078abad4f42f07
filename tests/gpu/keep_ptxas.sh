#!/usr/bin/env bash
# Runs a compiler, and keeps in a file what ptxas says of the kernels, without showing it.
#   keep_ptxas.sh FILE COMMAND...
set -uo pipefail
code=0
"${@:2}" 2>"$1.new" || code=$?
grep -vE '^ptxas info|bytes stack frame|^$' "$1.new" >&2
if [ $code -eq 0 ] && grep -q '^ptxas info' "$1.new"; then mv "$1.new" "$1"; else rm "$1.new"; fi
exit $code
