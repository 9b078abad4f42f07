"""Reads what the package takes from the C++ headers: names, parameters, documentation.

    headers.py ROOT TABLE MAPS    writes the C++ table of documentation texts, and the classes of the maps in Python

The headers are the only place where a result is documented. The package shows their text with its formulas, and the
blocks of python/examples.txt below it. A block begins with [room::name], or with [room::name of Other] for a name that
shares the text of another. A first sentence, an example, lines "= formula" in NumPy, and a line "~ name: draws; ...
within tolerance" follow.
"""
from __future__ import annotations

import pathlib
import re
import sys
from dataclasses import dataclass, field

ROOMS = {
    "include/incontext/baselines": "baselines",
    "include/incontext/core": "core",
    "include/incontext/calibration": "calibration",
    "include/incontext/classification": "classification",
    "include/incontext/laws": "laws",
    "include/incontext/numerics": "numerics",
    "include/incontext/regression": "regression",
    "include/incontext/scoring": "scoring",
    "include/incontext/statistics": "statistics",
    "include/incontext/training": "training",
    "cuda/incontext/apply": "apply",
    "cuda/incontext/simulate/baselines": "simulate",
    "cuda/incontext/simulate/classification": "simulate",
    "cuda/incontext/simulate/engine": "simulate",
    "cuda/incontext/simulate/engine/records": "simulate",
    "cuda/incontext/simulate/gradients": "simulate",
    "cuda/incontext/simulate/regression": "simulate",
    "cuda/incontext/simulate/rows": "simulate",
    "cuda/incontext/sampled_training": "training",
}
NAMED_MAP = re.compile(r'NamedMap\{"([\w-]+)", "(\w+)(?:<\w+>)?",\s')
DECLARATION = re.compile(
    r"(?:^|\s)(?:struct|class|enum class)\s+(?:__attribute__\S+\s)?(?P<type>\w+)\s*(?:\{|:|;|$)"
    r"|(?P<function>\w+)\s*\((?P<parameters>.*)$",
    re.S,
)


@dataclass
class Entry:
    """One public name of a header."""

    name: str  # as laws::needle_weight
    header: str
    text: str
    is_function: bool
    subject: str = ""  # the type of the first parameter of a function
    parameters: list[tuple[str, str]] = field(default_factory=list)  # name, default or ""
    members: list[tuple[str, str]] = field(default_factory=list)  # name, its comment


def balanced(text: str) -> str:
    """The text up to the parenthesis that closes one opened before it."""
    depth = 1
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return text[:position]
    return text


def split_parameters(text: str) -> list[tuple[str, str]]:
    """The names and defaults of a parameter list."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text + ","):
        depth += (character in "(<{[") - (character in ")>}]")
        if character == "," and depth <= 0:
            parts.append(text[start:position].strip())
            start, depth = position + 1, 0
    found = []
    for part in filter(None, parts):
        declaration, _, default = part.partition("=")
        name = re.search(r"(\w+)\s*$", declaration.strip())
        if name and re.search(r"[\s&>]", declaration.strip()):
            found.append((name.group(1), default.strip()))
    return found


def members_of(lines: list[str]) -> list[tuple[str, str]]:
    """The data members of a struct's body, with the comments beside them."""
    found = []
    for line in lines:
        match = re.match(r"^  [\w:<>, ]+?\s(\w+)(?: = [^;]*| ?\{\})?;(?:\s*///<\s*(.*))?$", line)
        several = re.match(r"^  \w[\w:<>]* (\w+(?:, \w+)+);(?:\s*///<\s*(.*))?$", line)
        if several:
            found += [(name, several.group(2) or "") for name in several.group(1).split(", ")]
        elif match:
            found.append((match.group(1), match.group(2) or ""))
    return found


