"""Writes the reference of the Python package, one Markdown page per module, from the documentation that help() shows.

    python3 python/reference.py FOLDER

It needs the package installed. FOLDER gets index.md, and a page for each module: every public name with its signature,
its text, its members and its examples, which the tests run.
"""
from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import sys
from typing import Any

# the installed package, not the sources beside this script
sys.path = [folder for folder in sys.path if folder != str(pathlib.Path(__file__).resolve().parent)]

OPTIONAL = ("torch", "jax")
MODULES = ("regression", "scoring", "laws", "apply", "classification", "baselines", "training", "calibration", "simulate",
           "statistics", *OPTIONAL)


def public_names(module: Any) -> list[str]:
    """What dir() shows of a module, without what it imports."""
    own = [name for name in dir(module) if not name.startswith("_")]
    return [name for name in own if getattr(getattr(module, name), "__module__", "").startswith("incontext")]


def signatures(name: str, value: Any, text: str) -> tuple[list[str], str]:
    """The signatures of a name, and its documentation without them. Functions of C++ begin their text by theirs."""
    lines = text.splitlines()
    found = []
    while lines and re.match(rf"{re.escape(name)}\(", lines[0]):
        found.append(lines.pop(0))
    text = re.sub(rf"^Overloaded function\.\n+1\. ``{re.escape(name)}\(.*``\n+", "", "\n".join(lines).strip())
    if not found:
        try:
            found = [name + str(inspect.signature(value))]
        except (TypeError, ValueError):
            found = [name]
    shorter = {"numpy.typing.ArrayLike": "ArrayLike", "collections.abc.": "", "incontext._core.": "",
               "incontext._arrays.": "", "incontext._simulate.": "",
               "incontext.": "", "typing.Any": "Any"}
    for long, short in shorter.items():
        found = [one.replace(long, short) for one in found]
    return found, text


def markdown(text: str) -> str:
    """Documentation as Markdown: formulas are set off, the aligned paragraphs become a list, examples become code."""
    out: list[str] = []
    in_example = in_formula = False
    for line in inspect.cleandoc(text).splitlines():
        section = re.match(r"([A-Z][a-z]+(?: on)?) {2,}(\S.*)", line)
        if line.startswith(">>>") and not in_example:
            out += ["", "```pycon"]
            in_example = True
        if in_example and not line.strip():
            out.append("```")
            in_example = False
        if in_example:
            out.append(line)
            continue
        opens = line.lstrip().startswith("$$")
        if opens and not in_formula:
            out.append("")
        if section and not in_formula:
            out.append(f"* **{section[1]}** {section[2]}")
        elif re.match(r"  \w[\w, ]*: ", line) and not in_formula:  # a member or an option
            name, _, note = line.strip().partition(": ")
            out.append(f"* `{name}`: {note}")
        else:
            out.append(line.strip() if in_formula or not line.startswith("          ") else "  " + line.strip())
        if line.count("$$") % 2:
            in_formula = not in_formula
        if not in_formula and line.rstrip().endswith("$$"):
            out.append("")
    if in_example:
        out.append("```")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def entry(module: str, name: str, value: Any) -> str:
    """A public name's part of its module's page."""
    found, text = signatures(name, value, value.__doc__ or "")
    parts = [f"## {module}.{name}", "```python\n" + "\n".join(found) + "\n```", markdown(text)]
    for member, one in sorted(vars(value).items()) if isinstance(value, type) else ():
        if not member.startswith("_") and callable(one) and one.__doc__:
            found, text = signatures(member, one, one.__doc__)
            parts.append(f"### {name}.{member}\n\n```python\n" + "\n".join(found) + "\n```\n\n" + markdown(text))
    return "\n\n".join(parts)


def page(module_name: str, module: Any) -> str:
    """The page of a module."""
    entries = [entry(module_name, name, getattr(module, name)) for name in sorted(public_names(module), key=lambda one: (one.lower(), one))]
    return "\n\n".join([f"# incontext.{module_name}", markdown(module.__doc__ or ""), *entries]) + "\n"


def main(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in MODULES:
        try:
            module = importlib.import_module(f"incontext.{name}")
        except ImportError as missing:
            if name not in OPTIONAL:
                raise
            print(f"left out: incontext.{name} ({missing})", file=sys.stderr)
            continue
        (folder / f"{name}.md").write_text(page(name, module))
        rows.append(f"* [`incontext.{name}`]({name}.md): {(module.__doc__ or '').strip().splitlines()[0]}")
    (folder / "index.md").write_text("# The Python package\n\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("reference.py: needs the folder to write to")
    main(pathlib.Path(sys.argv[1]))
