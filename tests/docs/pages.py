#!/usr/bin/env python3
"""pages.py ROOT: what the pages and the blocks of the headers name is there, and what they quote is what is compiled.

  * README has at most 90 lines, and its two commands are those that .ci/run begins with. Its line of g++, and that of
    docs/install.md, have the flags of the simulate targets. The version that
    CITATION.cff, CHANGELOG and the recipes of packaging/ name is CMakeLists.txt's.
  * A relative link of a page leads to a file or folder of the tree and, after a #, to a heading of that page.
  * Every page of docs/ can be reached from docs/index.md.
  * Every question of docs/questions.txt, which users have brought, is answered under the heading that stands beside it:
    the words after it are there.
  * The tests and pages that a header names are there. The `spec` of a case of the reference values is a section of docs/theory/.
  * README's first program is that of a consumer project; every program of tests/docs/ and what it
    prints is quoted by a page; docs/first_steps.md names those of examples/first_steps/, and the site shows them; each room has a first program of 15 to 30 lines.
  * The commands of recorded runs name a task and options of incontext train.

No packaged checker of links reads the headings of Markdown or the comments of C++.
"""
import functools
import json
import os
import re
import sys
from pathlib import Path

os.chdir(sys.argv[1])
breaches = []


def breach(where, what):
    breaches.append(f"{where}: {what}")


def numbered_prose(page):
    """The lines of a page outside of its blocks of code, with their numbers."""
    code = False
    for number, line in enumerate(Path(page).read_text().splitlines(), 1):
        if line.startswith("```"):
            code = not code
        elif not code:
            yield number, line


@functools.cache
def headings(page):
    """What may follow a #, as forges make it of a heading."""
    return headings_of(line for _, line in numbered_prose(page))


def headings_of(lines):
    titles = [line.lstrip("#").strip() for line in lines if re.match(r"#+ ", line)]
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles]
    return {re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in titles}


def check_target(where, target, section):
    if not os.path.exists(target):
        breach(where, f"there is no {target}")
    elif section and target.endswith(".md") and section not in headings(target):
        breach(where, f"{target} has no heading {section}")


