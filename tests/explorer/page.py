"""Opens the explorer's page in headless Chromium and compares what it draws and computes with this machine's numbers.

    page.py CHROMIUM PAGE FOUND     FOUND is a program that prints what the page should find
"""

import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

THEORY = 1e-9  # relative: the two C libraries round exp and log differently


def opened(chromium, page, fragment):
    """The page's document after its scripts have run."""
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                   "--virtual-time-budget=60000", "--dump-dom", Path(page).resolve().as_uri() + fragment]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout


def close(a, b):
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=THEORY, abs_tol=1e-300)


def differences(page, machine):
    """What the page found otherwise than this machine: curves within THEORY, simulated means bit by bit."""
    for one, other in zip(page, machine, strict=True):
        name = one["name"]
        for curve, expected in zip(one["theory"]["curves"], other["theory"]["curves"], strict=True):
            if not all(map(close, curve["values"], expected["values"])):
                yield f"{name}: the curve '{curve['name']}'"
        for series, expected in zip(one["simulated"], other["simulated"], strict=True):
            for point, same in zip(series["points"], expected["points"], strict=True):
                if (point["mean"], point["error"], point["trials"]) != (same["mean"], same["error"], same["trials"]):
                    yield f"{name}: {series['name']} at {point['x']}: {point['mean']!r}, here {same['mean']!r}"


def faults(document, machine):
    """Everything that is wrong with an opened page."""
    yield from (f"script error: {text}" for text in re.findall(r'class="script-error">(.*?)<', document))
    found = re.search(r'id="found">(.*?)</script>', document, re.S)
    if not found:
        status = re.search(r'id="status"[^>]*>(.*?)<', document)
        yield f"the page's own test did not run; its status: {status and status[1]!r}"
        return
    page = json.loads(found[1])
    for panel in page:
        simulated = sum(len(series["points"]) for series in panel["simulated"])
        if panel["curves"] != len(panel["theory"]["curves"]) or panel["points"] != simulated or panel["status"]:
            yield f"{panel['name']}: {panel['curves']} curves, {panel['points']} of {simulated} points; {panel['status']}"
    yield from differences(page, machine)
    wrong = json.loads(json.dumps(machine))
    wrong[0]["simulated"][0]["points"][0]["mean"] *= 1 + 2**-52
    wrong[-1]["theory"]["curves"][0]["values"][0] *= 1 + 2 * THEORY
    if len(list(differences(page, wrong))) < 2:
        yield "a number that is off by its last bit, and a curve that is off by 2e-9, are not noticed"


def main():
    chromium, page, found = sys.argv[1:]
    text = Path(page).read_text(encoding="utf-8")
    problems = [f"the page loads {link}" for link in re.findall(r'<(?!a\s)\w+[^>]*\s(?:src|href)="(?!data:)([^"$]*)"', text)]
    machine = json.loads(subprocess.run([found], capture_output=True, text=True, check=True).stdout)
    # Chromium compiles the module beside its virtual clock, which can run out first on a loaded machine.
    document = next((document for document in (opened(chromium, page, "#test") for _ in range(5)) if 'id="found"' in document), "")
    problems += faults(document, machine)
    sys.exit("\n".join(problems) or 0)


main()
