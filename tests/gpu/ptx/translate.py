#!/usr/bin/env python3
"""translate.py [--refuse-contraction] [--instead PTX] FILE FOLDER: the kernels of a file, as C in a folder.

FILE is a text of PTX, or an object that nvcc made with --no-compress, which has such a text in it. Every kernel becomes
a C function that one thread runs, in a file of its own; common.h and common.c have what they share. Nothing is skipped:
an instruction that instructions.py does not define, or a modifier of ld, st, bar and so on that this file does not
name, is an error.

  --refuse-contraction  refuse a product or sum that ptxas may turn into a fused multiply-add
  --instead PTX         translate this text in the place of FILE's, whose name in the program it takes
"""
import argparse
import re
import sys
import zlib
from pathlib import Path

from instructions import BYTES, FLOATS, FORMS

SPACES = ("param", "shared", "global", "local", "const")
SPECIAL_REGISTERS = {"%tid": "tid", "%ntid": "ntid", "%ctaid": "ctaid", "%nctaid": "nctaid"}
GAP = 16  # bytes that belong to nobody, between the variables of a frame


class Unknown(Exception):
    """Something of PTX that is not known here."""


def c_name(name):
    return re.sub(r"\W", "_", name.replace("%", "r_").replace("$", "L_"))


def register_type(ptx_type):
    return "pred" if ptx_type == "pred" else f"b{8 * BYTES[ptx_type]}"


def aligned(offset, alignment):
    return (offset + alignment - 1) // alignment * alignment


