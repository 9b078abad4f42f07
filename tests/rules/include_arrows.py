"""include_arrows.py ROOT: the only includes between rooms are the arrows below; outside libraries likewise. A room not
named here is a breach. detail/ is closed: no room includes the detail/ of another one, or names what is in its namespace
detail. (Names of simulate::detail are free: simulate/engine/, which apply runs on too, puts them there.)"""
import os
import re
import sys
from pathlib import Path

ROOMS = {
    "core": "",
    "random": "core",
    "scoring": "core",
    "statistics": "core",
    "numerics": "core",
    "maps": "core scoring",
    "laws": "core numerics scoring maps",
    "regression": "core numerics scoring maps laws",
    "classification": "core numerics random scoring maps laws",
    "baselines": "core numerics random laws",
    "training": "core numerics scoring maps statistics laws regression classification",
    "calibration": "core numerics scoring maps statistics laws regression",
    "simulate": "core numerics random scoring maps laws regression classification baselines training statistics",
    "apply": "core scoring maps simulate",
    "sampled_training": "core numerics random scoring maps regression classification training statistics simulate",
}
OUTSIDE = {
    "core": "",
    "random": "Random123 immintrin",
    "scoring": "",
    "statistics": "boost",
    "numerics": "boost Eigen",
    "maps": "",
    "laws": "boost",
    "regression": "boost Eigen",
    "classification": "boost Eigen",
    "baselines": "boost Eigen",
    "training": "boost Eigen",
    "calibration": "boost Eigen",
    "simulate": "boost Eigen thrust Random123 cuda cuda_runtime_api omp tbb",
    "apply": "immintrin",
    "sampled_training": "Eigen",
}
ALONE = {("mpi", "distributed.hpp"), ("sched", "own_processors.hpp")}  # in one header of simulate/engine/
# What of the standard library allocates or throws.
HOST_ONLY = "deque exception functional list map memory optional set stdexcept string unordered_map vector".split()
# of simulate/: what a program includes in every file
PLAIN = re.compile(r"incontext/simulate/([a-z]+/[a-z_]+_types\.hpp|engine/records/)")
INCLUDE = re.compile(r"\s*#\s*include(.*)")


def wrong_include(header, room, target):
    """What is wrong with the header's include of the target, or nothing."""
    first, *below = target.split("/")
    if first == "incontext" and below:
        to = below[0].removesuffix(".hpp")  # an umbrella header is its room
        if to == "simulate":
            # within the room: each model stands on the engine and on no other model, and what has no Thrust on its like
            folder = header.removeprefix("cuda/incontext/simulate/").rpartition("/")[0].partition("/")[0]
            if (header.endswith("_types.hpp") or "/engine/records/" in header) and not PLAIN.search(target):
                return f"a header without Thrust must not include {target}"
            if room == to and folder and not re.search(f"/simulate/(engine|{folder})/", target):
                return f"{folder}/ must not include {target}"
        if to == room:
            return None
        if "/detail/" in target:
            return f"{room} must not include the detail/ of {to} ({target})"
        return None if to in ROOMS[room].split() else f"{room} must not include {to} ({target})"
    if "/" in target or target.endswith((".h", ".hpp")):
        to = first.removesuffix(".h")
        alone = "/simulate/engine/" in header and (to, os.path.basename(header)) in ALONE
        return None if alone or to in OUTSIDE[room].split() else f"{room} must not include {target}"
    # the standard library; an unparsed line is a breach too
    if room in ("core", "random", "scoring") and not header.endswith("/core/contracts.hpp") and target in HOST_ONLY:
        return f"{room} runs on the device, and must not include <{target}>"
    return None if re.fullmatch("[a-z_0-9]+", target) else f"an include that can't be read: {target}"


def breaches_of(header, lines):
    """The breaches in a header, each with the number of its line."""
    if re.fullmatch(r"(include|cuda)/incontext/[a-z_]+\.hpp", header):
        return  # umbrella headers; umbrellas.sh says what they include
    room = header.partition("incontext/")[2].partition("/")[0]
    in_cuda = re.match("cuda/incontext/(simulate|apply|sampled_training)/", header)
    if not in_cuda and not re.match("include/incontext/[^/]+/", header):
        yield 1, "a header outside of every room"
    elif room not in ROOMS or not in_cuda and room in ("simulate", "apply", "sampled_training"):
        yield 1, f"room '{room}' is not known to the rule"
    else:
        for number, line in enumerate(lines, 1):
            if include := INCLUDE.match(line):
                named = re.match(r'\s*["<]([^">]*)[">]', include[1])
                if wrong := wrong_include(header, room, named[1] if named else include[1]):
                    yield number, wrong
            for to in re.findall(r"([a-z_]+)::detail\b", line.partition("//")[0]):
                if to in ROOMS and to not in (room, "simulate") and (room, to) != ("sampled_training", "training"):
                    yield number, f"{room} must not name {to}::detail"
            # What a program includes in every file means the same in each of its builds.
            if room == "simulate" and PLAIN.search(header) and re.search(r"\b(thrust|cuda_runtime|INCONTEXT_SIMULATE_[A-Z]+)", line):
                yield number, "*_types.hpp and engine/records/ must not depend on a back end"


os.chdir(sys.argv[1])
breaches = []
for header in sorted(str(one) for folder in ("include", "cuda") for one in Path(folder).rglob("*.hpp")):
    breaches += [f"{header}:{number}: {what}" for number, what in breaches_of(header, Path(header).read_text().splitlines())]
# The files of a subcommand are compiled once for every instruction set and for CUDA, but for its simulator.cpp and what
# that shares with others; the size of the memory is no back end's.
for source in sorted(str(one) for one in Path("examples").rglob("*.[ch]pp")):
    if not re.match(r"examples/(first_steps/|[a-z_]*/simulator\.cpp$|support/((simulation_runs|memory)\.hpp|ranks\.cpp)$)", source):
        for number, line in enumerate(Path(source).read_text().splitlines(), 1):
            if re.match(r'#include [<"]incontext/(simulate|apply)[./]', line) and not PLAIN.search(line):
                breaches.append(f"{source}:{number}: only simulator.cpp may include {line}")
if breaches:
    sys.exit("\n".join([*breaches, f"{len(breaches)} breaches of the rule: rooms include along the arrows only"]))
