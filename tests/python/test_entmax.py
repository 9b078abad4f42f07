"""The test suite of the package entmax, which its wheel has, with this package's maps in the place of entmax's.

Run where PyTorch and entmax are installed: entmax 1.3 was tried.
"""
import pathlib
import re
import subprocess
import sys

import pytest

entmax = pytest.importorskip("entmax")
pytest.importorskip("torch")


def test_the_suite_of_entmax_passes_with_these_maps():
    tests = sorted(map(str, pathlib.Path(entmax.__file__).parent.glob("test_*.py")))
    assert tests, "this entmax comes without its tests"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "entmax_by_incontext", *tests]
    run = subprocess.run(command, cwd=pathlib.Path(__file__).parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", run.stdout)[1]) > 100