def split_operands(text):
    """The parts of a list between its commas, those inside of brackets and braces left out."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return parts + [text[start:].strip()] if text.strip() else parts


def mark_of(text):
    """Says which text it is: its length and its Adler-32, as cudart.cpp computes them."""
    data = text.encode()
    return len(data) << 32 | zlib.adler32(data)


def text_of(path):
    """The PTX of a file: the file itself, or the text for the newest GPU in an object."""
    data = path.read_bytes()
    if not data.startswith(b"\x7fELF"):
        return data.decode()
    texts = [data[found.start():data.index(b"\0", found.start())].decode()
             for found in re.finditer(rb"\.version \d+\.\d+\s", data)]
    if not texts:
        raise Unknown(f"{path} has no PTX, or it is compressed (nvcc --no-compress)")
    return max(texts, key=lambda text: int(re.search(r"\.target sm_(\d+)", text)[1]))


class Function:
    """A kernel, or a function that kernels call."""

    def __init__(self, name, is_kernel, parameters, results, most_threads, body):
        self.name, self.is_kernel, self.body = name, is_kernel, body
        self.parameters, self.results = parameters, results  # (name, bytes, alignment)
        self.most_threads = most_threads
        self.scopes = [{}]  # names: ("register", type) or ("memory", C of the address)
        self.lines = []
        self.frame = []  # (offset, bytes) of variables in the thread's own memory
        self.frame_bytes = 0
        self.meets = False
        self.calls = set()
        self.tables = {}

    def find(self, name):
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def reserve(self, name, size, alignment):
        offset = aligned(self.frame_bytes, max(16, alignment))
        self.scopes[-1][name] = ("memory", f"(frame + {offset})")
        self.frame.append((offset, size))
        self.frame_bytes = offset + size + GAP

    def prototype(self, unit):
        if self.is_kernel:
            return f"void {unit}_{c_name(self.name)}(Thread* thread)"
        addresses = "".join(f", u64 p{i}" for i in range(len(self.results + self.parameters)))
        return f"void {unit}_{c_name(self.name)}(Thread* thread{addresses})"


class Translator:
    def __init__(self, text, unit, refuses_contraction, counts=False):
        self.unit, self.refuses_contraction, self.counts = unit, refuses_contraction, counts
        self.variables = {}  # of the module: name -> (bytes, alignment, initial value)
        self.shared = {}  # name -> (bytes, alignment, is the launch's)
        self.functions = {}
        self.forms = set()  # those that occur
        self.parse(text)
        for function in self.functions.values():
            self.translate(function)

    # ---- the file: variables and functions ----

    def parse(self, text):
        text = re.sub(r"/\*.*?\*/", "", re.sub(r"//[^\n]*", "", text), flags=re.S)
        text = re.sub(r"^\s*\.(version|target|address_size|file|loc)\b[^\n]*$", "", text, flags=re.M)
        item = re.compile(r"\s*(?:\.(?:visible|weak|extern|common)\s+)*\.(entry|func|global|const|shared)\b")
        at = 0
        blank = re.compile(r"\s*\Z")
        while not blank.match(text, at):
            found = item.match(text, at)
            if not found:
                raise Unknown("outside of functions: " + text[at:at + 100].strip())
            kind, start = found[1], found.end()
            end = text.index(";", start)
            brace = text.find("{", start)
            if kind in ("global", "const", "shared"):
                self.add_variable(kind, text[start:end], ".extern" in found[0])
                at = end + 1
            elif brace < 0 or end < brace:  # a declaration
                at = end + 1
            else:
                depth, at = 1, brace + 1
                while depth > 0:
                    next_brace = re.compile(r"[{}]").search(text, at)
                    depth += 1 if next_brace[0] == "{" else -1
                    at = next_brace.end()
                self.add_function(kind == "entry", text[start:brace], text[brace + 1:at - 1])

    def add_variable(self, kind, text, is_extern):
        found = re.fullmatch(r"\s*(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)((?:\[\d*\])*)\s*(?:=\s*(.*))?", text, re.S)
        if not found:
            raise Unknown("variable:" + text)
        size = BYTES[found[2]]
        for length in re.findall(r"\[(\d*)\]", found[4]):
            size *= int(length or 0)
        alignment = int(found[1] or BYTES[found[2]])
        if kind == "shared":
            self.shared[found[3]] = (size, alignment, is_extern)
            return
        initial = None
        if found[5]:
            numbers = split_operands(found[5].strip().strip("{}"))
            if not all(re.fullmatch(r"-?\d+|0[fFdD][0-9a-fA-F]+", number) for number in numbers):
                raise Unknown("initial value of " + found[3])
            initial = (found[2], [re.sub(r"^0[fFdD]", "0x", number) for number in numbers])
        self.variables[found[3]] = (size, alignment, initial)

    def add_function(self, is_kernel, head, body):
        found = re.match(r"\s*(?:\((?P<results>[^)]*)\)\s*)?(?P<name>[\w$]+)\s*(?:\((?P<parameters>[^)]*)\))?", head)
        rest = head[found.end():]
        most = re.search(r"\.maxntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", rest)
        unknown = re.sub(r"\.(maxntid|minnctapersm|reqntid)[\s\d,]*|\.noinline", "", rest).strip()
        if unknown or ".reqntid" in rest:
            raise Unknown(f"directive of {found['name']}: {rest.strip()}")
        most_threads = int(most[1]) * int(most[2] or 1) * int(most[3] or 1) if most else 1024

        def declarations(text):
            result = []
            for one in split_operands(text or ""):
                found = re.fullmatch(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+"
                                     r"(?:\.ptr\s+(?:\.\w+\s+)?(?:\.align\s+\d+\s+)?)?([\w$]+)(?:\[(\d+)\])?", one)
                if not found:
                    raise Unknown("parameter: " + one)
                size = BYTES[found[2]]
                result.append((found[3], size * int(found[4] or 1), int(found[1] or size)))
            return result
        self.functions[found["name"]] = Function(found["name"], is_kernel, declarations(found["parameters"]),
                                                 declarations(found["results"]), most_threads, body)

    # ---- operands ----

    @staticmethod
    def holds(register_of, t):
        """Whether a register of one type may stand for another: of predicates none, else one that is no wider."""
        return (register_of == "pred") == (t == "pred") and BYTES[register_of] >= BYTES[t]

    def value(self, f, text, t):
        """C of an operand as the bits of the type t."""
        if text.startswith("%"):
            special, _, axis = text.partition(".")
            if special in SPECIAL_REGISTERS and axis in ("x", "y", "z"):
                return f"thread->{SPECIAL_REGISTERS[special]}[{'xyz'.index(axis)}]"
            if text == "%laneid":
                return "(thread->number & 31)"
        if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", text) and BYTES[t] == 4:
            return f"0x{text[2:]}u"
        if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", text) and BYTES[t] == 8:
            return f"0x{text[2:]}ull"
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", text) and t not in FLOATS:
            number = int(text.rstrip("U"), 0)
            if t == "pred":
                return str(int(number != 0))
            if not -(1 << (8 * BYTES[t] - 1)) <= number < 1 << (8 * BYTES[t]):
                raise Unknown(f"a number that {t} does not have: {text}")
            return f"{number & ((1 << 8 * BYTES[t]) - 1)}ull"
        named = f.find(text)
        if named is not None and named[0] == "register":
            if not self.holds(named[1], t):
                raise Unknown(f"operand {text} of type {named[1]} where {t} is needed")
            return c_name(text)
        if named is not None:
            return named[1]
        if text in self.shared:  # an address in the window of shared memory
            return f"{self.unit}_SHARED_{c_name(text)}"
        if text in self.variables:
            return f"{self.unit}_AT_{c_name(text)}"
        raise Unknown("operand " + text)

    def set(self, f, register, value, t):
        """C that gives a register a value of the type t: a wider one gets it extended, as the type says."""
        if register == "_":
            return f"(void)({value});"
        named = f.find(register)
        if named is None or named[0] != "register" or not self.holds(named[1], t):
            raise Unknown(f"result {register} of type {t}")
        return f"{c_name(register)} = {value};"

    def address(self, f, text, space):
        found = re.fullmatch(r"\[\s*([^+\s]+?)\s*(?:\+\s*(-?\d+))?\s*\]", text)
        if not found:
            raise Unknown("address " + text)
        offset = int(found[2] or 0)
        if space != "shared":
            return f"{self.value(f, found[1], 'u64')} + {offset & (1 << 64) - 1}ull"
        named = f.find(found[1])
        t = named[1] if named is not None and named[0] == "register" else "b32"
        return f"thread->shared + (u32)({self.value(f, found[1], t)} + {offset & (1 << 32) - 1}u)"

    # ---- instructions ----

    def instruction(self, f, name, operands):
        if name in FORMS:
            return self.computation(f, name, operands)
        base, *modifiers = name.split(".")
        method = getattr(self, "on_" + base, None)
        if method is None:
            raise Unknown("instruction " + name)
        return method(f, name, modifiers, operands)

    def computation(self, f, name, operands):
        form = FORMS[name]
        if form.may_be_contracted and self.refuses_contraction:
            raise Unknown(f"{name} may be contracted by ptxas")
        if len(operands) != len(form.operands) + 1:
            raise Unknown(f"{name} with {len(operands)} operands")
        self.forms.add(name)
        values = [self.value(f, text, t) for text, t in zip(operands[1:], form.operands)]
        values += ["&carry"] if form.carry else []
        return self.set(f, operands[0], f"ptx_{c_name(name)}({', '.join(values)})", form.result)

    def type_of(self, name, modifiers, allowed=()):
        """The type that ends an instruction's name; no other modifier than those allowed is before it."""
        if not modifiers or modifiers[-1] not in BYTES or not set(modifiers[:-1]) <= set(allowed):
            raise Unknown("instruction " + name)
        return modifiers[-1]

    def on_mov(self, f, name, modifiers, operands):
        t = self.type_of(name, modifiers)
        target, source = operands
        if "{" not in target + source:
            return self.set(f, target, self.value(f, source, "b" + t[1:] if t in FLOATS and source[0] == "%" else t), t)
        parts = split_operands((target if "{" in target else source).strip("{}"))
        bits = 8 * BYTES[t] // len(parts)
        if bits not in (16, 32) or "{" in target and "{" in source:
            raise Unknown(f"{name} {', '.join(operands)}")
        if "{" in source:
            joined = " | ".join(f"(u64){self.value(f, part, f'b{bits}')} << {bits * i}" for i, part in enumerate(parts))
            return self.set(f, target, f"(b{8 * BYTES[t]})({joined})", t)
        whole = self.value(f, source, f"b{8 * BYTES[t]}")
        pieces = [self.set(f, part, f"(b{bits})(whole >> {bits * i})", f"b{bits}") for i, part in enumerate(parts)]
        return f"{{ const u64 whole = {whole}; {' '.join(pieces)} }}"

    def access(self, f, name, modifiers, address, registers, allowed):
        """The type and registers of a load or store, and C of its first arguments."""
        t = self.type_of(name, modifiers, SPACES + ("v2", "v4") + allowed)
        space = next((m for m in modifiers if m in SPACES), "generic")
        parts = split_operands(registers.strip("{}"))
        if len(parts) != int(next((m[1] for m in modifiers if m in ("v2", "v4")), 1)):
            raise Unknown(f"{name} {registers}")
        may_be_visible = int(space in ("generic", "global", "shared"))
        return t, parts, f"thread, {self.address(f, address, space)}, {BYTES[t] * len(parts)}, {may_be_visible}"

    def on_ld(self, f, name, modifiers, operands):
        t, parts, arguments = self.access(f, name, modifiers, operands[1], operands[0], ("volatile", "nc"))
        c_type = t if t[0] in "su" else register_type(t)  # a wider register gets it extended
        return (f"{{ {c_type} v[{len(parts)}]; load({arguments}, v); " +
                " ".join(self.set(f, part, f"v[{i}]", t) for i, part in enumerate(parts)) + " }")

    def on_st(self, f, name, modifiers, operands):
        t, parts, arguments = self.access(f, name, modifiers, operands[0], operands[1], ("volatile",))
        values = ", ".join(f"({register_type(t)}){self.value(f, part, t)}" for part in parts)
        return f"{{ const {register_type(t)} v[] = {{{values}}}; store({arguments}, v); }}"

    def on_cvta(self, f, name, modifiers, operands):
        """Between a generic address and that of a space: they differ for shared memory alone."""
        if self.type_of(name, modifiers, SPACES + ("to",)) != "u64":
            raise Unknown(name)
        value = self.value(f, operands[1], "u64")
        if "shared" in modifiers:
            value += " - thread->shared" if "to" in modifiers else " + thread->shared"
        return self.set(f, operands[0], value, "u64")

    def on_bra(self, f, name, modifiers, operands):
        if modifiers not in ([], ["uni"]):
            raise Unknown(name)
        return f"goto {c_name(operands[0])};"

    def on_brx(self, f, name, modifiers, operands):
        if modifiers[0] != "idx":
            raise Unknown(name)
        cases = " ".join(f"case {i}: goto {c_name(label)};" for i, label in enumerate(f.tables[operands[1]]))
        return f"switch ({self.value(f, operands[0], 'u32')}) {{ {cases} default: stop_by_trap(thread); }}"

    def on_ret(self, f, name, modifiers, operands):
        if modifiers not in ([], ["uni"]):
            raise Unknown(name)
        return "goto end_of_function;"

    def on_exit(self, f, name, modifiers, operands):
        if modifiers or not f.is_kernel:
            raise Unknown(name)
        return "goto end_of_function;"

    def on_trap(self, f, name, modifiers, operands):
        return "stop_by_trap(thread);"

    def on_bar(self, f, name, modifiers, operands):
        f.meets = True
        if modifiers == ["sync"] and operands == ["0"]:
            return "meet_block(thread);"
        if modifiers == ["warp", "sync"]:
            return f"meet_warp(thread, {self.value(f, operands[0], 'u32')});"
        raise Unknown(f"{name} {', '.join(operands)}")

    def on_shfl(self, f, name, modifiers, operands):
        f.meets = True
        if modifiers[0] != "sync" or modifiers[2:] != ["b32"] or modifiers[1] not in ("up", "down", "bfly", "idx"):
            raise Unknown(name)
        target, _, inside = operands[0].partition("|")
        values = ", ".join(self.value(f, text, "u32") for text in operands[1:])
        return (f"{{ pred is_inside; const u32 value = shuffle(thread, shuffle_{modifiers[1]}, {values}, &is_inside); "
                f"{self.set(f, target, 'value', 'b32')} {self.set(f, inside or '_', 'is_inside', 'pred')} }}")

    def on_vote(self, f, name, modifiers, operands):
        f.meets = True
        if modifiers[0] != "sync" or modifiers[1:] not in (["ballot", "b32"], ["all", "pred"], ["any", "pred"]):
            raise Unknown(name)
        mask = self.value(f, operands[2], "u32")
        votes = f"vote_ballot(thread, {self.value(f, operands[1], 'pred')}, {mask})"
        votes = {"ballot": votes, "all": f"{votes} == {mask}", "any": f"{votes} != 0"}[modifiers[1]]
        return self.set(f, operands[0], votes, modifiers[2])

    def on_call(self, f, name, modifiers, operands):
        if modifiers not in ([], ["uni"]):
            raise Unknown(name)
        # (results), function, (arguments): the first and the last may be missing
        results = operands.pop(0) if operands[0].startswith("(") else ""
        function = self.functions.get(operands[0])
        arguments = operands[1] if len(operands) > 1 else ""
        if function is None or function.is_kernel or len(operands) > 2:
            raise Unknown(f"call of {operands[0]}")
        f.calls.add(operands[0])
        addresses = [f.find(one)[1] for text in (results, arguments) for one in split_operands(text.strip("()"))]
        if len(addresses) != len(function.results + function.parameters):
            raise Unknown(f"arguments of {operands[0]}")
        return f"{self.unit}_{c_name(operands[0])}({', '.join(['thread'] + addresses)});"

    # ---- bodies ----

    def translate(self, f):
        offset = 0
        f.parameter_places = []
        for i, (name, size, alignment) in enumerate(f.parameters if f.is_kernel else f.results + f.parameters):
            offset = aligned(offset, alignment)
            f.scopes[0][name] = ("memory", f"(thread->parameters + {offset})" if f.is_kernel else f"p{i}")
            f.parameter_places.append((offset, size))
            offset += size
        f.parameter_bytes = offset
        try:
            for piece in re.finditer(r"[{}]|[$\w]+\s*:(?!:)|[^;{}]*(?:\{[^{};]*\}[^;{}]*)*;", f.body):
                self.statement(f, piece[0].strip())
        except Unknown as error:
            raise Unknown(f"{error}, in {f.name}") from None
        except (LookupError, TypeError, ValueError):  # operands or modifiers that the statement does not have
            raise Unknown(f"statement {piece[0].strip()}, in {f.name}") from None

    def statement(self, f, text):
        if text == "{":
            f.scopes.append({})
            f.lines.append("{")
            return
        if text == "}":
            f.scopes.pop()
            f.lines.append("}")
            return
        label = re.match(r"([$\w]+)\s*:(?!:)\s*", text)
        if label:
            text = text[label.end():]
            targets = re.match(r"\.branchtargets\s+(.*);", text, re.S)
            if targets:
                f.tables[label[1]] = split_operands(targets[1])
                return
            f.lines.append(c_name(label[1]) + ":;")
            return self.statement(f, text) if text else None
        text = " ".join(text.rstrip(";").split())
        if not text or re.match(r"\.(pragma|loc)\b", text):
            return
        if text.startswith("."):
            self.declaration(f, text)
            return
        guard = re.match(r"@(!?)(%\w+)\s+", text)
        name, _, rest = text[guard.end() if guard else 0:].partition(" ")
        c = self.instruction(f, name, split_operands(rest))
        if self.counts:
            f.lines.append("++thread->instructions;")
        f.lines.append(f"if ({guard[1]}{self.value(f, guard[2], 'pred')}) {{ {c} }}" if guard else c)

    def declaration(self, f, text):
        registers = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", text)
        if registers:
            names = []
            for name in split_operands(registers[2]):
                series = re.fullmatch(r"(%\w+)<(\d+)>", name)
                names += [f"{series[1]}{i}" for i in range(int(series[2]))] if series else [name]
            f.scopes[-1].update((name, ("register", registers[1])) for name in names)
            for i in range(0, len(names), 16):
                zeros = ", ".join(c_name(name) + " = 0" for name in names[i:i + 16])
                f.lines.append(f"{register_type(registers[1])} {zeros};")
            return
        found = re.fullmatch(r"\.(local|param|shared)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?", text)
        if not found:
            raise Unknown("directive " + text)
        size, alignment = BYTES[found[3]] * int(found[5] or 1), int(found[2] or BYTES[found[3]])
        if found[1] == "shared":
            self.shared[found[4]] = (size, alignment, False)
        else:
            f.reserve(found[4], size, alignment)

    # ---- the C files ----

    def write(self, folder, mark):
        unit = self.unit
        kernels = [f for f in self.functions.values() if f.is_kernel]
        helpers = [f for f in self.functions.values() if not f.is_kernel]
        met = -1
        while met != sum(f.meets for f in self.functions.values()):  # who calls one that meets, meets
            met = sum(f.meets for f in self.functions.values())
            for f in self.functions.values():
                f.meets |= any(self.functions[name].meets for name in f.calls)

        head = ["#pragma once", '#include "machine.h"']
        for name in sorted(self.forms):
            head.append(definition(name, FORMS[name]))
        shared_bytes = 0
        for name, (size, alignment, is_extern) in sorted(self.shared.items(), key=lambda entry: entry[1][2]):
            shared_bytes = aligned(shared_bytes, max(16, alignment))
            head.append(f"#define {unit}_SHARED_{c_name(name)} {shared_bytes}u")
            shared_bytes += 0 if is_extern else size
        shared_bytes = aligned(shared_bytes, 16)
        head += [f"extern u64 {unit}_AT_{c_name(name)};" for name in self.variables]
        head += [f.prototype(unit) + ";" for f in self.functions.values()]
        (folder / "common.h").write_text("\n".join(head) + "\n")

        for i, f in enumerate(kernels):
            (folder / f"kernel_{i}.c").write_text(self.body(f))
        frames = sum(aligned(f.frame_bytes, 16) for f in helpers)
        rows, lines = [], ['#include "common.h"']
        lines += [self.body(f).partition("\n")[2] for f in helpers]
        for name, (size, _, initial) in self.variables.items():
            lines.append(f"u64 {unit}_AT_{c_name(name)};")
            if initial:
                t, count = register_type(initial[0]), size // BYTES[initial[0]]
                lines.append(f"static const {t} INITIAL_{c_name(name)}[{count}] = {{{', '.join(initial[1])}}};")
        for f in kernels:
            places = ", ".join(f"{{{offset}, {size}}}" for offset, size in f.parameter_places)
            lines.append(f"static const Parameter PARAMETERS_{c_name(f.name)}[] = {{{places or '{0, 0}'}}};")
            own_bytes = aligned(f.frame_bytes, 16) + frames
            rows.append(f'{{"{f.name}", {unit}_{c_name(f.name)}, {int(f.meets)}, {len(f.parameters)}, '
                        f"PARAMETERS_{c_name(f.name)}, {f.parameter_bytes}, {shared_bytes}, {own_bytes}, "
                        f"{f.most_threads}}}")
        lines.append("static const Kernel kernels[] = {" + ",\n".join(rows) + "};")
        rows = []
        for name, (size, alignment, initial) in self.variables.items():
            value = f"INITIAL_{c_name(name)}" if initial else "0"
            rows.append(f'{{"{name}", {size}, {alignment}, {value}, &{unit}_AT_{c_name(name)}}}')
        lines.append("static const Variable variables[] = {" + ",\n".join(rows or ["{0, 0, 0, 0, 0}"]) + "};")
        lines.append(f"static const Module module = {{{mark}ull, kernels, {len(kernels)}, "
                     f"variables, {len(self.variables)}}};")
        lines.append("__attribute__((constructor)) static void register_this(void) { register_module(&module); }")
        (folder / "common.c").write_text("\n".join(lines) + "\n")
        return len(kernels), sum(f.meets for f in kernels)

    def body(self, f):
        size = aligned(f.frame_bytes, 16)
        lines = ['#include "common.h"', f.prototype(self.unit) + " {", "pred carry = 0;",
                 "const u64 frame = thread->local;", f"thread->local += {size};"]
        lines += [f"know(frame + {offset}, {count}, fresh_byte);" for offset, count in f.frame]
        lines += f.lines + ["end_of_function:;", "(void)carry;", f"know(frame, {size}, unknown_byte);",
                            "thread->local = frame;", "}"]
        return "\n".join(lines) + "\n"


