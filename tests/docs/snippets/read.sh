#!/bin/bash
# read.sh COMPILER... -o OBJECT ...: has the compiler read a source, and leaves an empty object for what it would make of
# it, which takes three times as long and is never run.
set -euo pipefail
"$@" -fsyntax-only
while [ "$1" != -o ]; do shift; done
touch "$2"
