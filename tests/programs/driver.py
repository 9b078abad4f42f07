"""The driver of these tests: a false statement fails, and no case is left out."""
import os
import re
import subprocess
import sys
from pathlib import Path

from program import Folder, case

HERE = Path(__file__).resolve().parent


def driven(folder, text, *title):
    """What the driver says of a file of cases."""
    command = [sys.executable, str(HERE / "run.py"), folder.write("own.py", text), *title]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(folder.path)})


@case("a statement that does not hold fails its case, with the values around it")
def _():
    with Folder() as folder:
        text = 'from program import case\n@case("sum")\ndef _():\n    two = 1 + 1\n    assert two == {}\n'
        assert driven(folder, text.format(2)).returncode == 0
        wrong = driven(folder, text.format(3), "sum")
        assert wrong.returncode == 1 and "FAILED: sum" in wrong.stdout and "two = 2" in wrong.stdout, wrong
        assert "has no case 'product'" in driven(folder, text.format(2), "product").stderr


@case("every function of these files is a case that CMake finds, of a title of its own")
def _():
    titles = []
    for file in sorted(HERE.glob("*.py")):
        if file.name not in ("program.py", "run.py"):
            text = file.read_text()
            found = re.findall(r'^@(?:case|slow)\("(.*)"\)\ndef _\(\):\n', text, re.M)  # as CMakeLists.txt reads them
            assert found and len(found) == text.count("\ndef _(") == len(re.findall(r"^@(case|slow)", text, re.M)), file
            assert not any(mark in title for title in found for mark in '[];\\"'), file
            titles += found
    assert len(set(titles)) == len(titles)
