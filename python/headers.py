"""Reads what the package takes from the C++ headers: names, parameters, documentation.

    headers.py ROOT INCLUDE RECORDS    writes headers of C++, documentation texts and the records' fields, into the folder
                                       INCLUDE, and the classes of records, choices and maps in Python into RECORDS

The headers are the only place where a result is documented, and where a struct's members are listed: records.txt names the
structs that are classes of Python. The package shows the headers' text with its formulas, and the blocks of
python/examples.txt below it. A block begins with [room::name], or with [room::name of Other] for a name that
shares the text of another. A first sentence, an example, lines "= formula" in NumPy, and a line "~ name: draws; ...
within tolerance" follow.
"""
from __future__ import annotations

import pathlib
import re
import sys
from dataclasses import dataclass, field
from typing import Iterator, NamedTuple

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


class Member(NamedTuple):
    """A data member of a struct, or one of an enumeration."""

    name: str
    note: str  # the comment beside it
    type: str = ""
    start: str = ""  # what it is initialized by


@dataclass
class Entry:
    """One public name of a header."""

    name: str  # as laws::needle_weight
    header: str
    text: str
    is_function: bool
    subject: str = ""  # the type of the first parameter of a function
    parameters: list[tuple[str, str]] = field(default_factory=list)  # name, default or ""
    members: list[Member] = field(default_factory=list)


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


def members_of(lines: list[str]) -> list[Member]:
    """The data members of a struct's body, with the comments beside them."""
    found = []
    for line in re.sub(r" =\n +", " = ", "\n".join(lines)).split("\n"):
        match = re.match(r"^  (?!using|return|friend)([\w:]+(?:<[\w:<>, ]+>)?) (\w[^;]*);(?:\s*///<\s*(.*))?", line)
        if not match:
            continue
        for declared in re.split(r", (?=\w+(?:,|$| = ))", match[2]):
            one = re.fullmatch(r"(\w+)(?: = (.*)| ?(\{\}))?", declared)
            if one:
                found.append(Member(one[1], match[3] or "", match[1], one[2] or one[3] or ""))
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
    "NaN row, see the top of this file": "ValueError for a row without a visible score, or with NaN or +infinity",
    "NaN row, see the top of softmax_of.hpp": "ValueError for a row without a visible score, or with NaN or +infinity",
    "; a parameter the map does not have does not compile": "; a parameter that the map does not have",
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


def noted(members: list[Member]) -> str:
    lines = [f"  {one.name}: {one.note}" for one in members if one.note and not one.name.endswith("_")]
    return "\n".join(["Members", *lines]) if lines else ""


# whose texts are those of a template of C++
PER_MAP = {"softmax_of": "Softmax, SSMax, SSA", "entmax": "Entmax, Sparsemax"}


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
        parts.append(noted(entry.members))
    return "\n\n".join(filter(None, [*parts, own.text(), own.example]))


def texts(root: pathlib.Path) -> dict[str, str]:
    """The documentation of every name of the headers, and of those that share a text."""
    found, own = entries(root), shown(root)
    every = {name: Shown(of=name) for name in found} | {name: one for name, one in own.items() if one.of in found}
    for one in every.values():
        one.example = one.example or own.get(one.of, one).example
    return {name: documentation(found[one.of], one) for name, one in every.items()}


@dataclass
class Type:
    """A struct or an enumeration of the headers."""

    text: str
    members: list[Member]
    declaration: str  # as "template <Real T>\\nstruct Attention"
    namespace: str


