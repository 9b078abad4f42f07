#!/bin/bash
# Translates the kernels of nvcc's objects and compiles them: emulate.sh OBJECT FOLDER [OPTION...] FILE.o...
# OBJECT is what a program links beside FILE.o and the emulator, in the place of libcudart. FOLDER keeps the C and its
# objects, in a folder for each file. OPTION is one of translate.py's, which begin with --.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
object=$1 folder=$2
shift 2
options=() number=0
while [[ ${1:-} == --* ]]; do
  options+=("$1")
  shift
done
rm -rf "$folder"
mkdir -p "$folder"
for file; do
  python3 "$here/translate.py" "${options[@]}" "$file" "$folder/$number"
  number=$((number + 1))
done
bash "$here/compile.sh" "$object" "$folder"/*/*.c
