#!/usr/bin/env python3
"""check_emulator.py: the emulator beside the manual of PTX. It needs gcc and g++, and no nvcc.

Every instruction of instructions.py is run on values at the edges of its types and on random ones, and compared with
definitions.py. The kernels of movement.ptx move data and meet, and are compared with what their comments say. Each of
the faults that the emulator must notice is committed, and must be noticed.
"""
import itertools
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import definitions
from definitions import BITS, NAN
from instructions import BYTES, FLOATS, FORMS
from translate import Translator, Unknown

here = Path(__file__).resolve().parent
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
EDGES = {  # of floats, by their bits
    "f32": [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F800001, 0x3F7FFFFF, 0x3F000000, 0x3FC00000, 0x40200000,
            0x4B000001, 0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x5EFFFFFF, 0x5F000000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000],
    "f64": [0, 1, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x3FF0000000000000, 0x3FF0000000000001, 0x3FEFFFFFFFFFFFFF,
            0x3FE0000000000000, 0x3FF8000000000000, 0x4004000000000000, 0x36A0000000000000, 0x380FFFFFE0000000,
            0x3690000000000000, 0x41DFFFFFFFE00000, 0x41E0000000000000, 0x43DFFFFFFFFFFFFF, 0x43E0000000000000,
            0x43EFFFFFFFFFFFFF, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
            0x7FF8000000000000]}
COUNTS = [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 255, 256, 1 << 31, (1 << 32) - 1]
random.seed(20)
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def edges(t):
    bits = BITS[t]
    if t in FLOATS:
        return [value | sign << (bits - 1) for value in EDGES[t] for sign in (0, 1)]
    if t == "pred":
        return [0, 1]
    top = 1 << (bits - 1)
    near_the_ends = {0, 1, 2, 3, 10, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1}
    return sorted(near_the_ends | {count & (2 * top - 1) for count in COUNTS})


def any_of(t):
    """A random value: of floats many have exponents that are alike, so that sums cancel."""
    bits = random.getrandbits(BITS[t])
    if t in FLOATS and random.random() < 0.7:
        fraction = definitions.SIGNIFICAND[t] - 1
        exponent = (127 if t == "f32" else 1023) + random.randint(-30, 33)
        bits = bits >> (BITS[t] - 1) << (BITS[t] - 1) | exponent << fraction | bits & (1 << fraction) - 1
    return bits


def samples(types, divides):
    values = list(itertools.product(*(edges(t) for t in types)))
    random.shuffle(values)
    values = values[:1000] + [tuple(any_of(t) for t in types) for _ in range(500)]
    # a product that is nearly the negative of the third: one rounding, not two
    if len(types) == 3 and types[0] in FLOATS and types == (types[0],) * 3:
        for a, b, _ in values[-400:]:
            product = definitions.multiply(*(definitions.float_of(x, types[0]) for x in (a, b)), types[0], "n")
            if product != NAN:
                values.append((a, b, product ^ 1 << (BITS[types[0]] - 1)))
    if divides:
        # the manual leaves division by zero, and of the least signed number by -1, to the machine
        least = 1 << (BITS[types[0]] - 1)
        overflows = (least, 2 * least - 1) if types[0][0] == "s" else None
        values = [value for value in values if value[1] != 0 and value != overflows]
    return values


def register(t, name):
    return f".reg .{'pred' if t == 'pred' else 'b16' if BYTES[t] < 2 else f'b{8 * BYTES[t]}'} {name};"


def load(t, name, place):
    if t == "pred":
        return f"ld.global.b32 %word, [%in+{8 * place}]; setp.ne.b32 {name}, %word, 0;"
    return f"ld.global.{t} {name}, [%in+{8 * place}];"


def store(t, name, place):
    if t == "pred":
        return f"selp.b64 %long, 1, 0, {name}; st.global.b64 [%out+{8 * place}], %long;"
    if BYTES[t] < 8:
        return f"mov.b64 %long, 0; st.global.b64 [%out+{8 * place}], %long; st.global.{t} [%out+{8 * place}], {name};"
    return f"st.global.{t} [%out+{8 * place}], {name};"