def parse(path: pathlib.Path, room: str, root: pathlib.Path) -> list[Entry]:
    """The documented names of one header."""
    lines = path.read_text().splitlines()
    entries, position, hidden = [], 0, 0
    while position < len(lines):
        line = lines[position]
        if re.match(r"namespace detail\b", line):
            while position < len(lines) and not re.match(r"\}\s*// namespace detail", lines[position]):
                position += 1
        if not lines[position].startswith("///"):
            position += 1
            continue
        comment = []
        while position < len(lines) and lines[position].startswith("///"):
            comment.append(lines[position][3:].removeprefix(" "))
            position += 1
        begin = position
        declaration = ""
        while position < len(lines) and lines[position].strip():
            declaration += lines[position] + "\n"
            position += 1
            if re.match(r"  requires .*\{$", lines[position - 1]):  # as long as its own braces
                while not lines[position - 1].startswith("  }"):
                    position += 1
            elif re.search(r"[;{]\s*(//.*)?$", lines[position - 1]):
                break
        # a template head or a requires clause is not the declaration
        plain = re.sub(r"^template <.*?>\n(?=\S)", "", declaration, count=1, flags=re.S)
        plain = re.sub(r"^  requires .*\n(?=\w)", "", plain, flags=re.M)
        plain = re.sub(r"\b(INCONTEXT_HD|inline|constexpr|static)\b\s*", "", plain)
        match = DECLARATION.search(plain)
        if not match or plain.startswith(("namespace", "concept", "using")):
            continue
        text = "\n".join(comment).strip()
        header = str(path.relative_to(root))
        if match.group("type"):
            body = []
            while "}" not in declaration and position < len(lines) and not lines[position].startswith("}"):
                body.append(lines[position])
                position += 1
            name = match.group("type")
            entries.append(Entry(f"{room}::{name}", header, text, False, members=members_of(body)))
        else:
            parameters = split_parameters(balanced(match.group("parameters")))
            subject = re.match(r"const (\w+)", match.group("parameters").strip())
            entries.append(Entry(f"{room}::{match.group('function')}", header, text, True, subject[1] if subject else "", parameters))
        position = max(position, begin + 1)
    return entries


def entries(root: pathlib.Path) -> dict[str, list[Entry]]:
    """All documented names, each with its overloads."""
    found: dict[str, list[Entry]] = {}
    for folder, room in ROOMS.items():
        for path in sorted((root / folder).glob("*.hpp")):
            if path.stem.endswith("_trial"):  # what a simulator draws, which Python has no access to
                continue
            for entry in parse(path, room, root):
                found.setdefault(entry.name, []).append(entry)
    return found


@dataclass
class Shown:
    """What examples.txt has on one name, beside the text of the headers."""

    of: str = ""  # the C++ name that has the text, where it is another
    lead: str = ""  # a first sentence
    example: str = ""
    formulas: list[tuple[str, str]] = field(default_factory=list)  # a definition or part of the result; its NumPy
    draws: str = ""  # how tests/python/test_formulas.py draws the arguments

    def text(self) -> str:
        lines = [f"    {'it' if left[:1] in ('', '.', '(', '[') else ''}{left} = {right}" for left, right in self.formulas]
        return "In NumPy:\n\n" + "\n".join(lines) if lines else ""


def shown(root: pathlib.Path) -> dict[str, Shown]:
    """The blocks of examples.txt by C++ name."""
    found: dict[str, Shown] = {}
    blocks = re.split(r"^\[([\w:]+)(?: of (\w+))?\]\n", (root / "python/examples.txt").read_text(), flags=re.M)
    for name, of, block in zip(blocks[1::3], blocks[2::3], blocks[3::3]):
        lines = re.sub(r"(?<=\n)([=~] .*(?:\n  .*)+)", lambda line: re.sub(r"\n +", " ", line[1]), "\n" + block).split("\n")
        rest = [line for line in lines if not line.startswith(("= ", "~ "))]
        lead, _, example = "\n".join(rest).strip().partition(">>> ")
        formulas = [line[2:].rpartition(" = ")[::2] for line in lines if line.startswith("= ")]
        draws = "".join(line[2:] for line in lines if line.startswith("~ "))
        found[name] = Shown(name.partition("::")[0] + "::" + (of or name.partition("::")[2]), lead.strip(),
                            example and ">>> " + example, formulas, draws)
    return found


# what becomes of C++'s exceptions and types in Python
IN_PYTHON = {
    "std::invalid_argument": "ValueError",
    "std::domain_error": "ValueError",
    "std::runtime_error": "RuntimeError",
    "std::bad_alloc": "MemoryError",
    "std::vector": "list",
    "std::array": "tuple",
    "numerics::QuadratureError": "laws.QuadratureError",
    "`convention` says": "`query` and `offset` say",
    "`convention` is that of": "`query` and `offset` are those of",
    "`tolerance` is the relative error at which the quadrature ends.\n\n": "",
    " stays above `tolerance`": " stays above its tolerance",
}


