#!/bin/bash
# Every room has an umbrella header, incontext/ROOM.hpp, that includes each of the room's own headers and nothing else;
# headers in its detail/ are reached through those. In simulate/, each folder of a model has one, by which every header
# of the folder is reached, and simulate.hpp includes these.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for folder in include/incontext/*/ cuda/incontext/*/; do
  room=${folder%/}
  umbrella=$room.hpp
  room=${room##*/}
  [ -d "$folder" ] || continue
  if [ ! -f "$umbrella" ]; then
    breach "$umbrella:1: the umbrella header of $room does not exist"
    continue
  fi
  while read -r hit; do breach "$umbrella:1: $hit"; done < <(
    diff <(find "$folder" -maxdepth 1 -name '*.hpp' ! -path "$umbrella" | sed 's:^[a-z]*/::' | LC_ALL=C sort) \
      <(sed -nE 's/^#include "(.*)"$/\1/p' "$umbrella" | grep -v '^incontext/simulate/engine/' | LC_ALL=C sort) |
      sed -nE 's/^< /does not include /p; s/^> /includes what is no header of the room: /p'
  )
done
for folder in cuda/incontext/simulate/*/; do
  folder=${folder%/}
  [ "${folder##*/}" != engine ] && [ -d "$folder" ] || continue
  [ -f "$folder.hpp" ] || { breach "$folder.hpp:1: the umbrella header of ${folder##*/} does not exist"; continue; }
  reached=$folder.hpp
  while :; do
    more=$({ printf '%s\n' $reached; sed -nE "s:^#include \"(${folder#cuda/}/[^\"]*)\":cuda/\1:p" $reached; } | sort -u)
    [ "$more" != "$reached" ] || break
    reached=$more
  done
  while read -r header; do breach "$folder.hpp:1: does not reach $header"; done < <(
    headers "$folder" | grep -vxF -f <(printf '%s\n' $reached) || true
  )
done
for umbrella in include/incontext/*.hpp cuda/incontext/*.hpp; do
  [ -d "${umbrella%.hpp}" ] || breach "$umbrella:1: no room has this name"
done
verdict "umbrella headers are complete"
