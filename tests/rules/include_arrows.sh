#!/bin/bash
# The only includes between rooms are the arrows below; outside libraries likewise. A room not named here is a breach.
# detail/ is closed: no room includes the detail/ of another one, or names what is in its namespace detail. (Names
# of simulate::detail are free: simulate/engine/, which apply runs on too, puts them there.)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

declare -A rooms=(
  [core]=""
  [random]="core"
  [scoring]="core"
  [statistics]="core"
  [numerics]="core"
  [maps]="core scoring"
  [laws]="core numerics scoring maps"
  [regression]="core numerics scoring maps laws"
  [classification]="core numerics random scoring maps laws"
  [baselines]="core numerics random laws"
  [training]="core numerics scoring maps statistics laws regression classification"
  [calibration]="core numerics scoring maps statistics laws regression"
  [simulate]="core numerics random scoring maps laws regression classification baselines training statistics"
  [apply]="core scoring maps simulate"
  [sampled]="core numerics random scoring maps regression classification training statistics simulate"  # cuda/incontext/training/
  [adapters]="core scoring"
)
declare -A outside=(
  [core]=""
  [random]="Random123 immintrin"
  [scoring]=""
  [statistics]="boost"
  [numerics]="boost Eigen"
  [maps]=""
  [laws]="boost"
  [regression]="boost Eigen"
  [classification]="boost Eigen"
  [baselines]="boost Eigen"
  [training]="boost Eigen"
  [calibration]="boost Eigen"
  [simulate]="boost Eigen thrust Random123 cuda cuda_runtime_api omp tbb"
  [apply]=""
  [sampled]="Eigen"
  [adapters]="torch ATen c10"
)

# What of the standard library allocates or throws.
host_only="deque exception functional list map memory optional set stdexcept string unordered_map vector"
# of simulate/: what a program includes in every file
plain='incontext/simulate/([a-z]+/[a-z_]+_types\.hpp|engine/records/)'

while read -r header; do
  room=${header#*incontext/}
  room=${room%%/*}
  # umbrella headers; umbrellas.sh says what they include
  [[ $header =~ ^(include|cuda)/incontext/[a-z]+\.hpp$ ]] && continue
  [[ $header != cuda/incontext/training/* ]] || room=sampled
  case $header in
    include/incontext/*/* | cuda/incontext/simulate/* | cuda/incontext/apply/* | cuda/incontext/training/*) ;;
    *) breach "$header:1: a header outside of every room"; continue ;;
  esac
  if [ -z "${rooms[$room]+named}" ] || { [[ $room =~ ^(simulate|apply|sampled)$ ]] && [[ $header == include/* ]]; }; then
    breach "$header:1: room '$room' is not known to the rule"
    continue
  fi
  while IFS=: read -r line text; do
    target=$(sed -E 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]([^">]*)[">].*/\1/' <<<"$text")
    case $target in
      incontext/simulate/*)
        # within the room: each model stands on the engine and on no other model, and what has no Thrust on its like
        part=${header#cuda/incontext/simulate/}
        case $header in
          *_types.hpp | */engine/records/*)
            [[ $target =~ $plain ]] || breach "$header:$line: a header without Thrust must not include $target" ;;
        esac
        [ "$room" != simulate ] || case $part in
          engine/*) [[ $target == */engine/* ]] || breach "$header:$line: engine/ must not include $target" ;;
          */*) [[ $target =~ /simulate/(engine|${part%%/*})/ ]] ||
            breach "$header:$line: ${part%%/*}/ must not include $target" ;;
        esac
        [ "$room" = simulate ] || [[ $target != */detail/* ]] ||
          breach "$header:$line: $room must not include the detail/ of simulate ($target)"
        [ "$room" = simulate ] || [[ " ${rooms[$room]} " == *" simulate "* ]] ||
          breach "$header:$line: $room must not include simulate ($target)"
        ;;
      incontext/*)
        to=${target#incontext/}
        to=${to%%/*}
        to=${to%.hpp}
        [[ $to != training || ! -f cuda/$target ]] || to=sampled
        [ "$to" = "$room" ] || [[ $target != */detail/* ]] ||
          breach "$header:$line: $room must not include the detail/ of $to ($target)"
        [ "$to" = "$room" ] || [[ " ${rooms[$room]} " == *" $to "* ]] ||
          breach "$header:$line: $room must not include $to ($target)"
        ;;
      */* | *.h | *.hpp)
        to=${target%%/*}
        to=${to%.h}
        [[ $header == */simulate/engine/distributed.hpp && $to == mpi ]] && continue
        [[ $header == */simulate/engine/own_processors.hpp && $to == sched ]] && continue
        [[ " ${outside[$room]} " == *" $to "* ]] || breach "$header:$line: $room must not include $target"
        ;;
      *)
        # the standard library; an unparsed line is a breach too
        [[ $room =~ ^(core|random|scoring)$ && $header != */core/contracts.hpp ]] && [[ " $host_only " == *" $target "* ]] &&
          breach "$header:$line: $room runs on the device, and must not include <$target>"
        [[ $target =~ ^[a-z_0-9]+$ ]] || breach "$header:$line: an include that can't be read: $text"
        ;;
    esac
  done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' "$header" || true)
  while IFS=: read -r line text; do
    while read -r to; do
      [[ $to == "$room" || $to == simulate || $room/$to == sampled/training || -z ${rooms[$to]+named} ]] ||
        breach "$header:$line: $room must not name $to::detail"
    done < <(grep -oE '[a-z]+::detail\b' <<<"$text" | sed 's/::detail//')
  done < <(sed -E 's://.*$::' "$header" | grep -nE '[a-z]+::detail\b' || true)
done < <(headers include cuda)
# What a program includes in every file means the same in each of its builds: no Thrust, no back end's macro.
while read -r header; do
  while IFS= read -r hit; do breach "$header:$hit: *_types.hpp and engine/records/ must not depend on a back end"; done < <(
    grep -nE '\b(thrust|cuda_runtime|INCONTEXT_SIMULATE_[A-Z]+)' "$header" || true
  )
done < <(headers cuda/incontext/simulate | grep -E "$plain")
# The files of a subcommand are compiled once for every instruction set and for CUDA, but for its simulator.cpp and what
# that shares with others; the size of the memory is no back end's.
while IFS=: read -r file line text; do
  breach "$file:$line: only simulator.cpp may include $text"
done < <(grep -nE '^#include [<"]incontext/(simulate|apply)[./]' -r examples --include='*.[ch]pp' 2>/dev/null |
  grep -vE '^examples/(first_steps/|[a-z_]*/simulator\.cpp:|support/((simulation_runs|memory)\.hpp|ranks\.cpp):)|'"$plain" || true)
verdict "rooms include along the arrows only"
