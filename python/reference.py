"""Writes the reference of the Python package, one Markdown page per module, from the documentation that help() shows.

    python3 python/reference.py FOLDER

FOLDER gets index.md, and a page for each module: every public name with its signature, its text, its members and its
examples, which the tests run. Neither PyTorch nor JAX has to be installed. Exit 77: this Python has no package
incontext of this tree's version.
"""
from __future__ import annotations

import enum
import importlib
import inspect
import pathlib
import re
import sys
from typing import Any
from unittest import mock

# the installed package, not the sources beside this script
sys.path = [folder for folder in sys.path if folder != str(pathlib.Path(__file__).resolve().parent)]

OPTIONAL = ("torch", "jax")
MODULES = ("regression", "scoring", "laws", "apply", "classification", "baselines", "training", "calibration",
           "simulate", "statistics", *OPTIONAL)
WIDTH = 72  # of a signature in one line


def public_names(module: Any) -> list[str]:
    """What dir() shows of a module, without what it imports."""
    own = [name for name in dir(module) if not name.startswith("_")]
    home = re.compile(rf"{re.escape(module.__name__)}$|incontext\._")
    return [name for name in own if home.match(getattr(getattr(module, name), "__module__", ""))]


def signatures(name: str, value: Any, text: str) -> tuple[list[str], str]:
    """The signatures of a name, and its documentation without them. Functions of C++ begin their text by theirs."""
    lines = text.splitlines()
    found = []
    while lines and re.match(rf"{re.escape(name)}\(", lines[0]):
        found.append(lines.pop(0))
    # what overloads say, once; their signatures are above
    texts = re.split(rf"^\d+\. ``{re.escape(name)}\(.*``$", "\n".join(lines), flags=re.M)
    texts = [one.strip() for one in texts if one.strip() not in ("", "Overloaded function.")]
    text = "\n\n".join(dict.fromkeys(texts))
    if isinstance(value, type) and issubclass(value, enum.Enum):
        found = [f"{name}.{choice}" for choice in value.__members__]
    elif hasattr(value, "_fields"):  # a record, with its defaults
        fields = [f"{field}={getattr(value, field)!r}" if hasattr(value, field) else field for field in value._fields]
        found = [f"{name}({', '.join(fields)})"]
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
    return [folded(re.sub(r"(: |-> )(['\"])(.*?)\2", r"\1\3", one)) for one in found], text


def folded(signature: str) -> str:
    """A signature, one parameter in each line where it is long."""
    if len(signature) <= WIDTH or "(" not in signature:
        return signature
    head, _, rest = signature.partition("(")
    parts, depth = [""], 1
    for place, character in enumerate(rest):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            break
        if character == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += character
    return f"{head}(\n" + "".join(f"    {part.strip()},\n" for part in parts) + rest[place:]


def markdown(text: str) -> str:
    """Documentation as Markdown: formulas are set off, the aligned paragraphs become a list, examples become code."""
    out: list[str] = []
    in_example = in_formula = in_code = False
    for line in inspect.cleandoc(text).splitlines():
        item = re.fullmatch(r"  (\w[\w, ]*(?= *:)|\w+ = [^:]+)(?:: (.*))?", line)
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
        if line.startswith("    ") and not in_formula and out and not out[-1] and not in_code:
            out.append("```python")
            in_code = True
        if in_code and line.startswith("    "):
            out.append(line[4:])
            continue
        if in_code:
            out.append("```")
            in_code = False
        opens = line.lstrip().startswith("$$")
        if opens and not in_formula:
            out.append("")
        if section and not in_formula:
            out.append(f"* **{section[1]}** {section[2]}")
        elif line == "Members" or line.startswith("Options ("):
            out += [f"**{line}**", ""]
        elif item and not in_formula:  # a member or an option with its default
            out.append(f"* `{item[1]}`" + (f": {item[2]}" if item[2] else ""))
        else:
            out.append(line.strip() if in_formula or not line.startswith("          ") else "  " + line.strip())
        if line.count("$$") % 2:
            in_formula = not in_formula
        if not in_formula and line.rstrip().endswith("$$"):
            out.append("")
    if in_example or in_code:
        out.append("```")
    text = re.sub(r"^```\n+```python$", "", "\n".join(out), flags=re.M)  # a blank line inside of code
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def entry(module: str, name: str, value: Any) -> str:
    """A public name's part of its module's page."""
    found, text = signatures(name, value, value.__doc__ or "")
    parts = [f"## {module}.{name}", "```python\n" + "\n".join(found) + "\n```", markdown(text)]
    for member, one in sorted(vars(value).items()) if isinstance(value, type) else ():
        if not member.startswith("_") and callable(one) and not isinstance(one, type):
            found, text = signatures(member, one, one.__doc__ or "")
            parts.append(f"### {name}.{member}\n\n```python\n" + "\n".join(found) + "\n```\n\n" + markdown(text))
    return "\n\n".join(parts)


def page(module_name: str, module: Any) -> str:
    """The page of a module."""
    names = sorted(public_names(module), key=lambda one: (one.lower(), one))
    entries = [entry(module_name, name, getattr(module, name)) for name in names]
    return "\n\n".join([f"# incontext.{module_name}", markdown(module.__doc__ or ""), *entries]) + "\n"


def package() -> Any:
    """The installed package, which has to be of this tree's version."""
    try:
        found = importlib.import_module("incontext")
    except ImportError as missing:
        print(f"{sys.executable} has no package incontext ({missing})", file=sys.stderr)
        sys.exit(77)
    project = pathlib.Path(__file__).resolve().parent.parent / "CMakeLists.txt"
    version = re.search(r"project\(incontext VERSION ([\d.]+)", project.read_text())
    if version and version[1] != found.__version__:
        print(f"{sys.executable} has incontext {found.__version__}, and this tree is {version[1]}", file=sys.stderr)
        sys.exit(77)
    return found


def stand_in_for_frameworks() -> None:
    """What `import torch` and `import jax` give where they fail: our modules are imported here and not called."""
    for name in OPTIONAL:
        try:
            importlib.import_module(name)
        except ImportError:
            framework = mock.MagicMock()
            framework.nn.Module = framework.autograd.Function = type("Base", (), {})
            sys.modules.update({name: framework, f"{name}.numpy": framework.numpy})


def main(folder: pathlib.Path) -> None:
    rows, about = [], markdown(package().__doc__ or "")
    folder.mkdir(parents=True, exist_ok=True)
    stand_in_for_frameworks()
    for name in MODULES:
        module = importlib.import_module(f"incontext.{name}")
        (folder / f"{name}.md").write_text(page(name, module))
        rows.append(f"* [`incontext.{name}`]({name}.md): {(module.__doc__ or '').strip().splitlines()[0]}")
    (folder / "index.md").write_text(f"# The Python package\n\n{about}\n\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("reference.py: needs the folder to write to")
    main(pathlib.Path(sys.argv[1]))
