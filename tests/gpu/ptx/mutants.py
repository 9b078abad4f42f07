#!/usr/bin/env python3
"""mutants.py FOLDER FILE.o...: wrong kernels must be noticed.

The objects, of which nvcc made the first from tests/apply/device.cu, are what the program links that runs its kernels;
FOLDER is where emulate.sh left the kernels' C and objects. One instruction of a kernel at a time is changed in the text
of PTX: a barrier is left out, an index is off by one, a product and a sum become one fused multiply-add, the mask, the
segment or the lane of a shuffle is another. The kernel is translated, and the program linked and run again. It must
fail, and of the barriers, each left out alone, all but one must be missed: the last of call_by_blocks, which is there
for functions that do not wait at their end. A place that the program does not reach proves nothing: a mark is put there
first, which must stop the program. The GPU has little memory, so that a block computes several batches.
"""
import copy
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from translate import Translator, mark_of, text_of

ATTENTION = r"RunBlock\w*SoftmaxBatchINS4_12LinearReaderINS_7scoring7SoftmaxIf"
HALF_WARPS = r"call_by_half_warps\w*SoftmaxIfEENS4_7Weights"
COPY = r"call_by_blocks\w*CopyTileIf"


class Programs:
    """Builds the program with a changed kernel, and runs it."""

    def __init__(self, folder, objects):
        text = text_of(objects[0])
        self.translator = Translator(text, f"unit_{mark_of(text):016x}", True)
        self.kernels = [f for f in self.translator.functions.values() if f.is_kernel]
        self.folder, self.objects = folder, objects
        self.runs = 0

    def kernel(self, pattern):
        found = [i for i, f in enumerate(self.kernels) if re.search(pattern, f.name)]
        assert len(found) == 1, f"{len(found)} kernels are called {pattern}"
        return found[0]

    def first_reached(self, kernel, body, places, but=()):
        """The number of the place that the program reaches first, or None; the places in `but` are not looked at."""
        marked, end = "", 0
        for i, place in enumerate(places):  # a load from an address that is not the GPU's and says which place it is
            marked += body[end:place.start()] + (place[0] if i in but else f"ld.u32 _, [{4096 * (i + 1)}];")
            end = place.end()
        _, said = self.fails(kernel, marked + body[end:])
        found = re.search(r"reads 4 bytes at ([0-9a-f]+) \(not of the GPU\)", said)
        return int(found[1], 16) // 4096 - 1 if found else None

    def fails(self, kernel, body):
        """Whether the program fails with this body of the kernel, and what it says."""
        f = copy.copy(self.kernels[kernel])
        f.body, f.lines, f.scopes, f.frame, f.frame_bytes = body, [], [{}], [], 0
        self.translator.translate(f)
        others = [file for file in sorted(self.folder.glob("*.c.o")) if file.name != f"kernel_{kernel}.c.o"]
        with tempfile.TemporaryDirectory() as name:
            work = Path(name)
            (work / "kernel.c").write_text(self.translator.body(f).replace("common.h", str(self.folder / "common.h")))
            compile_script = Path(__file__).resolve().parent / "compile.sh"
            subprocess.run(["bash", compile_script, work / "kernel.o", work / "kernel.c"], check=True)
            subprocess.run(["g++", work / "kernel.o", *others, *self.objects, "-o", work / "program"], check=True)
            try:
                done = subprocess.run([work / "program"], text=True, capture_output=True, timeout=900,
                                      env=dict(os.environ, PTX_MEMORY="8000000"))
            except subprocess.TimeoutExpired:
                return True, "does not end"
        self.runs += 1
        said = done.stderr.strip().splitlines() or [line for line in done.stdout.splitlines() if "FAILED" in line]
        return done.returncode != 0, said[0] if said else "passes"


def changed(body, place, text):
    return body[:place.start()] + text + body[place.end():]


