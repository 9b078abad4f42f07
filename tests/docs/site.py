#!/usr/bin/env python3
"""site.py ROOT WORK CHROMIUM [DOXYGEN DOXYFILE]: the documentation's site, with the reference where Doxygen is named.

Every link of its pages leads somewhere, and a page with a broken one is found out. In the browser the search has the
sections that a reader looks for, each formula of a page is drawn, and a page fits into a window of 500 pixels. The
reference of a class is reached from the navigation and by the search, and its links lead to what they name.
"""
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root, work, chromium, doxygen = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
ROOM, CLASS = "reference/group__regression.html", "reference/classincontext_1_1regression_1_1LinearTask.html"
MEASURE = """<script>addEventListener("load", () => { document.title = [document.documentElement.scrollWidth <= innerWidth,
  document.querySelectorAll(".math").length, document.querySelectorAll(".katex-error").length]; });</script></body>"""


def build(tree, site, step="pages"):
    command = [sys.executable, tree / "docs/site/build.py", step, tree, site]
    return subprocess.run(command, capture_output=True, text=True)


def build_reference(program, doxyfile):
    build(root, work / "site", "frame").check_returncode()
    text = Path(doxyfile).read_text() + f"""
      OUTPUT_DIRECTORY = "{work}/site"
      HTML_HEADER      = "{work}/site/frame/header.html"
      HTML_FOOTER      = "{work}/site/frame/footer.html"
      GENERATE_TAGFILE = "{work}/site/reference.tag"
      WARN_LOGFILE     = "{work}/warnings.txt" """
    subprocess.run([program, "-"], input=text, text=True, check=True)


def links_of(name):
    """Where the links of a page lead: (page, anchor or nothing), inside the site."""
    for link in re.findall(r'<a [^>]*href="([^":]+)"', (work / "site" / name).read_text()):
        path, _, anchor = link.partition("#")
        yield os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name, anchor


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
if doxygen:
    build_reference(*doxygen)
built = build(root, work / "site")
assert built.returncode == 0, built.stdout + built.stderr

# what the search shows of a formula is still that formula
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "docs/site"))
text_of = importlib.import_module("build").text_of
for formula, words in {r"\frac{\pi^2}{6} + \tfrac{y^2}2": "(pi^2)/6 + (y^2)/2", r"\frac{\sqrt{50}}{\tau}": "(√(50))/tau",
                       r"\frac1k \mathbf 1": "1/k 1", r"\frac{a}{b + \frac{c}{d}}": "a/(b + c/d)"}.items():
    assert text_of(formula) == words, text_of(formula)

# the build's own check notices a link that leads nowhere
tree = work / "tree"
tree.mkdir()
for entry in root.iterdir():
    if entry.name not in ("README.md", ".git"):
        (tree / entry.name).symlink_to(entry)
(tree / "README.md").write_text("# one\n\n[two](docs/index.md#nothing-of-this-name)\n")
broken = build(tree, work / "broken")
assert broken.returncode == 1 and "index.html: docs/index.html has no heading nothing-of-this-name" in broken.stdout, broken.stdout

searches = {"LinearTask": CLASS, "bayes_ridge": ROOM + "#"} if doxygen else {}
pages = [ROOM, CLASS] if doxygen else []
for there, here in (("index.html", ROOM), (ROOM, CLASS)) if doxygen else ():
    assert (here, "") in links_of(there), f"{there} has no link to {here}"
for name in pages:
    for target, anchor in links_of(name):
        text = (work / "site" / target).read_text()
        assert not anchor or re.search(f'(id|name)="{re.escape(anchor)}"', text), f"{name}: {target} has no {anchor}"

for query, wanted in {**searches, "Theorem+4.2": "docs/results.html#optimal-attention-temperature-arxiv-251101292",
                      "best+temperature": "docs/findings.html#", "contract_version": "docs/reproducibility.html#",
                      "xyzzy": None}.items():
    results = first_results(query)
    found = any(wanted in address for address in results) if wanted else not results
    assert found, f"the search for {query} has first: {results}"

for name in "index.html", "docs/theory/classification.html", "docs/benchmarks.html", *pages:
    page = work / "site" / name
    text = page.read_text()
    page.write_text(text.replace("</body>", MEASURE))
    document = opened(page)
    of_doxygen = (text.count(r"\[") + text.count(r"\(")) * (name in pages)
    fits, formulas, errors = re.search(r"<title>(.*),(.*),(.*)</title>", document).groups()
    assert fits == "true", f"{name} is wider than 500 pixels"
    drawn = document.count('class="katex"') == int(formulas) + of_doxygen
    assert errors == "0" and drawn, f"{name}: {errors} formulas are not understood"
print(built.stdout.strip())