def kernel(name, inputs, outputs, body):
    """A kernel whose thread i reads `inputs` words of eight bytes, and writes `outputs`."""
    return f""".visible .entry {name}(.param .u64 {name}_in, .param .u64 {name}_out)
{{
.reg .b64 %in, %out, %index, %place, %long; .reg .b32 %word, %x, %n;
mov.u32 %x, %ctaid.x; mov.u32 %n, %ntid.x; mul.lo.s32 %x, %x, %n; mov.u32 %n, %tid.x; add.s32 %x, %x, %n;
cvt.u64.u32 %index, %x;
ld.param.u64 %in, [{name}_in]; ld.param.u64 %out, [{name}_out];
mul.lo.s64 %place, %index, {8 * inputs}; add.s64 %in, %in, %place;
mul.lo.s64 %place, %index, {8 * outputs}; add.s64 %out, %out, %place;
{body}
ret;
}}
"""


def loaded(types):
    """Registers %o0, %o1 and so on of these types, with the words of the input."""
    return [part for i, t in enumerate(types) for part in (register(t, f"%o{i}"), load(t, f"%o{i}", i))]


def group_kernel(name, operands, forms):
    lines = loaded(operands)
    for i, form in enumerate(forms):
        result = FORMS[form].result
        lines += [register(result, f"%r{i}"), f"{form} %r{i}, {', '.join(f'%o{j}' for j in range(len(operands)))};",
                  store(result, f"%r{i}", i)]
    return kernel(name, len(operands), len(forms), "\n".join(lines))


def carry_kernel(name, operands, form):
    """The first operand sets the flag, which is read back after the instruction."""
    lines = loaded(("u32",) + operands) + [".reg .b32 %r, %flag;", "add.cc.u32 %flag, %o0, 4294967295;",
              f"{form} %r, {', '.join(f'%o{i + 1}' for i in range(len(operands)))};", "addc.u32 %flag, 0, 0;",
              store("u32", "%r", 0), store("u32", "%flag", 1)]
    return kernel(name, len(operands) + 1, 2, "\n".join(lines))