def check_links(pages):
    linked = {}
    for page in pages:
        for number, line in numbered_prose(page):
            for link in re.findall(r"\]\(([^) ]+)\)", line):
                if re.match(r"(https?|mailto):", link):
                    continue
                target, _, section = link.partition("#")
                target = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
                check_target(f"{page}:{number}", target, section)
                linked.setdefault(page, set()).add(target)
    reached, waiting = set(), ["docs/index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [target for target in linked.get(page, ()) if target.endswith(".md")]
    for page in pages:
        if page.startswith("docs/") and page not in reached:
            breach(page, "cannot be reached from docs/index.md")


@functools.cache
def section(page, heading):
    """What stands under a heading, up to the next of the same level or a higher one."""
    lines, level = [], 0
    prose = dict(numbered_prose(page))
    for number, line in enumerate(Path(page).read_text().splitlines(), 1):
        depth = re.match(r"#*", prose.get(number, ""))[0].count("#")
        if level and 0 < depth <= level:
            break
        if level == 0 and depth and heading in headings_of([line]):
            level = depth
        elif level:
            lines.append(line)
    return "\n".join(lines)


def check_questions():
    questions = Path("docs/questions.txt").read_text().splitlines()
    for line in questions:
        question, target, words = line.split(" | ")
        if words not in section(*target.split("#")):
            breach("docs/questions.txt", f"{question} {target} does not say {words}")
    if len(questions) < 60:
        breach("docs/questions.txt", f"{len(questions)} questions, not 60")


def check_headers():
    named = re.compile(r"\b(?:tests|docs)/[\w/]+(?:\.(?:cpp|md|sh|py|cu|txt)\b(?:#[a-z0-9_-]+)?)?")
    for header in sorted([*Path("include").rglob("*.hpp"), *Path("cuda").rglob("*.hpp")]):
        for number, line in enumerate(header.read_text().splitlines(), 1):
            for link in named.findall(line.partition("//")[2]):
                check_target(f"{header}:{number}", *link.partition("#")[::2])


def check_reference_values():
    for file in sorted(Path("tests/oracles").glob("*.json")):
        for case in json.loads(file.read_text())["cases"]:
            target, _, section = case.get("spec", "").partition("#")
            if not (target.startswith("docs/theory/") and section):
                breach(file, f"case {case.get('id', '')}: its spec is no section of docs/theory/: {case.get('spec')}")
            else:
                check_target(file, target, section)


def without_first_line(source):
    return Path(source).read_text().partition("\n")[2]


def check_programs():
    readme = Path("README.md").read_text()
    blocks = re.findall(r"^```cpp\n(.*?)^```$", readme, re.M | re.S)
    if blocks[:1] != [without_first_line("tests/consume/simulate.cpp")]:
        breach("README.md", "its first program is not tests/consume/simulate.cpp")
    pages = [page.read_text() for page in Path("docs").rglob("*.md")]
    for source in sorted(Path("tests/docs").glob("*.cpp")):
        printed = source.with_suffix(".txt")
        for name, block in ((source, f"```cpp\n{without_first_line(source)}```"), (printed, f"```\n{printed.read_text()}```")):
            if not any(block in page for page in pages):
                breach(name, "no page of docs/ quotes it")
    first_steps = Path("docs/first_steps.md").read_text().splitlines()
    for source in sorted(Path("examples/first_steps").glob("*.*")):
        if f"[`{source}`](../{source})" not in first_steps:
            breach(source, "docs/first_steps.md does not name it in a line of its own, which the site takes the file from")
    for room in sorted([*Path("include/incontext").iterdir(), *Path("cuda/incontext").iterdir()]):
        if room.is_dir():
            first = Path("examples/first_steps", room.name + ".cpp")
            lines = len(first.read_text().splitlines()) if first.exists() else 0
            if not 15 <= lines <= 30:
                breach(first, f"the first program of {room} has {lines} lines, not 15 to 30")


def check_readme():
    readme = Path("README.md").read_text()
    if len(readme.splitlines()) > 90:
        breach("README.md", "over 90 lines; move the rest to a page of docs/")
    typed = re.search(r"^## Two commands.*?^```sh\n(.*?)^```", readme, re.M | re.S)
    typed = [line.partition("#")[0].strip() for line in typed[1].splitlines()] if typed else []
    run = [line for line in Path(".ci/run").read_text().splitlines() if line and not re.match(r"#|set |cd ", line)]
    if typed != ["scripts/verify", "scripts/test"] or run[:2] != typed:
        breach("README.md", f"its two commands are {typed}, those that .ci/run begins with {run[:2]}")


def check_compilations():
    flags = re.findall(r"COMPILE_LANG_AND_ID:CXX,[^>]*>:(\S+)>", Path("cmake/IncontextSimulate.cmake").read_text())
    for page in ("README.md", "docs/install.md"):
        lines = re.findall(r"g\+\+ -[^`\n]*/?cuda [^`\n]*", Path(page).read_text().replace("\\\n", " "))
        if not flags or not lines or any(flag not in line.split() for line in lines for flag in flags):
            breach(page, f"a line of g++ for simulations lacks one of {flags}, which CMake's targets have: {lines}")


def check_version():
    version = re.search(r"project\(incontext VERSION ([\d.]+)", Path("CMakeLists.txt").read_text())[1]
    stated = {
        "CITATION.cff": f"version: {version}\n",
        "CHANGELOG.md": f"\n## [{version}]",
        "packaging/conda-forge/recipe.yaml": f'\n  version: "{version}"\n',
        "packaging/debian/changelog": f"incontext ({version}-",
        "packaging/spack/package.py": f'\n    version("{version}", ',
        "packaging/vcpkg/ports/incontext/vcpkg.json": f'"version": "{version}"',
    }
    for page, line in stated.items():
        if line not in Path(page).read_text():
            breach(page, f"does not name version {version}, which CMakeLists.txt defines")


def check_recorded_commands():
    """A run that is kept names a task and options that its command line still has."""
    sources = "".join(path.read_text() for folder in ("train", "support") for path in Path("examples", folder).glob("*.cpp"))
    known = set(re.findall(r'"(--[a-z-]+)', sources))
    tasks = set(re.findall(r'"  incontext train (\w+)', sources))
    commands = [(path, json.loads(path.read_text())["command"]) for path in Path("examples/verify/recorded").glob("*.json")]
    for path in Path("bench/results").glob("trained-*"):
        commands += [(path, command) for command in re.findall(r"incontext.train[^`\n]*", path.read_text())]
    for path, command in commands:
        words = command.split()
        if words[:2] != ["incontext", "train"] or words[2] not in tasks:
            breach(path, f"there is no such program: {command}")
        for word in words:
            if word.startswith("--") and word not in known:
                breach(path, f"there is no option {word}: {command}")
    if len(commands) < 30:
        breach("examples/verify/recorded", f"{len(commands)} commands found, not 30")


def tracked_pages():
    pages = [*Path(".").glob("*.md"), *Path("docs").rglob("*.md"), *Path("packaging").rglob("*.md"), Path("bench/README.md"), Path("tests/gpu/README.md")]
    return sorted(str(page) for page in pages)


check_readme()
check_compilations()
check_version()
check_links(tracked_pages())
check_questions()
check_headers()
check_reference_values()
check_programs()
check_recorded_commands()
print("\n".join(breaches))
sys.exit(f"{len(breaches)} breaches" if breaches else 0)
