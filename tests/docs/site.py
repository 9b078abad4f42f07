#!/usr/bin/env python3
"""site.py ROOT WORK CHROMIUM [DOXYGEN DOXYFILE]: the documentation's site, with the reference of C++ where Doxygen is
named, and with that of Python where INCONTEXT_DOCS_PYTHON, or else the Python that runs this, has the package.

Every link of its pages leads somewhere, and a page with a broken one is found out. In the browser every page fits into
a window as narrow as a phone's, each formula is drawn, and the search has first what a reader looks for. Every public
name of a reference is found.
"""
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root, work, chromium, doxygen = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
ROOM, CLASS = "reference/group__regression.html", "reference/classincontext_1_1regression_1_1LinearTask.html"
PHONE = 360  # pixels

# What has to be first, by the beginning of its address.
FIRST = {
    "best temperature": "docs/theory/regression.html#parabola-the-optimal-temperature",
    "optimal temperature": "docs/theory/regression.html#parabola-the-optimal-temperature",
    "context-adaptive rate": "docs/theory/classification.html#steps-the-context-adaptive-step",
    "Theorem 4.2": "docs/theory/regression.html#gaussian-inputs-leading-order",
    "Leading order": "docs/theory/regression.html#gaussian-inputs-leading-order",
    "SSMax": "docs/theory/scoring.html#ssmax",
    "entmax gradient": "docs/theory/scoring.html#entmax",
    "kernel gradient descent": "docs/theory/classification.html#steps-the-step-of-kernel-gradient-descent",
    "risk of the centered ridge": "docs/theory/regression.html#centered-ridge",
    "moment ratio": "docs/theory/regression.html#moment-ratio",
    "inverse participation ratio": "docs/theory/classification.html#inverse-participation-ratio",
    "fading": "docs/glossary.html#",
    "Holm": "docs/theory/statistics.html#families-holms-procedure",
    "how many tasks does pretraining need": "docs/theory/",
}
# Where there is a reference of C++, of Python: what has to be among the first five.
FIVE_OF_CPP = {"LinearTask": CLASS, "needle weight": "reference/group__laws.html#",
               "contract_version": "reference/group__simulate__engine.html#"}
FIVE_OF_PYTHON = {"needle_weight": "python/laws.html#needle_weight", "needle weight": "python/laws.html#needle_weight",
                  "calibrate": "python/calibration.html#calibrate", "SSMax": "python/scoring.html#SSMax",
                  "Calibration.advice": "python/calibration.html#Calibration.advice", "incontext.torch": "python/torch.html"}
# Where a name is written as one is, it is first.
NAMES = {"centered_ridge": ROOM + "#", "laws::needle_weight": "reference/group__laws.html#",
         "laws.needle_weight": "python/laws.html#needle_weight"}


def build(tree, site, step="pages", **environment):
    command = [sys.executable, tree / "docs/site/build.py", step, tree, site]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


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
    """The page's document after its scripts have run."""
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                   "--allow-file-access-from-files", "--window-size=800,900", "--virtual-time-budget=600000",
                   "--dump-dom", page.as_uri() + query]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout


def answered(name, script):
    """What a script in a page of the site answers."""
    page = work / "site" / name
    page.write_text(f"""<!DOCTYPE html><body><pre id="answer"></pre><script>
      const answer = (value) => {{ document.getElementById("answer").textContent = JSON.stringify(value); }};
      {script}</script></body>""")
    document = opened(page)
    page.unlink()
    text = re.search(r'<pre id="answer">(.*?)</pre>', document, re.S)[1]
    assert text, f"{name} has no answer"
    return json.loads(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def first_results(queries):
    """The addresses of the first five results of each query."""
    return dict(zip(queries, answered("queries.html", f"""
      let index = null;
      const searchIndex = (list) => {{ index = new SearchIndex(list); }};
      </script><script src="assets/search.js"></script><script src="assets/index.js"></script><script>
      answer({json.dumps(list(queries))}.map((query) =>
        index.search(query).hits.slice(0, 5).map((entry) => entry.address)));""")))


def measured(pages):
    """Of each page in a window of PHONE pixels: its width, and the formulas not drawn and not understood."""
    return answered("measure.html", f"""
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.style.cssText = "width: {PHONE}px; height: 800px; border: 0";
      const answers = {{}};
      async function measure(page) {{
        await new Promise((ready) => {{ frame.onload = ready; frame.src = page; }});
        const inside = frame.contentDocument;
        const undrawn = () => [...inside.querySelectorAll(".math")].filter((one) => !one.querySelector(".katex")).length;
        for (let tries = 0; undrawn() > 0 && tries < 200; ++tries) await new Promise((ready) => setTimeout(ready, 20));
        await inside.fonts.ready;
        await new Promise((ready) => setTimeout(ready, 50));
        const raw = /\\\\\\[|\\\\\\(/.test([...inside.querySelectorAll("div.contents p")].map((p) => p.textContent).join());
        answers[page] = [inside.documentElement.scrollWidth, undrawn() + raw,
                         inside.querySelectorAll(".katex-error").length];
      }}
      (async () => {{
        for (const page of {json.dumps(pages)}) await measure(page);
        answer(answers);
      }})();""")


def addresses_of(kind):
    """The addresses of the search's entries of a kind, by their headings."""
    text = (work / "site/assets/index.js").read_text()
    entries = json.loads(text.removeprefix("searchIndex(").rstrip().removesuffix(");"))
    return {heading: address for _, heading, address, _, sort, _ in entries if sort == kind}


shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
if doxygen:
    build_reference(*doxygen)
built = build(root, work / "site")
assert built.returncode == 0, built.stdout + built.stderr
of_python = (work / "site/python").is_dir()
assert of_python != ("without the reference of Python" in built.stderr), built.stderr

sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "docs/site"))
# a page that was built elsewhere, such as the explorer, leads to the site's pages, and nowhere that is not there
elsewhere = '<a href="../../../docs/model.md">m</a> <a href="../../ledger.html">l</a> <a href="../none.md">n</a>'
for others, seen in {(): "l", ("ledger.html",): '<a href="ledger.html">l</a>'}.items():
    found = importlib.import_module("build").page_from_elsewhere(root, elsewhere, others)
    assert found == f'<a href="docs/model.html">m</a> {seen} n', found

