#!/usr/bin/env python3
"""run.py FILE [TITLE]: runs the cases of one of the files beside it, but for the slow ones, or the one of that title.
INCONTEXT_PROGRAM names the program. Exit 1: a case failed; the statement and the values around it are printed."""
import importlib
import sys
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import program  # noqa: E402

importlib.import_module(Path(sys.argv[1]).stem)
chosen = program.CASES if len(sys.argv) == 2 else {
    title: function for title, function in (program.CASES | program.SLOW).items() if title == sys.argv[2]}
if not chosen:
    sys.exit(f"run.py: {sys.argv[1]} has no case '{sys.argv[2]}'")
failed = 0
for title, function in chosen.items():
    try:
        function()
    except Exception as error:  # noqa: BLE001
        failed += 1
        shown = traceback.TracebackException.from_exception(error, capture_locals=True)
        del shown.stack[0]  # this file's
        for frame in shown.stack:
            frame.locals = {name: text[:400] for name, text in (frame.locals or {}).items() if name[0] != "_"}
        print(f"FAILED: {title}", *shown.format(), sep="\n")
sys.exit(1 if failed else 0)
