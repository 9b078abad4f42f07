#!/usr/bin/env bash
# Installs the Python package into a virtual environment of environment.sh, and runs its tests there.
#   package.sh tree ROOT WORK PYTHON BUILD     what the build folder BUILD has, into the environment of PYTHON
#   package.sh wheel ROOT WORK CXX ON|OFF      a wheel of the source archive, compiled by CXX for this machine's processor,
#                                              or plain and for the newest instructions that it has, into one in WORK
# INCONTEXT_PROGRAM may name the program incontext, and INCONTEXT_PEERS a Python of the same version, whose PyTorch,
# Transformers and JAX the tests then use; without them, tests that need them are skipped. Exit 77: all is skipped, and
# the reason is printed.
set -euo pipefail
root=$2 work=$3
# never the caller's environment
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
export CMAKE_BUILD_PARALLEL_LEVEL=${INCONTEXT_JOBS:-2}
mkdir -p "$work"
cd "$work"
pip() { "$python" -m pip "$1" -q --disable-pip-version-check "${@:2}"; }

# what the tests take, and the package $@
install() {
  local needed=(numpy pytest pytest-xdist mypy tqdm) notebook=(matplotlib nbclient ipykernel) packages
  pip install "${needed[@]}" >pip.log 2>&1 || { echo "skipped: pip cannot install ${needed[*]}: $(tail -n 1 pip.log)"; exit 77; }
  # the notebook's test is skipped, with the reason, without its own
  pip install "${notebook[@]}" >pip.log 2>&1 || echo "pip cannot install ${notebook[*]}: $(tail -n 1 pip.log)"
  if [ -n "${INCONTEXT_PEERS:-}" ]; then
    # after the environment's own packages, so that these have precedence
    packages='import site; print(*site.getsitepackages(), sep="\n")'
    "$INCONTEXT_PEERS" -c "$packages" >"$("$python" -c "$packages" | head -n 1)/peers.pth"
  fi
  pip install --no-deps --force-reinstall "$@"
}

case $1 in
  tree)
    python=$4
    # The files of Python with the package's metadata, as a wheel has them; what is compiled is that of the build folder.
    install --no-build-isolation -C wheel.cmake=false -C wheel.py-api=py3 "$root"
    cmake --install "$5" --component python --prefix "$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" \
      >install.log || { cat install.log; exit 1; }
    ;;
  wheel)
    export CXX=$4 INCONTEXT_NATIVE=$5
    [ "$5" = OFF ] || unset INCONTEXT_PROGRAM  # trainings for this processor have other last digits than the program's
    printed=$("$root/tests/python/environment.sh" "$work/environment") || { echo "$printed"; exit 77; }
    python=$printed
    rm -rf wheel sdist
    (cd "$root" && "$python" -c 'import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])' "$work/sdist") >sdist.log
    tar -xzf sdist/incontext-*.tar.gz -C sdist --strip-components 1
    newest=$(source "$root/scripts/setup.sh" && instruction_set)
    sets=plain
    [ "$newest" = plain ] || sets="plain;$newest"
    pip wheel --no-deps --no-build-isolation -w wheel \
      -C build-dir="$work/wheel-build" -C build.verbose=true -C cmake.define.INCONTEXT_NATIVE="$INCONTEXT_NATIVE" \
      -C cmake.define.INCONTEXT_INSTRUCTION_SETS="$sets" "$work/sdist" 2>&1 | tee wheel.log
    ! grep -n "warning:" wheel.log
    install wheel/incontext-*.whl
    ;;
esac
cd "$root/tests/python"
exec "$python" -m pytest -q -rs -p no:cacheprovider -n "$CMAKE_BUILD_PARALLEL_LEVEL" .
