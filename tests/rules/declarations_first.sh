#!/bin/bash
# A public header says first what it offers; helpers follow, or are in detail/. A block of namespace detail of more than
# 20 lines must not stand before the first documented name of a header, and one of more than 60 lines before no
# documented name. (A function whose helpers stay in its header is declared with its doc block first, and defined after
# them.)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while read -r header; do
  while IFS= read -r hit; do breach "$header:$hit"; done < <(
    awk '
      /^namespace (incontext::[a-z:]+::)?detail(::[a-z_]+)? \{/ { opened = FNR; next }
      opened {
        # the comment that clang-format puts behind the end of a namespace
        if ($0 ~ /^}  \/\/ namespace .*detail/) {
          blocks++
          at[blocks] = opened
          lines[blocks] = FNR - opened - 1
          most[blocks] = documented ? 60 : 20
          opened = 0
        }
        next
      }
      /^\/\/\/ / { doc = 1; next }
      /^\/\/\/$/ { next }
      doc && !/^namespace / { documented = FNR }
      { doc = 0 }
      END {
        if (opened) print opened ": the rule did not find the end of this namespace"
        for (i = 1; i <= blocks; i++)
          if (at[i] < documented && most[i] < lines[i])
            print at[i] ": " lines[i] " lines of helpers before a documented name: move them behind it, or to detail/"
      }' "$header"
  )
done < <(headers include cuda | grep -vE '/(detail|engine)/')
verdict "declarations come first"
