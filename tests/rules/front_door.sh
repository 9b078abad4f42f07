#!/bin/bash
# What README.md tells a user to type is what .ci/run runs: its two commands come first there, in the same order, as they
# are typed, with nothing built before them. Both have their set-up from scripts/setup.sh, and docs/install.md has them, too.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

typed=$(awk '/^## Two commands/ { part = 1; next } /^## / { part = 0 }
             part && /^```sh/ { code = 1; next } /^```/ { if (code) exit }
             code { sub(/ *#.*/, ""); if (NF) print }' README.md)
[ "$typed" = $'scripts/verify\nscripts/test' ] || breach "README.md: its two commands are not scripts/verify and scripts/test, but: $typed"
ran=$(grep -vE '^(#.*|set .*|cd .*|)$' .ci/run | head -n 2)
[ "$ran" = "$typed" ] || breach ".ci/run: begins with other commands than README.md's: $ran"
grep -q '^set -euo pipefail$' .ci/run || breach ".ci/run: goes on after a command that fails"
[ -x .ci/run ] || breach ".ci/run: cannot be run"
for command in scripts/verify scripts/test; do
  [ -x "$command" ] || { breach "$command: cannot be run"; continue; }
  bash -n "$command" || breach "$command: is no script"
  grep -q '^source scripts/setup.sh$' "$command" || breach "$command: has a set-up of its own"
  grep -qE "^$command( *#|\$)" docs/install.md || breach "docs/install.md: has no line $command"
done
verdict "README.md's commands are those that are checked"