def translated(folder, text, *options):
    """Translates a text and compiles it with the program above."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "text.ptx").write_text(text)
    subprocess.run([sys.executable, here / "translate.py", *options, folder / "text.ptx", folder / "c"], check=True,
                   stdout=subprocess.DEVNULL)
    kernels = sorted((folder / "c").glob("kernel_*.c"))
    all_in_one = ['#include "common.c"'] + [f'#include "{file.name}"' for file in kernels]
    (folder / "c" / "all.c").write_text("\n".join(all_in_one) + "\n")
    subprocess.run(["bash", here / "compile.sh", folder / "kernels.o", folder / "c" / "all.c"], check=True)
    program = folder / "program"
    objects = [folder / "kernels.o", folder.parent / "machine.o", folder.parent / "kernels_program.o"]
    subprocess.run(["g++", *objects, "-o", program], check=True)
    return program


def run(program, calls, order="forward"):
    """The outputs of calls (kernel, blocks, threads, shared bytes, input, output bytes), or what the emulator says."""
    folder = program.parent
    (folder / "input").write_bytes(b"".join(call[4] for call in calls))
    arguments = [str(part) for call in calls for part in (*call[:4], len(call[4]), call[5])]
    done = subprocess.run([program, folder / "input", folder / "output", *arguments], stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PTX_ORDER": order}, timeout=600)
    if done.returncode != 0:
        return done.returncode, done.stderr
    data, outputs = (folder / "output").read_bytes(), []
    for call in calls:
        outputs.append(data[:call[5]])
        data = data[call[5]:]
    return 0, outputs


def words(*numbers):
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def check_instructions(folder):
    groups = {}
    for name, form in FORMS.items():
        if form.carry:
            groups[name] = (tuple(form.operands), [name])
        else:
            divides = form.operands[0] not in FLOATS and name.startswith(("div", "rem"))
            key = (tuple(form.operands), divides)
            groups.setdefault(key, (tuple(form.operands), []))[1].append(name)
    text, calls, plans = HEADER, [], []
    for i, (key, (operands, forms)) in enumerate(groups.items()):
        carries = bool(FORMS[forms[0]].carry)
        text += (carry_kernel if carries else group_kernel)(f"group_{i}", operands, forms[0] if carries else forms)
        values = samples(("pred",) * carries + operands, divides=key[-1] is True)
        values = (values * 128)[:max(128, len(values) // 128 * 128)]
        data = b"".join(words(*value) for value in values)
        outputs = 2 if carries else len(forms)
        calls.append((f"group_{i}", len(values) // 128, 128, 0, data, 8 * outputs * len(values)))
        plans.append((forms, values, carries))
    status, results = run(translated(folder / "instructions", text), calls)
    expect(status == 0, f"the instructions ran: {results}")
    tried = 0
    for (forms, values, carries), output in zip(plans, results if status == 0 else []):
        numbers = struct.unpack(f"<{len(output) // 8}Q", output)
        width = 2 if carries else len(forms)
        for i, name in enumerate(forms):
            wrong = []
            for j, value in enumerate(values):
                got = numbers[j * width + i]
                if carries:
                    good = (got, numbers[j * width + 1]) == definitions.with_carry(name, value[1:], value[0])
                else:
                    needed = definitions.expected(name, value)
                    if needed == NAN:
                        good = math.isnan(definitions.float_of(got, FORMS[name].result))
                    else:
                        good = needed(got) if callable(needed) else got == needed
                if not good:
                    wrong.append((value, got))
            tried += len(values)
            first = f"first {[hex(operand) for operand in wrong[0][0]]} gives {wrong[0][1]:#x}" if wrong else ""
            expect(not wrong, f"{name}: {len(wrong)} of {len(values)} are wrong, {first}")
    return f"{len(FORMS)} instructions on {tried} operands agree with their definitions"


def check_movement(folder):
    """The kernels of movement.ptx, in five orders of threads and blocks."""
    program = translated(folder / "movement", (here / "movement.ptx").read_text())
    bits = 0xFEDCBA9876543280
    data = [random.getrandbits(32) for _ in range(128)]
    low, high = 0x7766554433221100, 0xFFEEDDCCBBAA9988

    def reversed_blocks(values, threads):
        blocks = [values[first:first + threads] for first in range(0, len(values), threads)]
        return [one for block in blocks for value in block[::-1] for one in (value, value)]

    def shuffled(lane):
        segment = lane // 8 * 8
        down, bfly = (lane + 2, lane + 2 < segment + 8), (lane ^ 9, True)
        results = [(lane - 3, lane >= 3), down, bfly, (segment + 5, True)]
        return [100 + (source if inside else lane) | int(inside) << 32 for source, inside in results]
    half = [(1 if lane > 15 else 3) * ((16 if lane > 15 else 0) + 1) for lane in range(32)]
    ballot = sum(1 << lane for lane in range(0, 32, 3))
    cases = {  # kernel: blocks, threads, bytes of shared memory, input, output
        "widths": (1, 1, 0, [bits], [0x80, 0x80 - (1 << 8), 0x3280, 0x3280, 0x76543280, 0x76543280, bits,
                                     0x765432803280FF80]),
        "vectors": (1, 1, 0, [low, high], [0xBBAA9988FFEEDDCC, 0x3322110077665544, high, low, 0x3322110077665544,
                                           0x5544776655447766]),
        "branches": (1, 4, 0, [0], [10, 21, 130, 141]),
        "calls": (1, 8, 0, [0], [one for i in range(8) for one in (i * (i + 1) // 2, 28)]),
        "variables": (1, 1, 0, [0], [8, 4294967295, 9, 0x3FE0000000000000, 0xBFE0000000000000, 0]),
        "shared_memory": (2, 64, 512, data, reversed_blocks(data, 64)),
        "tree_sum": (1, 128, 0, data, [sum(data) & 0xFFFFFFFF]),
        "shuffles": (1, 64, 0, [0], [one for lane in [*range(32)] * 2 for one in shuffled(lane)]),
        "half_warps": (1, 32, 0, [0], [one | half[31] << 32 for one in half]),
        "votes": (1, 32, 0, [0], [ballot, 1, 0, 2] * 32),
        "same_word": (1, 32, 0, [0], [42, *struct.unpack("<4Q", bytes(range(32)))]),
    }
    for order in ("forward", "backward", "1", "2", "3"):
        calls = [(name, *case[:3], words(*case[3]), 8 * len(case[4])) for name, case in cases.items()]
        status, outputs = run(program, calls, order)
        expect(status == 0, f"movement.ptx ran in the order {order}: {outputs}")
        for (name, case), output in zip(cases.items(), outputs if status == 0 else []):
            wanted = [value & (1 << 64) - 1 for value in case[4]]
            got = list(struct.unpack(f"<{len(wanted)}Q", output))
            expect(got == wanted, f"{name} in the order {order}: {list(map(hex, got))}, not {list(map(hex, wanted))}")
    return f"{len(cases)} kernels that move data, branch and meet give what they must in five orders"


# Faults: the statements of a kernel, run by 2 blocks of 32 threads, and what the emulator says of them. The input and
# the output have 64 words of eight bytes each, and %x is the thread's number in the grid.
FAULTS = {
    "misaligned": ("ld.global.u32 %a, [%base+2];", "reads 4 bytes at"),
    "misaligned_vector": ("ld.global.v2.u64 {%l, %long}, [%base+8];", "reads 16 bytes at"),
    "behind": ("ld.global.u32 %a, [%base+512];", "reads 4 bytes at .*global memory"),
    "before": ("ld.global.u32 %a, [%base+-4];", "reads 4 bytes at"),
    "half_outside": ("st.global.v2.u64 [%base+504], {%l, %l};", "writes 16 bytes"),
    "of_the_host": ("ld.u32 %a, [4096];", "not of the GPU"),
    "parameters_overrun": ("ld.param.u64 %l, [parameters_overrun_out+8];", "reads 8 bytes at .*parameters"),
    "never_written": ("ld.global.u32 %a, [%out];", "reads 4 bytes at .*global memory"),
    "never_written_shared": ("ld.shared.u32 %a, [array];", "reads 4 bytes at .*shared memory"),
    "never_written_own": ("ld.local.u32 %a, [own];", "reads 4 bytes at .*the thread's own memory"),
    "partly_written_own": ("st.local.u32 [own], 1; ld.local.u64 %l, [own];",
                           "reads 8 bytes at .*the thread's own memory"),
    "own_overrun": ("st.local.u32 [own+16], 1;", "writes 4 bytes at .*the thread's own memory"),
    "shared_overrun": ("st.shared.u32 [array+128], 1;", "writes 4 bytes at .*shared memory"),
    "shared_of_before": ("setp.ne.u32 %p, %b, 0; @%p bra second; st.shared.u32 [%mine], 1; "
                         "second: ld.shared.u32 %a, [%mine];",
                         "reads 4 bytes at .*shared memory"),
    "no_barrier": ("st.shared.u32 [%mine], %x; ld.shared.u32 %a, [%other];",
                   "hazard in shared memory|reads 4 bytes at"),
    "no_second_barrier": ("st.shared.u32 [%mine], 1; bar.sync 0; ld.shared.u32 %a, [%other]; "
                          "st.shared.u32 [%mine], 2; bar.sync 0;",
                          "hazard in shared memory"),
    "all_write_one": ("st.shared.u32 [array], %x; bar.sync 0;", "hazard in shared memory"),
    "all_write_one_global": ("setp.eq.u32 %p, %b, 0; @%p st.global.u32 [%out_base], %x;", "hazard in global memory"),
    "blocks_meet": ("setp.eq.u32 %p, %tid, 0; @%p st.global.u32 [%out_base], %x;", "hazard in global memory"),
    "block_reads_block": ("setp.ne.u32 %p, %x, 40; @%p bra reads; st.global.u64 [%base], 1; bra end; "
                          "reads: ld.global.u64 %l, [%base]; end:",
                          "hazard in global memory"),
    "not_all_at_barrier": ("setp.lt.u32 %p, %tid, 16; @%p bar.sync 0;", "threads wait at a barrier, 16 have ended"),
    "barrier_and_warp": ("setp.lt.u32 %p, %tid, 16; @%p bar.sync 0; @!%p bar.warp.sync 4294967295;",
                         "wait in their warps"),
    "ended_in_mask": ("setp.lt.u32 %p, %tid, 16; @!%p bra end; shfl.sync.idx.b32 %a, %x, 0, 31, 4294967295; end:",
                      "has a thread that has ended|wait in their warps"),
    "not_in_own_mask": ("shfl.sync.idx.b32 %a, %x, 0, 31, 65535;", "not in the mask"),
    "source_not_in_mask": ("setp.lt.u32 %p, %tid, 16; @%p shfl.sync.idx.b32 %a, %x, 20, 31, 65535;",
                           "takes the value of lane 20"),
    "two_masks": ("setp.lt.u32 %p, %tid, 16; selp.b32 %a, 65535, 4294967295, %p; "
                  "shfl.sync.idx.b32 %a, %x, 0, 4127, %a;",
                  "wait in their warps|has a thread that has ended"),
    "two_instructions": ("setp.lt.u32 %p, %tid, 16; @%p bar.warp.sync 4294967295; "
                         "@!%p shfl.sync.idx.b32 %a, %x, 0, 31, 4294967295;",
                         "wait in their warps|has a thread that has ended"),
    "division": ("div.u32 %a, %x, 0;", "division of integers by zero"),
    "trapped": ("trap;", "emulator: trap"),
    "no_output": ("bra end; end:", "of which nothing wrote"),
}


def fault_kernel(name, statements):
    return kernel(name, 1, 1, f""".shared .align 16 .b8 array[128]; .local .align 16 .b8 own[16];
