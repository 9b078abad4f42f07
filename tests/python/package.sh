#!/usr/bin/env bash
# Builds the wheel of the source tree $1 in the folder $2 with the compiler $3, for this machine's processor if $4 is ON,
# installs it into a clean environment, and runs its tests, beside the program incontext $5 where it is given.
# INCONTEXT_PEERS may name a Python of the same version, whose PyTorch, Transformers and JAX the tests then use; without
# it, tests that need them are skipped. Exit 77: all is skipped, and the reason is printed.
set -euo pipefail
root=$1 work=$2
newest=$(source "$root/scripts/setup.sh" && instruction_set)
export INCONTEXT_NATIVE=${4:-OFF}
export CXX=${3:-c++}
# never the caller's environment
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
export CMAKE_BUILD_PARALLEL_LEVEL=${INCONTEXT_JOBS:-2}
python=${INCONTEXT_PYTHON:-python3}

skip() {
  echo "skipped: $1"
  exit 77
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11 or newer"
"$python" -c 'import ensurepip, venv' 2>/dev/null || skip "Python has no venv (Debian: python3-venv)"
"$python" -c 'import pathlib, sys, sysconfig; sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' ||
  skip "no headers of Python (Debian: python3-dev)"

mkdir -p "$work"
cd "$work"
# the tools stay between runs, the environment of the tests does not
if [ ! -x tools/bin/pip ]; then "$python" -m venv tools; fi
tools/bin/pip install -q --disable-pip-version-check scikit-build-core nanobind >tools.log 2>&1 ||
  skip "pip cannot install scikit-build-core and nanobind: $(tail -n 1 tools.log)"
# from the source archive, as an index of packages has it; plain and, as an edition takes long to compile, one more
rm -rf wheel environment sdist
(cd "$root" && "$work/tools/bin/python" -c 'import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])' "$work/sdist") >sdist.log
tar -xzf sdist/incontext-*.tar.gz -C sdist --strip-components 1
sets=plain
[ "$newest" = plain ] || sets="plain;$newest"
tools/bin/pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w wheel \
  -C build-dir="$work/wheel-build" -C build.verbose=true -C cmake.define.INCONTEXT_NATIVE="$INCONTEXT_NATIVE" \
  -C cmake.define.INCONTEXT_INSTRUCTION_SETS="$sets" "$work/sdist" 2>&1 | tee wheel.log
! grep -n "warning:" wheel.log
"$python" -m venv environment
environment/bin/pip install -q --disable-pip-version-check numpy pytest pytest-xdist mypy tqdm >environment.log 2>&1 ||
  skip "pip cannot install numpy, pytest, pytest-xdist, mypy and tqdm: $(tail -n 1 environment.log)"
# the notebook's; its test is skipped, with the reason, without them
environment/bin/pip install -q --disable-pip-version-check matplotlib nbclient ipykernel >notebook.log 2>&1 ||
  echo "pip cannot install matplotlib, nbclient and ipykernel: $(tail -n 1 notebook.log)"
environment/bin/pip install -q --disable-pip-version-check wheel/incontext-*.whl
if [ -n "${INCONTEXT_PEERS:-}" ]; then
  # after the environment's own packages, so that these have precedence
  packages='import site; print(*site.getsitepackages(), sep="\n")'
  "$INCONTEXT_PEERS" -c "$packages" >"$(environment/bin/python -c "$packages" | head -n 1)/peers.pth"
fi
cd "$root/tests/python"
export INCONTEXT_PROGRAM=${5:-}
exec "$work/environment/bin/python" -m pytest -q -rs -p no:cacheprovider -n "$CMAKE_BUILD_PARALLEL_LEVEL" .
