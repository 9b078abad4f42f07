#!/usr/bin/env python3
"""site.py ROOT WORK CHROMIUM: the documentation's site, as far as it needs no Doxygen.

Every link of its pages leads somewhere, and a page with a broken one is found out. In the browser the search has the
sections that a reader looks for, each formula of a page is drawn, and a page fits into a window of 500 pixels.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root, work, chromium = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
MEASURE = """<script>addEventListener("load", () => { document.title = [document.documentElement.scrollWidth <= innerWidth,
  document.querySelectorAll(".math").length, document.querySelectorAll(".katex-error").length]; });</script></body>"""


def build(tree, site):
    return subprocess.run([sys.executable, tree / "docs/site/build.py", "pages", tree, site], capture_output=True, text=True)


def opened(page, query=""):
    """The page's document, in a window of 500 pixels, after its scripts have run."""
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--window-size=500,900",
                   "--virtual-time-budget=20000", "--dump-dom", page.as_uri() + query]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout


def first_results(query):
    results = re.search(r'<div id="site-results">(.*?)</div>', opened(work / "site/docs/index.html", "?q=" + query), re.S)
    return re.findall(r'<a href="([^"]*)"', results[1])[:5] if results else []


shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
built = build(root, work / "site")
assert built.returncode == 0, built.stdout + built.stderr

# the build's own check notices a link that leads nowhere
tree = work / "tree"
tree.mkdir()
for entry in root.iterdir():
    if entry.name not in ("README.md", ".git"):
        (tree / entry.name).symlink_to(entry)
(tree / "README.md").write_text("# one\n\n[two](docs/index.md#nothing-of-this-name)\n")
broken = build(tree, work / "broken")
assert broken.returncode == 1 and "index.html: docs/index.html has no heading nothing-of-this-name" in broken.stdout, broken.stdout

for query, wanted in {"Theorem+4.2": "docs/results.html#optimal-attention-temperature-arxiv-251101292",
                      "best+temperature": "docs/findings.html#", "contract_version": "docs/reproducibility.html#",
                      "xyzzy": None}.items():
    results = first_results(query)
    found = any(wanted in address for address in results) if wanted else not results
    assert found, f"the search for {query} has first: {results}"

for name in "index.html", "docs/theory/classification.html", "docs/benchmarks.html":
    page = work / "site" / name
    page.write_text(page.read_text().replace("</body>", MEASURE))
    document = opened(page)
    fits, formulas, errors = re.search(r"<title>(.*),(.*),(.*)</title>", document).groups()
    assert fits == "true", f"{name} is wider than 500 pixels"
    assert errors == "0" and document.count('class="katex"') == int(formulas), f"{name}: {errors} formulas are not understood"
print(built.stdout.strip())
