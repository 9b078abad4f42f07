# Sourced by scripts/verify and scripts/test, in the root of the repository.
jobs=${INCONTEXT_JOBS:-$(nproc)}

section() { printf '\n== %s\n' "$*"; }

# Compiles for the GPU of this machine; without one, for a single architecture, since each repeats most of nvcc's work.
cuda_architecture=90
if command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; then cuda_architecture=native; fi

# What the program simulates is compiled for this machine alone: for the newest instructions that the dynamic loader finds
# here, of the sets that it can be compiled for.
instruction_set() {
  local loader=/lib64/ld-linux-x86-64.so.2 newest=
  if [ -x "$loader" ]; then newest=$("$loader" --help | sed -n 's/^  \(x86-64-v[34]\) (supported, searched)$/\1/p' | head -1); fi
  echo "${newest:-plain}"
}

# configure PRESET [-D...]
configure() {
  cmake --preset "$1" -DCMAKE_CUDA_ARCHITECTURES="$cuda_architecture" -DINCONTEXT_INSTRUCTION_SETS="$(instruction_set)" "${@:2}"
}

# build PRESET TARGET...
build() { cmake --build --preset "$1" --parallel "$jobs" --target "${@:2}"; }

# build_directory PRESET: ci shares the default's
build_directory() { case $1 in default | ci) echo build ;; *) echo "build-$1" ;; esac; }
