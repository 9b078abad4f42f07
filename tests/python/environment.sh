#!/usr/bin/env bash
# Makes a virtual environment in the folder $1, with what the Python package takes to build, and prints its Python.
# What is there already stays. Exit 77: it can't be made, and the reason is printed.
set -euo pipefail
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
python=${INCONTEXT_PYTHON:-python3}

skip() {
  echo "skipped: $1"
  exit 77
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11 or newer"
"$python" -c 'import ensurepip, venv' 2>/dev/null || skip "Python has no venv (Debian: python3-venv)"
"$python" -c 'import pathlib, sys, sysconfig; sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' ||
  skip "no headers of Python (Debian: python3-dev)"
mkdir -p "$1"
[ -x "$1/bin/pip" ] || "$python" -m venv "$1"
pip=("$1/bin/pip" install -q --disable-pip-version-check)
needed=(scikit-build-core nanobind)
"${pip[@]}" "${needed[@]}" >"$1/pip.log" 2>&1 || skip "pip cannot install ${needed[*]}: $(tail -n 1 "$1/pip.log")"
echo "$1/bin/python"