# what the search shows of a formula is still that formula
text_of = importlib.import_module("search").text_of
for formula, words in {r"\frac{\pi^2}{6} + \tfrac{y^2}2": "(pi^2)/6 + (y^2)/2", r"\frac{\sqrt{50}}{\tau}": "(√(50))/tau",
                       r"\frac1k \mathbf 1": "1/k 1", r"\frac{a}{b + \frac{c}{d}}": "a/(b + c/d)",
                       r"\left(\frac1\tau\right)^2": "(1/tau)^2"}.items():
    assert text_of(formula) == words, text_of(formula)

# the build's own check notices a link that leads nowhere; without a package it says that Python's reference is missing
tree = work / "tree"
tree.mkdir()
for entry in root.iterdir():
    if entry.name not in ("README.md", ".git"):
        (tree / entry.name).symlink_to(entry)
(tree / "README.md").write_text("# one\n\n[two](docs/index.md#nothing-of-this-name)\n")
broken = build(tree, work / "broken", INCONTEXT_DOCS_PYTHON="")
message = "index.html: docs/index.html has no heading nothing-of-this-name"
assert broken.returncode == 1 and message in broken.stdout, broken.stdout
assert "without the reference of Python" in broken.stderr and not (work / "broken/python").exists(), broken.stderr

for there, here in (("index.html", ROOM), (ROOM, CLASS)) if doxygen else ():
    assert (here, "") in links_of(there), f"{there} has no link to {here}"

# every heading and every paragraph that begins with bold words has a link to itself
theory = (work / "site/docs/theory/regression.html").read_text()
assert '<p id="gaussian-inputs-leading-order"><strong>Leading order.</strong> <a class="anchor"' in theory
for name in ["docs/theory/regression.html", *[ROOM] * bool(doxygen), *["python/laws.html"] * of_python]:
    text = (work / "site" / name).read_text()
    headings = re.findall(r"<h[2-6][^>]*>.*?</h", text, re.S)
    assert headings and all('class="anchor"' in heading for heading in headings), f"{name}: a heading has no link"

if of_python:
    # the same bytes, whatever order Python's sets have
    made = []
    for seed in "1", "2", "3":
        build(root, work / seed, PYTHONHASHSEED=seed).check_returncode()
        made.append({page.name: page.read_bytes() for page in sorted((work / seed / "python").iterdir())})
        shutil.rmtree(work / seed)
    different = [name for name in made[0] if any(other[name] != made[0][name] for other in made)]
    assert not different, f"two builds of the site differ in {different}"

    python = os.environ.get("INCONTEXT_DOCS_PYTHON", sys.executable)
    program = """import incontext as ic
print(*(f"{room}.{name}" for room in ic.__all__ if room not in ("calibrate", "compare")
        for name in dir(getattr(ic, room)) if not name.startswith("_")))"""
    names = subprocess.check_output([python, "-c", program], text=True, cwd=work).split()
    addresses = addresses_of("Python")
    missing = sorted(set(names) - set(addresses))
    assert len(names) > 100 and not missing, f"the search has none of {missing}"
    wrong = [name for name in names if addresses[name] != f"python/{name.replace('.', '.html#', 1)}"]
    assert not wrong, f"other addresses than expected: {wrong}"
    assert ("python/laws.html", "") in links_of("docs/theory/laws.html"), "the navigation lacks the reference of Python"

results = first_results({**FIRST, **NAMES, **FIVE_OF_CPP, **FIVE_OF_PYTHON, "xyzzy": None, "constructors": None})
for query, address in [*FIRST.items(), *[*NAMES.items()] * bool(doxygen and of_python)]:
    assert results[query][0].startswith(address), f"the search for {query} has first: {results[query]}"
for query, address in [*FIVE_OF_CPP.items()] * bool(doxygen) + [*FIVE_OF_PYTHON.items()] * of_python:
    assert any(one.startswith(address) for one in results[query]), f"the search for {query} has first: {results[query]}"
assert not results["xyzzy"], results["xyzzy"]
assert results["constructors"], "a word that is the name of a property of every object of JavaScript"

# the page itself shows them, with their language
shown = opened(work / "site/docs/index.html", "?q=best+temperature")
shown = re.search(r'<div id="site-results">(.*?)</div>', shown, re.S)[1]
assert f'<a href="../{FIRST["best temperature"]}"' in shown, shown[:500]
assert not (doxygen or of_python) or re.search("<em>(C\\+\\+|Python)</em>", shown), shown[:2000]

site = work / "site"
pages = sorted(str(page.relative_to(site)) for page in site.rglob("*.html"))
pages = [page for page in pages if page.partition("/")[0] not in ("source", "reference") or page in (ROOM, CLASS)]
for page, (width, undrawn, errors) in measured(pages).items():
    assert width <= PHONE, f"{page} is {width} pixels wide in a window of {PHONE}"
    assert undrawn == errors == 0, f"{page}: {undrawn} formulas are not drawn and {errors} not understood"
print(built.stdout.strip())
