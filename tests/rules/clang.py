"""clang.py CLANG BUILD: clang++ has no warning about the headers, or about what the build compiled for the program.

The sources and their options are those of compile_commands.json. Only syntax is tested, templates that the program
instantiates included. What the sources share, the headers of the library and of others, is parsed once, as a precompiled
header: so all sources have the options of all."""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

CLANG, BUILD = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
FOR_OUTPUT = ("-O", "-W", "-march", "-mprefer", "-fno-semantic")  # some of them of g++ alone
HEADERS = [BUILD / "tests/headers" / name for name in ("cpp/all_again.cpp", "simulate/cpp/all_again.cpp")]


def options_of(command):
    words = iter(shlex.split(command))
    for word in words:
        if word in ("-o", "-c"):
            next(words)
        elif word == "-isystem":
            yield word + next(words)
        elif word.startswith("-") and not word.startswith(FOR_OUTPUT):
            yield word


commands = json.loads((BUILD / "compile_commands.json").read_text())
program = [one for one in commands if " -o examples/" in one["command"] and one["file"].endswith(".cpp")]
options = list(dict.fromkeys(option for one in program for option in options_of(one["command"])))
clang = [CLANG, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", *options]
shared = BUILD / "tests/rules/clang.hpp"
shared.parent.mkdir(parents=True, exist_ok=True)
shared.write_text("#include <nlohmann/json.hpp>\n" + "".join(f'#include "{one}"\n' for one in HEADERS))


def refused(arguments):
    return subprocess.run([*clang, *arguments], cwd=BUILD).returncode


if refused(["-fpch-instantiate-templates", "-x", "c++-header", shared, "-o", f"{shared}.pch"]):
    sys.exit("the headers are refused")
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    sources = sorted({one["file"] for one in program})
    results = list(pool.map(lambda file: refused(["-fsyntax-only", "-include-pch", f"{shared}.pch", file]), sources))
os.remove(f"{shared}.pch")  # a quarter of a gigabyte
print(len(sources), "sources,", sum(map(bool, results)), "refused")
sys.exit(not sources or any(results))
