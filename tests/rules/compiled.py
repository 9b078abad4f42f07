"""What the compiled edition holds is what the headers have: no result is forgotten.

    compiled.py ROOT

In the rooms of cmake/IncontextCompiled.cmake, each header of maps/, and each that reaches Eigen or quadrature, ends with a line
INCONTEXT_COMPILED for each of its function templates of one scalar or of one map, and for each class template. A header
whose lines name another unit than its path is refused, too.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
QUADRATURE = "incontext/numerics/quadrature.hpp"
ONE_SCALAR = re.compile(r"<(Real T( = double|, class M = Matrix<T>)?|class N, Real T = RealOf<N>)>")
ONE_MAP = re.compile(r"<((Real|class) T, )?scoring::SoftmaxLike Map(, class M = Matrix<T>)?>")


def end_of(text: str, position: int, pair: str) -> int:
    """The position after the bracket that closes the one at `position`."""
    depth = 0
    while True:
        depth += (text[position] == pair[0]) - (text[position] == pair[1])
        position += 1
        if depth == 0:
            return position


def without_details(text: str) -> str:
    text, kept, position = re.sub(r"//.*", "", text), "", 0
    for match in re.finditer(r"^namespace detail \{", text, re.M):
        kept += text[position:match.start()]
        position = end_of(text, match.end() - 1, "{}")
    return kept + text[position:]


def templates(text: str) -> list[tuple[str, str, str]]:
    """The public templates of a header: name, list of parameters of the template, and of the function ("" of a class)."""
    found, text = [], without_details(text)
    for match in re.finditer(r"^template (?=<)", text, re.M):
        end = end_of(text, match.end(), "<>")
        head, rest = text[match.end():end], re.sub(r"^\s*requires .*\n", "", text[end:]).lstrip()
        type_name = re.match(r"class (\w+)[^;{]*(.)", rest)
        function = re.match(r"[^;{=]*?(\w+)\(", rest)
        if type_name:
            if type_name[2] == "{":
                found.append((type_name[1], head, ""))
        elif function and not re.match(r"(struct|concept|using|inline|constexpr)\b", rest) and "::" + function[1] not in function[0]:
            start = function.end() - 1
            parameters = rest[start:end_of(rest, start, "()")]
            types = re.sub(r"(\s+\w+)?(\s*=[^,]*?)?\s*(?=,|\)$)", "", parameters)
            found.append((function[1], head, re.sub(r"\s+", "", types)))
    return found


def faults(texts: dict[str, str]) -> list[str]:
    """What is wrong with the headers: path below include/ to text."""

    def reached(header: str, seen: set[str]) -> set[str]:
        if header not in seen and header in texts:
            seen.add(header)
            for include in re.findall(r'^#include "(.*)"', texts[header], re.M):
                reached(include, seen)
        return seen

    rooms = re.search(r"set\(INCONTEXT_COMPILED_ROOMS (.*)\)", (ROOT / "cmake/IncontextCompiled.cmake").read_text())[1].split()
    found = []
    for header, text in sorted(texts.items()):
        room, _, file = header.removeprefix("incontext/").partition("/")
        lines = re.findall(r"^INCONTEXT_COMPILED(\w*)\(\s*(\w+),((?:.|\n)*?)\);$", text, re.M)
        unit = f"{room}_{file.removesuffix('.hpp')}"
        found += [f"{header}: the unit {of} is not {unit}" for _, of, _ in lines if of != unit]
        all_reached = reached(header, set())
        costly = room == "maps" or QUADRATURE in all_reached or any("<Eigen/" in texts[one] for one in all_reached)
        if room not in rooms or "/" in file or header == QUADRATURE or not costly:
            found += [f"{header}: has lines for the compiled edition, which does not look there"] if lines and "/" in file else []
            continue
        wanted = collections.defaultdict(set)
        for name, head, parameters in templates(text):
            if ONE_SCALAR.fullmatch(head) or ONE_MAP.fullmatch(head):
                wanted[name].add(parameters)
        for name, overloads in wanted.items():
            named = sum(bool(re.match(rf"\s*(.*[\s])?{name}\b", what)) for _, _, what in lines)
            if named < len(overloads):
                found.append(f"{header}: {name} is named {named} times, for {len(overloads)} template(s)")
    return found


texts = {path.relative_to(ROOT / "include").as_posix(): path.read_text() for path in (ROOT / "include").rglob("*.hpp")}
reported = faults(texts)
print("\n".join(reported))
# the check can fail: without its lines, a header is reported with each of its names; so is a line of another unit
header = "incontext/regression/softmax_optimum.hpp"
bare = re.sub(r"^INCONTEXT_COMPILED.*\n", "", texts[header], flags=re.M)
moved = texts[header].replace("(regression_softmax_optimum,", "(regression_optimum,")
assert len(faults(texts | {header: bare})) == len(reported) + 4, faults(texts | {header: bare})
assert len(faults(texts | {header: moved})) > len(reported)
sys.exit(bool(reported))
