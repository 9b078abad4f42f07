"""contributing.py ROOT COPY [BUILD LIBRARIES...]: what CONTRIBUTING.md types in its eight steps works.

Its blocks go, letter by letter, where their steps say, in a copy of the tree. Then the generator computes the reference
value that the page has (where mpmath is), the new test and the entry of the reference values compile and pass, and the
pages, the rules and the Python package's reader of headers accept the result. Without BUILD, whose compiler and options
these take, the page's own commands under "Check" are typed instead, which build the two programs and run their tests.
The steps write nine files; that the page names no further one for every result, a reader sees."""
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT, COPY, BUILD = sys.argv[1], Path(sys.argv[2]), sys.argv[3:4]
NAME = "two_level_ipr"
touched = set()


def left_out(folder, names):
    """Builds and what git ignores, at the top."""
    kept = (".ci", ".clang-format", ".clang-tidy")
    top = folder == ROOT
    return [name for name in names if name == "__pycache__" or top and (
        name.startswith(("build", ".")) and name not in kept or Path(folder, name, "CMakeCache.txt").exists())]


def insert(path, text, after="", before=""):
    """Puts the text behind the first place of `after`, or before that of `before`; without them, at the end."""
    file = COPY / path
    touched.add(path)
    old = file.read_text() if file.exists() else ""
    at = old.index(after) + len(after) if after else old.index(before) if before else len(old)
    file.write_text(old[:at] + text + old[at:])


def run(*command, **options):
    print("$", *command, flush=True)
    subprocess.run(command, cwd=COPY, check=True, **options)


shutil.rmtree(COPY, ignore_errors=True)
shutil.copytree(ROOT, COPY, ignore=left_out)
page = (COPY / "CONTRIBUTING.md").read_text()
steps = re.split(r"^### .*\n", page.partition("\n## Add a result")[2].partition("\n## What is checked")[0], flags=re.M)[1:]
blocks = [re.findall(r"^```\w*\n(.*?)^```$", step, re.M | re.S) for step in steps]
[theory], [function, name, case, out], [header], _, [test, entry], _, _, [binding, example], [check] = blocks
umbrella = re.search(r"^`(#include .*?)`", steps[3], re.M)[1]

insert("docs/theory/laws.md", "\n" + theory)
insert("tests/oracles/generate/laws.py", function + "\n\n", before="GENERATORS = {")
insert("tests/oracles/generate/laws.py", name, after="GENERATORS = {\n")
written = json.dumps(json.loads(case) | json.loads("{" + out + "}"))
insert("tests/oracles/scoring.json", "\n  " + written + ",", after='"cases": [')
insert(f"include/incontext/laws/{NAME}.hpp", header)
lines = (COPY / "include/incontext/laws.hpp").read_text().splitlines()
included = [line for line in lines if line.startswith("#include")]
insert("include/incontext/laws.hpp", umbrella + "\n", before=next(line for line in included if line > umbrella))
insert(f"tests/laws/{NAME}.cpp", test)
insert("tests/oracles/kinds/laws.hpp", entry, after="void register_fading(Registry& registry) {\n  using namespace laws;\n")
insert("python/src/laws.cpp", binding, before="  room.form(")
insert("python/examples.txt", "\n" + example)
assert len(touched) == 9, f"the steps write {len(touched)} files: {touched}"

if not BUILD:
    for line in check.splitlines():
        if line.startswith(("cmake", "ctest")):
            run("bash", "-ec", line)
    sys.exit()

spec = importlib.util.find_spec("mpmath") and importlib.util.find_spec("numpy")
if spec:
    run(sys.executable, "tests/oracles/generate/laws.py", "--kinds", NAME)
    run(sys.executable, "tests/oracles/generate/laws.py", "--kinds", NAME, "--write")
    assert f'"{NAME}": "' not in out and out.strip() in (COPY / "tests/oracles/scoring.json").read_text(), "another value"
run(sys.executable, "tests/docs/pages.py", str(COPY))
run(sys.executable, "tests/rules/include_arrows.py", str(COPY))
for rule in ("umbrellas", "floating_point"):
    run("bash", f"tests/rules/{rule}.sh", str(COPY))
if shutil.which("clang-format-16"):
    run("clang-format-16", "--dry-run", "--Werror", f"include/incontext/laws/{NAME}.hpp", f"tests/laws/{NAME}.cpp",
        "tests/oracles/kinds/laws.hpp", "python/src/laws.cpp")
sys.path.insert(0, str(COPY / "python"))
import headers  # noqa: E402

shown = headers.texts(COPY)[f"laws::{NAME}"]
value = float(json.loads("{" + out + "}")["out"]["ipr"])
assert "Inverse participation ratio" in shown and f"'{value:.6g}'" in shown, shown

(COPY / "all.cpp").write_text(f'''#include "tests/laws/{NAME}.cpp"
#include "tests/oracles/evaluate.hpp"
#include "tests/oracles/kinds/laws.hpp"
TEST_CASE("the reference value of step 2") {{
  using namespace incontext::oracles;
  Json document = oracles_of("scoring"), one = document;
  one["cases"] = Json::array({{document["cases"][0]}});
  check_file(one, {{{{"{NAME}", kinds_of({{register_laws}}).at("{NAME}")}}}});
}}
''')
commands = json.loads(Path(*BUILD, "compile_commands.json").read_text())
words = shlex.split(next(one["command"] for one in commands if "test_oracles_scoring" in one["command"]))
left = ("-DNDEBUG", "-DINCONTEXT_WITH_COMPILED")  # the library does not have the new result
options = [word.replace(ROOT, str(COPY)) for word in words[: words.index("-o")] if "ccache" not in word and word not in left]
run(*options, "-O0", "all.cpp", "-o", "all", *sys.argv[4:])
run("./all")
if not spec:
    print("skipped: the generator, which needs mpmath and numpy")