def contracted(body, product):
    """The text of the first sum that takes a product which nothing else takes, and of the fused operation."""
    t, result, a, b = product.groups()
    uses = list(re.finditer(re.escape(result) + r"\b", body))
    found = re.compile(rf"add\.rn\.{t}\s+(%\w+), (?:{result}, (%\w+)|(%\w+), {result});").search(body, product.end())
    if len(uses) != 2 or not found or re.search(r"\n\$?\w+:", body[product.end():found.start()]):
        return None
    return found, f"fma.rn.{t} {found[1]}, {a}, {b}, {found[2] or found[3]};"


def main():
    folder, *objects = (Path(name).resolve() for name in sys.argv[1:])
    programs = Programs(folder / "0", objects)
    failures = 0

    def expect(kernel, what, body, must_fail=True):
        nonlocal failures
        fails, said = programs.fails(kernel, body)
        failures += fails != must_fail
        print(f"{'ok' if fails == must_fail else 'FAILED'}: {what}: {said[:150]}", flush=True)

    attention, half_warps = programs.kernel(ATTENTION), programs.kernel(HALF_WARPS)
    body = programs.kernels[attention].body
    expect(attention, "the kernel as it is", body, must_fail=False)
    barriers = list(re.finditer(r"bar\.sync 0;", body))
    reached = set()
    while (i := programs.first_reached(attention, body, barriers, reached)) is not None:
        reached.add(i)
    print(f"{len(reached)} of {len(barriers)} barriers are reached: {sorted(reached)}")
    needed = set()
    for i in sorted(reached):
        fails, said = programs.fails(attention, changed(body, barriers[i], ""))
        needed |= {i} if fails else set()
        print(f"without barrier {i}: {said[:150]}", flush=True)
    are_needed = len(needed) >= len(reached) - 1
    failures += not are_needed
    print(f"{'ok' if are_needed else 'FAILED'}: {len(needed)} of {len(reached)} barriers are missed")

    def a_reached(kernel, body, pattern):
        places = list(re.finditer(pattern, body))
        return places[programs.first_reached(kernel, body, places)]

    at = r"\[(%\w+)(?:\+(-?\d+))?\]"
    for instruction in (rf"ld\.global\.f32 %\w+, {at};", rf"st\.global\.f32 {at}, %\w+;",
                        rf"ld\.shared\.f32 %\w+, {at};", rf"st\.shared\.f32 {at}, %\w+;"):
        place = a_reached(attention, body, instruction)
        off = re.sub(r"\[.*\]", f"[{place[1]}+{int(place[2] or 0) + 4}]", place[0])
        expect(attention, f"{off} for {place[0]}", changed(body, place, off))
    products = [found for product in re.finditer(r"mul\.rn\.(f32)\s+(%\w+), (%\w+), (%\w+);", body)
                if (found := contracted(body, product))]
    print(f"{len(products)} products may be contracted")
    place, fused = products[programs.first_reached(attention, body, [place for place, _ in products])]
    expect(attention, f"{fused} for {place[0]}", changed(body, place, fused))

    body = programs.kernels[half_warps].body
    expect(half_warps, "the kernel as it is", body, must_fail=False)
    mask = a_reached(half_warps, body, r"mov\.[ub]32 (%\w+), 65535;")
    expect(half_warps, "a mask of 15 lanes", changed(body, mask, mask[0].replace("65535", "32767")))
    expect(half_warps, "a mask of the wrong half", changed(body, mask, mask[0].replace("65535", "-65536")))
    segments = a_reached(half_warps, body, r"mov\.[ub]32 (%\w+), 4127;")
    expect(half_warps, "a segment of 32 lanes", changed(body, segments, segments[0].replace("4127", "31")))
    # the lanes of some shuffles all have the same value, so that only all of them together are sure to change something
    of_lane_7 = re.sub(r"(shfl\.sync\.idx\.b32 [^,]+, %\w+), (%\w+|\d+), (%\w+, %\w+;)", r"\1, 7, \3", body)
    expect(half_warps, "every shuffle takes another lane's value", of_lane_7)
    tile = programs.kernel(COPY)
    body = programs.kernels[tile].body
    barriers = list(re.finditer(r"bar\.sync 0;", body))
    expect(tile, "a copy of a matrix without its barrier", changed(body, barriers[0], ""))
    print(f"{programs.runs} programs were linked and run")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