def types(root: pathlib.Path) -> dict[str, Type]:
    """The structs and enumerations of every room, those of its folder detail included, by name: laws::SearchPlace."""
    found: dict[str, Type] = {}
    for folder, room in ROOMS.items():
        for path in [*(root / folder / "detail").glob("*.hpp"), *(root / folder).glob("*.hpp")]:
            lines = path.read_text().splitlines()
            for begin, line in enumerate(lines):
                match = re.match(r"(struct|enum class) (?:__attribute__\S+ )?(\w+) \{(.*)$", line)
                if not match:
                    continue
                end = next(k for k in range(begin, len(lines)) if lines[k].startswith("}") or k == begin and "}" in line)
                above = begin
                while lines[above - 1].startswith(("///", "template")):
                    above -= 1
                text = "\n".join(one[4:] for one in lines[above:begin] if one.startswith("///"))
                if match[1] == "struct":
                    members = members_of(lines[begin + 1 : end])
                else:
                    body = "\n".join([match[3].partition("}")[0], *lines[begin + 1 : end]])
                    one = r"(\w+),? *(?:///< *(.*))?(?:\n|$|(?= ))"
                    members = [Member(name, note) for name, note in re.findall(one, body)]
                head = "".join(re.sub(r" = \w+(<\w+>)?", "", one) + "\n" for one in lines[above:begin] if one.startswith("template"))
                namespaces = [one for one in lines[:begin] if one.startswith("namespace incontext")]
                declaration = f"{head}{match[1]} {match[2]}"
                found[f"{room}::{match[2]}"] = Type(text, members, declaration, namespaces[-1].split()[1] if namespaces else "")
    return found


class Field(NamedTuple):
    """A field of a record: its name, annotation and default in Python, and the member of C++."""

    name: str
    annotation: str
    default: str
    member: str


@dataclass
class Record:
    """A class of records.txt."""

    room: str
    kind: str
    name: str
    cpp: str  # as numerics::SearchPlace
    required: int | None
    fields: list[Field] = field(default_factory=list)


INTEGERS = ("int", "int64_t", "uint64_t", "size_t", "ptrdiff_t", "Count")
PLAIN = {"bool": "bool", "string": "str", "double": "float", "T": "float", **dict.fromkeys(INTEGERS, "int")}


def annotation(cpp: str, kind: str, known: set[str]) -> str:
    """The type of a member in Python, "" where there is none."""
    outer, _, inner = re.sub(r"\w+::", "", cpp).removesuffix(">").partition("<")
    if outer == "optional":
        return annotation(inner, kind, known) + " | None"
    if outer == "array":
        one, _, size = inner.rpartition(", ")
        return f"tuple[{', '.join([annotation(one, kind, known)] * int(size))}]"
    if outer == "vector":
        one = annotation(inner, kind, known)
        return f"list[{one}]" if kind == "results" or one in known else "Any"
    if outer in PLAIN:
        return "Any" if kind == "arrays" or (kind == "kernels" and cpp == "T") else PLAIN[outer]
    return "Any" if outer in ("Vector", "Matrix", "M") else outer if outer in known else ""


def default(member: Member, annotated: str) -> str:
    """What a member begins with, in Python; "" for nothing."""
    start = re.sub(r"\bT\(([^()]*)\)", r"\1", member.start)
    if start == "{}":
        if annotated.startswith("list["):
            return "[]"
        empty = {"str": '""', "Any": "((),)" if "Matrix" in member.type else "()"}
        return empty.get(annotated, f"{annotated}()")
    if start.startswith("{"):
        return f"({float(start[1:-1])},)"
    if start in ("true", "false"):
        return start.capitalize()
    if "numeric_limits" in start:
        return "math.nan" if "quiet_NaN" in start else "math.inf"
    if "::" in start:
        return f"{annotated}.{start.rpartition('::')[2]}"
    is_literal = re.fullmatch(r"[\d.e-]+", start) and annotated != "int"
    return str(float(start)) if is_literal else start


def fields(record: Record, headers: dict[str, Type], known: set[str]) -> Iterator[Field]:
    """The fields of a record; a member of a type that Python has not gives its own members."""
    room = record.cpp.partition("::")[0]
    for member in headers[record.cpp].members:
        annotated = annotation(member.type, record.kind, known)
        if annotated:
            yield Field(member.name, annotated, default(member, annotated), member.name)
            continue
        inner = Record(record.room, record.kind, "", member.type if "::" in member.type else f"{room}::{member.type}", 0)
        yield from (one._replace(member=f"{member.name}.{one.member}") for one in fields(inner, headers, known))