def readable(text: str) -> str:
    """Doxygen's formula marks as TeX's and Python's errors in the place of C++'s, without lines of C++."""
    formula = r"(\\f\[.*?\\f\])"  # whose own lines are indented, too
    parts = re.split(formula, text, flags=re.S)
    snippet = r"^ {4,9}\S.*\n?(?:^ {4,}\S.*\n?)*"  # fields go on at column 10, and so may a snippet
    text = "".join(part if k % 2 else re.sub(snippet, "", part, flags=re.M) for k, part in enumerate(parts))
    text = text.replace(r"\f[", "$$").replace(r"\f]", "$$").replace(r"\f$", "$")
    for name, word in IN_PYTHON.items():
        text = text.replace(name, word)
    # two of C++ that are one of Python
    text = re.sub(r"\bValueError(, (and )?| and | or )ValueError\b", "ValueError", text)
    text = text.replace("ValueError that name the", "ValueError that names the")
    text = re.sub(rf"\b({'|'.join(sorted(set(ROOMS.values())))})::", r"\1.", text)
    text = re.sub(r"^Runs on .*\n?(?:^ {4,}.*\n?)*", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


# whose texts are those of a template of C++
PER_MAP = {"softmax_of": "Softmax, SSMax, SSA, Elementwise", "entmax": "Entmax, Sparsemax"}


def documentation(overloads: list[Entry], own: Shown) -> str:
    """What Python shows for one name: every overload's text once, members, formulas in NumPy, an example."""
    parts: list[str] = [own.lead] if own.lead else []
    is_per_map = len({entry.subject for entry in overloads if "/scoring/" in entry.header}) > 3
    for entry in sorted(overloads, key=lambda entry: is_per_map and "/checked.hpp" not in entry.header):
        stem, text = pathlib.Path(entry.header).stem, readable(entry.text)
        if is_per_map and stem in ("hybrid_heads", "kernel_attention"):  # no Map of Python
            continue
        if is_per_map and stem != "checked":
            text = f"{PER_MAP.get(stem, entry.subject)}: {text}"
        if text not in parts:
            parts.append(text)
        noted = [f"  {name}: {note}" for name, note in entry.members if note and not name.endswith("_")]
        if noted:
            parts.append("Members\n" + "\n".join(noted))
    return "\n\n".join(filter(None, [*parts, own.text(), own.example]))


def texts(root: pathlib.Path) -> dict[str, str]:
    """The documentation of every name of the headers, and of those that share a text."""
    found, own = entries(root), shown(root)
    every = {name: Shown(of=name) for name in found} | {name: one for name, one in own.items() if one.of in found}
    for one in every.values():
        one.example = one.example or own.get(one.of, one).example
    return {name: documentation(found[one.of], one) for name, one in every.items()}


def maps_module(root: pathlib.Path) -> str:
    """A module with a class for every map of incontext::maps::named_maps, of the fields of its struct."""
    named = NAMED_MAP.findall((root / "include/incontext/maps/any_map.hpp").read_text())
    scoring = "".join(path.read_text() for path in sorted((root / "include/incontext/scoring").glob("*.hpp")))
    order = re.search(r"using Parameters = (.*?);", (root / "include/incontext/maps/any_map.hpp").read_text(), re.S)
    assert order
    parameters = [name.lower() for name in re.findall(r"parameter::(\w+)", order[1])]
    choices, classes = set(), []
    for name, kind in named:
        if kind == "RatioScore":
            continue
        struct = re.search(rf"^struct {kind} \{{\n(.*?)^\}};", scoring, re.M | re.S)
        assert struct, f"there is no struct of the map {kind}"
        fields = [f"{field}: Any = {float(start)}" for field, start in re.findall(r"^  T (\w+) = T\((.*)\);", struct[1], re.M)]
        for choice, field, start in re.findall(r"^  (\w+) (\w+) = \1::(\w+);", struct[1], re.M):
            choices.add(choice)
            fields.append(f"{field}: {choice} = {choice}.{start}")
        body = "".join(f"    {line}\n" for line in ['__module__ = "incontext.scoring"', f'_name = "{name}"', *fields])
        classes.append(f"class {kind}(Map):\n{body}")
    ratios = tuple(name for name, kind in named if kind == "RatioScore")
    return "\n\n".join([
        '"""The maps that have a name in C++, as classes. Written by headers.py from their headers."""',
        f"from __future__ import annotations\n\nfrom typing import Any\n\nfrom .scoring import {', '.join(sorted({*choices, 'Map'}))}\n",
        f"PARAMETERS = {tuple(parameters)}\nRATIO_FUNCTIONS = {ratios}\n", *classes])


def main() -> None:
    root, output, maps = map(pathlib.Path, sys.argv[1:])
    rows = []
    for name, text in sorted(texts(root).items()):
        # a literal of at most 16 kB each, in pieces, because compilers limit their length
        pieces = "\n".join(f'R"doc({text[k : k + 8000]})doc"' for k in range(0, max(len(text), 1), 8000))
        rows.append(f'    {{"{name}", {pieces}}},\n')
    table = "inline constexpr Docstring docstrings[] = {\n" + "".join(rows) + "};\n"
    inside = f"namespace incontext::python {{\n\n{table}\n}}  // namespace incontext::python\n"
    output.write_text(f"#pragma once\n\n{inside}")
    maps.write_text(maps_module(root))


if __name__ == "__main__":
    main()
