#!/usr/bin/env bash
# The shell completes the command line: each subcommand and task, each long option that its help shows, and the words that
# an option takes.
#   tests/examples/completion.sh PROGRAM
set -euo pipefail
program=$1
eval "$("$program" completion bash)"
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# offered WORD...: what the shell offers for the last word
offered() {
  COMP_WORDS=(incontext "$@") COMP_CWORD=$#
  COMPREPLY=()
  _incontext
  printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
}
has() { grep -qxF -- "$1" <<<"$2"; }

[ "$(complete -p incontext)" = "complete -o default -F _incontext incontext" ] || fail "no completion of incontext"
count=0
while read -r first task; do
  has "$first" "$(offered '')" || fail "$first is not offered"
  [ -z "$task" ] || has "$task" "$(offered "$first" '')" || fail "$first $task is not offered"
  words=("$first" ${task:+"$task"})
  all=$(offered "${words[@]}" '')
  while read -r option; do
    has "$option" "$all" || fail "${words[*]} $option is not offered"
    count=$((count + 1))
  done < <("$program" "${words[@]}" --help | grep -oE '^  (-h,)?--[a-z-]+' | grep -oE -- '--[a-z-]+')
done < <("$program" --list)
[ "$count" -gt 300 ] || fail "only $count options"

[ "$(offered temperature --fo)" = --format ] || fail "--fo: $(offered temperature --fo)"
[ "$(offered temperature --format '' | paste -sd' ')" = "table csv json" ] || fail "the words of --format"
[ "$(offered temperature --format = j)" = json ] || fail "the words of --format=j"
[ "$(offered train needle --device ser)" = serial ] || fail "the words of a task's option"
[ -z "$(offered temperature --output '')" ] || fail "the words of --output, which takes a file"
[ "$(offered completion '' | head -2 | paste -sd' ')" = "bash zsh" ] || fail "the shells"
[ -z "$(offered none '')" ] || fail "the options of no subcommand"
if command -v zsh >/dev/null; then
  "$program" completion zsh >"${TMPDIR:-/tmp}/_incontext.$$"
  zsh -fc 'autoload -U compinit && compinit -u -D; source "$1" && [[ -n ${_comps[incontext]} ]]' zsh "${TMPDIR:-/tmp}/_incontext.$$" ||
    fail "zsh takes no completion"
  rm "${TMPDIR:-/tmp}/_incontext.$$"
else
  echo "skipped: no zsh"
fi
[ $failed = 0 ] && echo "$count options are offered"