def records(root: pathlib.Path, headers: dict[str, Type]) -> list[Record]:
    """The classes of records.txt. As for functions of Python, a default counts where every later field has one."""
    found = []
    lines = re.sub(r"^#.*\n", "", (root / "python/records.txt").read_text(), flags=re.M).replace("\n  ", " ").split("\n")
    for room, kind, *names in filter(None, map(str.split, lines)):
        for one in names:
            match = re.fullmatch(r"(\w+)(?::(\d))?(?:=(\S+))?", one)
            assert match, one
            found.append(Record(room, kind, match[1], match[3] or f"{room}::{match[1]}", int(match[2]) if match[2] else None))
    known = {record.name for record in found}
    for record in found:
        if record.kind == "choices":
            continue
        own = list(fields(record, headers, known))
        required = record.required if record.required is not None else len(own) if record.kind == "results" else 0
        required = max([required, *(place + 1 for place, one in enumerate(own) if not one.default)])
        record.fields = [one._replace(default=one.default if place >= required else "") for place, one in enumerate(own)]
    return found


def extended(root: pathlib.Path, room: str) -> set[str]:
    """The records of a room to which a class of the same name, written by hand, adds something."""
    return set(re.findall(r"^class (\w+)\(_\1\b", (root / f"python/incontext/{room}.py").read_text(), re.M))


def class_of(name: str, base: str, room: str, lines: list[str]) -> str:
    body = "".join(f"    {line}\n" for line in [f'__module__ = "incontext.{room}"', *lines])
    return f"class {name}({base}):\n{body}"


def record_lines(record: Record) -> list[str]:
    return [f"{one.name}: {one.annotation}" + (f" = {one.default}" if one.default else "") for one in record.fields]


def choice_class(record: Record, about: Type) -> str:
    text = "\n\n".join(filter(None, [readable(about.text), noted(about.members)]))
    body = re.sub(r"\n(?=[^\n])", "\n    ", f'r"""{text}"""')
    return class_of(record.name, "Choice", record.room, [f"{one.name} = {value}" for value, one in enumerate(about.members)]
                    ).replace("):\n", f"):\n    {body}\n\n", 1)


WRITTEN = "Written by headers.py from the headers of C++."


def records_module(room: str, every: list[Record], headers: dict[str, Type], by_hand: set[str]) -> str:
    """A module with the choices and records of a room."""
    own = [record for record in every if record.room == room and record.kind != "kernels"]
    used = set(re.findall(r"[A-Z]\w+", "\n".join(line for record in own for line in record_lines(record))))
    imports, types_alone = ["from .._record import Choice, Record"], []
    for other in sorted({record.room for record in every}):
        of_room = [record for record in every if record.room == other and record.name in used]
        choices = sorted(record.name for record in of_room if record.kind == "choices")
        if choices and other != room:
            imports.append(f"from .{other} import {', '.join(choices)}")
        # these are not there yet when this module is loaded
        records_of_room = [record.name for record in of_room if record.kind != "choices"]
        later = sorted(name for name in records_of_room if other != room or name in by_hand)
        if later:
            types_alone.append(f"    from ..{other} import {', '.join(later)}")
    if types_alone:
        imports += ["\nif TYPE_CHECKING:", *types_alone]
    classes = []
    for record in own:
        if record.kind == "choices":
            classes.append(choice_class(record, headers[record.cpp]))
        elif record.name in by_hand:
            classes.append(class_of(f"_{record.name}", "Record", room, record_lines(record)))
        else:
            base = "Record" if record.cpp == f"{room}::{record.name}" else f'Record, cpp="{record.cpp}"'
            classes.append(class_of(record.name, base, room, record_lines(record)))
    return "\n\n".join([f'"""The choices and records of a room. {WRITTEN}"""\nfrom __future__ import annotations\n\nimport math\n'
                        "from typing import TYPE_CHECKING, Any\n\n" + "\n".join(imports) + "\n", *classes])