.reg .b64 %base, %out_base, %l; .reg .b32 %a, %b, %tid, %mine, %other; .reg .pred %p;
ld.param.u64 %base, [{name}_in]; ld.param.u64 %out_base, [{name}_out];
mov.u32 %b, %ctaid.x; mov.u32 %tid, %tid.x; mov.u32 %a, array;
mad.lo.s32 %mine, %tid, 4, %a; xor.b32 %other, %tid, 1; mad.lo.s32 %other, %other, 4, %a;
{statements}""")


def check_faults(folder):
    texts = "".join(fault_kernel(name, statements) for name, (statements, _) in FAULTS.items())
    program = translated(folder / "faults", HEADER + texts + fault_kernel("sound", "st.global.u64 [%out], %index;"))
    data = words(*range(64))
    for order in ("forward", "backward", "5"):
        sound = run(program, [("sound", 2, 32, 0, data, 512)], order)
        expect(sound == (0, [data]), f"the kernel without a fault runs, order {order}")
        for name, (_, message) in FAULTS.items():
            status, said = run(program, [(name, 2, 32, 0, data, 512)], order)
            is_noticed = status == 3 and re.search(message, said)
            expect(is_noticed, f"fault {name}, order {order}: exit status {status}: {said}")
    return f"{len(FAULTS)} faults are noticed in three orders"


REFUSED = ["frobnicate.u32 %a, %x;", "add.rn.sat.f32 %a, %a, %a;", "ld.acquire.global.u32 %a, [%in];",
           "ld.global.v3.u32 {%a, %a, %a}, [%in];", "bar.sync 1;", "shfl.down.b32 %a, %x, 1, 31;",
           "atom.global.add.u32 %a, [%in], 1;", "cvt.rn.f16.f32 %a, %x;", "add.u64 %in, %x, 1;",
           "setp.lt.b32 %p, %x, 1;", "mul.rn.f32 %a, %a, 2;", "mov.u32 %a, %clock;", "add.s32 %a, %x;",
           "call nothing, (%a);", "bra.never end;",
           "add.u32 %p, %x, 1;", "mov.u32 %a, unnamed;", "st.release.global.u32 [%in], %a;",
           "vote.sync.uni.pred %p, %p, -1;", "mov.u16 %a, 65536;", ".reg .f16 %h;", "fma.rn.relu.f32 %a, %a, %a, %a;"]


def check_refusals(folder):
    """What translate.py does not know, it names."""
    def refusal(statement, refuses_contraction=False):
        try:
            Translator(HEADER + fault_kernel("refused", statement), "unit", refuses_contraction)
        except Unknown as error:
            return str(error)
        return None
    for statement in REFUSED:
        said = refusal(statement)
        expect(said and said.endswith(", in refused"), f"{statement} is not refused by name: {said}")
    for name in ("add.f32", "sub.f64", "mul.f32"):
        statement = f"{name} {'%l, %l, %l' if name.endswith('64') else '%a, %a, %a'};"
        expect(refusal(statement, True), f"{name} may be contracted and is not refused")
        expect(not refusal(statement), f"{name} is refused: {refusal(statement)}")
    # translate.py as a program says so, too, and makes nothing
    (folder / "refused.ptx").write_text(HEADER + fault_kernel("refused", REFUSED[0]))
    done = subprocess.run([sys.executable, here / "translate.py", folder / "refused.ptx", folder / "refused"],
                          text=True, capture_output=True)
    expect(done.returncode == 1 and done.stderr == "translate.py: instruction frobnicate.u32, in refused\n" and
           not (folder / "refused").exists(), f"translate.py exits with {done.returncode} and says {done.stderr}")
    return f"{len(REFUSED) + 3} statements are refused"


def main():
    if not shutil.which("gcc") or not shutil.which("g++"):
        print("skipped: no gcc")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in ("machine", "kernels_program"):
            subprocess.run(["g++", "-std=c++20", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Wconversion",
                            "-Werror", "-c", here / f"{source}.cpp", "-o", folder / f"{source}.o"], check=True)
        for check in (check_refusals, check_faults, check_movement, check_instructions):
            before = len(failures)
            summary = check(folder)
            print(summary if len(failures) == before else f"{check.__name__}: {len(failures) - before} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
