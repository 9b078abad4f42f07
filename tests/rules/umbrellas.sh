#!/bin/bash
# Every room has an umbrella header, incontext/ROOM.hpp, that includes each of the room's own headers and nothing else;
# headers in the room's folders (detail/, engine/, trials/) are reached through those. LibTorch's users include the one
# adapter there is, and users of MPI simulate/distributed.hpp.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for folder in include/incontext/*/ cuda/incontext/*/; do
  room=${folder%/}
  umbrella=$room.hpp
  room=${room##*/}
  [ "$room" = adapters ] && continue
  [ -d "$folder" ] || continue
  if [ ! -f "$umbrella" ]; then
    breach "$umbrella:1: the umbrella header of $room does not exist"
    continue
  fi
  while read -r hit; do breach "$umbrella:1: $hit"; done < <(
    diff <(find "$folder" -maxdepth 1 -name '*.hpp' ! -name distributed.hpp | sed 's:^[a-z]*/::' | LC_ALL=C sort) \
      <(sed -nE 's/^#include "(.*)"$/\1/p' "$umbrella" | LC_ALL=C sort) |
      sed -nE 's/^< /does not include /p; s/^> /includes what is no header of the room: /p'
  )
done
for umbrella in include/incontext/*.hpp cuda/incontext/*.hpp; do
  [ -d "${umbrella%.hpp}" ] || breach "$umbrella:1: no room has this name"
done
verdict "umbrella headers are complete"