def definition(name, form):
    """The C function of an instruction: bits in, bits out."""
    def parameter(t, letter):
        return f"{register_type(t)} {letter}_" if t in FLOATS else f"{t} {letter}"
    parameters = [parameter(t, letter) for t, letter in zip(form.operands, "abcd")]
    lines = [f"const {t} {letter} = {t}_of({letter}_);" for t, letter in zip(form.operands, "abcd") if t in FLOATS]
    result = form.result
    if form.carry:
        parameters.append("pred* carry_flag")
        lines += ["const u64 carry = *carry_flag; (void)carry;", f"const u64 value = {form.value};"]
        lines += ["*carry_flag = value >> 32 & 1;"] if "w" in form.carry else []
        lines += ["return (u32)value;"]
    elif result in FLOATS:
        lines.append(f"return bits_of_{result}({form.value});")
        result = register_type(result)
    else:
        lines.append(f"return ({result})({form.value});")
    return f"static inline {result} ptx_{c_name(name)}({', '.join(parameters)}) {{ {' '.join(lines)} }}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--refuse-contraction", action="store_true")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--instead", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    try:
        text = text_of(arguments.file)
        mark = mark_of(text)
        changed = arguments.instead.read_text() if arguments.instead else text
        translator = Translator(changed, f"unit_{mark:016x}", arguments.refuse_contraction, arguments.count)
    except Unknown as error:
        sys.exit(f"translate.py: {error}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for old in arguments.folder.glob("*.[cho]"):
        old.unlink()
    kernels, meeting = translator.write(arguments.folder, mark)
    print(f"{kernels} kernels, {meeting} of which have threads that wait for one another; "
          f"{len(translator.forms)} forms of instructions")


if __name__ == "__main__":
    main()
