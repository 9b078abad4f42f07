#!/bin/bash
# prints.sh PROGRAM FILE: the program ends with exit code 0 and prints what the file holds.
set -euo pipefail
printed=$("$1") || { echo "$1 ended with exit code $?"; exit 1; }
diff "$2" - <<<"$printed" || { echo "$1 prints something else than $2"; exit 1; }
