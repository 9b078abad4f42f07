# Sourced by the rules. A rule prints "file:line: what is wrong" for every breach and exits 1 if there was one.
set -euo pipefail
root=${1:?usage: rule ROOT}
cd "$root"
breaches=0
breach() {
  printf '%s\n' "$*"
  breaches=$((breaches + 1))
}
verdict() {
  if [ "$breaches" -gt 0 ]; then
    echo "$breaches breaches of the rule: $*"
    exit 1
  fi
}
headers() { find "$@" -name '*.hpp' 2>/dev/null | sort; }