def types_header(every: list[Record], headers: dict[str, Type]) -> str:
    """What records.hpp takes of each type: the class of Python, and a struct's members with the names of their fields."""
    declarations, classes = [], []
    for record in every:
        about = headers[record.cpp]
        declarations.append(f"namespace {about.namespace} {{\n{about.declaration};\n}}\n")
        scalar = "<double, Eigen::MatrixXd>" if "class M>" in about.declaration else "<double>"
        cpp = f"{about.namespace}::{about.declaration.rpartition(' ')[2]}" + scalar * about.declaration.startswith("template")
        path = f"{record.room}.{record.name}"
        is_choice = record.kind == "choices"
        name = f'io_name("incontext.{path} | str", "incontext.{path}")' if is_choice else f'const_name("incontext.{path}")'
        lines = ["template <>", f"struct PythonClass<{cpp}> {{", f'  static constexpr auto path = "{path}";',
                 f"  static constexpr auto name = nanobind::detail::{name};"]
        if record.fields:
            visits = " ".join(f'visit("{one.name}", record.{one.member});' for one in record.fields)
            lines.append(f"  static void each_field(auto& record, const auto& visit) {{ {visits} }}")
        classes.append("\n".join([*lines, "};\n"]))
    return "\n".join(['#pragma once\n\n#include <nanobind/nanobind.h>\n\n#include <Eigen/Core>\n\n#include "incontext/core/real.hpp"\n', *declarations,
                      "namespace incontext::python {\n\ntemplate <class T>\nstruct PythonClass {};\n", *classes,
                      "}  // namespace incontext::python\n"])


def maps_module(root: pathlib.Path, every: list[Record], headers: dict[str, Type]) -> str:
    """A module with a class for every map of incontext::maps::named_maps, and for every kernel."""
    table = (root / "include/incontext/maps/any_map.hpp").read_text()
    order = re.search(r"using Parameters = (.*?);", table, re.S)
    assert order
    parameters = [name.lower() for name in re.findall(r"parameter::(\w+)", order[1])]
    choices, classes = {record.name for record in every if record.kind == "choices"}, []
    named = NAMED_MAP.findall(table)
    for name, kind in named:
        if kind != "RatioScore":
            own = Record("scoring", "kernels", kind, f"scoring::{kind}", None)
            own.fields = list(fields(own, headers, choices))
            classes.append(class_of(kind, "Map", "scoring", [f'_name = "{name}"', *record_lines(own)]))
    classes += [class_of(one.name, "_Kernel", "scoring", record_lines(one)) for one in every if one.kind == "kernels"]
    used = sorted(choices & set(re.findall(r"\w+", "".join(classes))))
    ratios = tuple(name for name, kind in named if kind == "RatioScore")
    return "\n\n".join([
        f'"""The maps that have a name in C++, and the kernels. {WRITTEN}"""\n'
        "from __future__ import annotations\n\nfrom typing import Any\n\n"
        f"from ..scoring import {', '.join(sorted([*used, 'Map', '_Kernel']))}\n",
        f"PARAMETERS = {tuple(parameters)}\nRATIO_FUNCTIONS = {ratios}\n", *classes])


def write(path: pathlib.Path, text: str) -> None:
    """Writes a file where it differs, so that what depends on it is not made again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    root, include, folder = map(pathlib.Path, sys.argv[1:])
    rows = []
    for name, text in sorted(texts(root).items()):
        # a literal of at most 16 kB each, in pieces, because compilers limit their length
        pieces = "\n".join(f'R"doc({text[k : k + 8000]})doc"' for k in range(0, max(len(text), 1), 8000))
        rows.append(f'    {{"{name}", {pieces}}},\n')
    table = "inline constexpr Docstring docstrings[] = {\n" + "".join(rows) + "};\n"
    inside = f"namespace incontext::python {{\n\n{table}\n}}  // namespace incontext::python\n"
    read = types(root)
    every = records(root, read)
    write(include / "record_types.hpp", types_header(every, read))
    write(folder / "__init__.py", f'"""The classes of records, choices and maps. {WRITTEN}"""\n')
    write(folder / "maps.py", maps_module(root, every, read))
    for room in sorted({record.room for record in every}):
        write(folder / f"{room}.py", records_module(room, every, read, extended(root, room)))
    (include / "docstrings_table.hpp").write_text(f"#pragma once\n\n{inside}")


if __name__ == "__main__":
    main()
