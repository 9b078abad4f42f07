#!/usr/bin/env python3
"""Mistreats the program and counts what they do. Every part prints how much it tried and every breach of a promise.

  tests/torture/torture.py BUILD [--seed N] [--minutes M] [--parts commands,files,faults,signals,kills,records,ranks]

BUILD is a build folder, such as build. The time is divided among the parts; each stops when its share is used up. The
seed is printed, so that a breach can be had again. Exit code: 0 without a breach, 1 with one.

The promises (docs/programs.md): no program ends by a signal that was not sent to it; the exit code is 0 to 3; exit code 2
comes with one line on standard error, nothing on standard output and no new file; an output is whole or is not there, and
a file that was there before is old or complete; a run that was killed is resumed to the same report."""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

LIMIT = 20  # seconds for one small command; longer is counted, and is no breach


class Torture:
    def __init__(self, build, seed):
        program = build / "examples" / "incontext"
        if not os.access(program, os.X_OK):
            sys.exit(f"torture: no {program} (needs: cmake --build {build} --target incontext-program)")
        listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
        self.programs = {name: [program, *name.split()] for name in listed.splitlines()}
        self.random = random.Random(seed)
        self.breaches = []
        self.until = 0

    def goes_on(self):
        return time.monotonic() < self.until

    def breach(self, what, command):
        text = f"{what}: {' '.join(map(str, command))}"
        self.breaches.append(text)
        print("BREACH", text, flush=True)

    def run(self, command, folder, preexec=None, stdin=b"", environment=None, timeout=LIMIT):
        """The finished command, or None if it took too long."""
        try:
            return subprocess.run(list(map(str, command)), cwd=folder, input=stdin, capture_output=True, timeout=timeout,
                                  preexec_fn=preexec, env=dict(os.environ, OMP_WAIT_POLICY="passive", **(environment or {})))
        except subprocess.TimeoutExpired:
            return None

    def judge(self, command, folder, before, done):
        """The promises that hold for every command line."""
        if done.returncode < 0:
            self.breach(f"ended by signal {-done.returncode}", command)
        elif done.returncode > 3:
            self.breach(f"exit code {done.returncode}", command)
        if done.returncode == 2:
            lines = done.stderr.decode(errors="replace").count("\n")
            if lines != 1:
                self.breach(f"exit code 2 with {lines} lines of error", command)
            if done.stdout:
                self.breach("exit code 2 with a report", command)
            if names(folder) != before:
                self.breach(f"exit code 2 and other files {sorted(set(names(folder)) ^ set(before))}", command)
        if done.returncode == 0 and re.search(rb"(?<![\w-])-?nan(?![\w-])", done.stdout):
            self.breach("exit code 0 with a NaN", command)


def names(folder):
    return sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*"))


def options_of(torture, program):
    """The long options of a subcommand from its help, with the word for what they take; None for a flag."""
    text = subprocess.run([*torture.programs[program], "--help"], capture_output=True, text=True).stdout
    found = {}
    for line in text.split("\n"):
        match = re.match(r"^  (--[\w-]+)(?: (\S+))?(?:\s|$)", line)
        if match and match[1] not in ("--help", "--version"):
            kind = match[2]
            found[match[1]] = kind.split("=")[0] if kind and not kind.endswith(":") else None
    return found


NUMBERS = ["0", "1", "2", "3", "5", "10", "64", "-1", "0.5", "1.5", "1e-3", "1e3", "-0", "1e-320", "1e308", "1e309", "nan",
           "inf", "-inf", "", " ", "1,2", "1,,2", "0x10", "1e", "9223372036854775808", "-9223372036854775809", "١", "1 2",
           "--seed", "NaN", "+3", "3.", ".5", "1_000"]
WORDS = ["", "a", "softmax", "ssmax", "cuda", "serial", "table", "json", "csv", "-", "/", ".", "..", "good.csv", "missing",
         "bad.npy", "x" * 300, "a\nb", "\x1b[31m", "ü", "%s%n", "$(id)", "good.csv/x", "/dev/full", "/dev/null"]


def value_for(chance, kind):
    if chance.random() < 0.15:
        return chance.choice(WORDS + NUMBERS)
    if kind and "|" in kind and chance.random() < 0.8:
        return chance.choice(kind.split("|"))
    if kind and kind.startswith(("N", "X")):
        return ",".join(chance.choice(NUMBERS) for _ in range(chance.choice([1, 1, 1, 2, 3]) if "," in kind else 1))
    return chance.choice(WORDS + NUMBERS)


SMALL = {"temperature": ["--trials", "64", "--dimension", "3", "--context-length", "8"],
         "softmax-error": ["--trials", "64", "--dimension", "3", "--context-length", "8"],
         "classify": ["--trials", "64", "--dimension", "3", "--context-length", "10"],
         "fading": ["--trials", "64"], "gradients": ["--trials", "64"], "tasks": ["--trials", "64"],
         "baselines": ["--trials", "64", "--context-lengths", "3,30"],
         "verify": ["--list"], "completion": ["bash"], "merge": [],
         "scores": []}


def npy(rows, columns, values=None, descr="<f8"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header = header + " " * (117 - len(header)) + "\n"
    numbers = values or [((7 * i) % 11 - 5) / 3 for i in range(rows * columns)]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(numbers)}d", *numbers)


def fill(folder):
    folder = pathlib.Path(folder)
    rows = "\n".join(f"{i % 5},{(i * i) % 7},{(3 * i) % 4}" for i in range(30))
    (folder / "good.csv").write_text(f"a,b,c\n{rows}\n")
    (folder / "good.npy").write_bytes(npy(16, 16))
    (folder / "bad.npy").write_bytes(npy(16, 16)[:-3])


class Tally:
    """Runs and judges commands, and counts them by their exit codes."""

    def __init__(self, torture):
        self.torture, self.tried, self.slow, self.codes = torture, 0, 0, {}

    def run(self, command, folder):
        before = names(folder)
        done = self.torture.run(command, folder)
        self.tried += 1
        if done is None:
            self.slow += 1
            return
        self.codes[done.returncode] = self.codes.get(done.returncode, 0) + 1
        self.torture.judge(command, folder, before, done)

    def text(self, what):
        return f"{self.tried} {what}, exit codes {dict(sorted(self.codes.items()))}, {self.slow} over {LIMIT} s"


def commands(torture):
    """Random command lines over all options of all subcommands."""
    chance, tally = torture.random, Tally(torture)
    known = {name: options_of(torture, name) for name in torture.programs}
    while torture.goes_on():
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            fill(folder)
            program, options = chance.choice(sorted(known.items()))
            line = ["--steps", "2", "--seeds", "1"] if program.startswith("train ") else [*SMALL[program]]
            for name in chance.sample(sorted(options), min(len(options), chance.choice([1, 1, 2, 3, 5]))):
                if name == "--jobs" or name in line:
                    continue
                line.append(name)
                if options[name] is not None and chance.random() < 0.97:
                    line.append(value_for(chance, options[name]))
            if program == "verify" and "--list" not in line:
                continue
            line = [word.replace("\0", "") for word in line]
            tally.run([*torture.programs[program], *line], folder)
    return tally.text("command lines")


def mutated(chance, data):
    data = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8])):
        how, at = chance.randrange(5), chance.randrange(len(data)) if data else 0
        if not data:
            break
        if how == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif how == 1:
            del data[at:at + chance.choice([1, 4, 100])]
        elif how == 2:
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.choice([1, 4, 16])))
        elif how == 3:
            data[at:at] = chance.choice([b"nan", b"1e999", b"-", b"\"", b"{", b"[", b",", b"\n", b"\0", b"\xff"])
        else:
            data[at:at + 8] = bytes(8)
    return bytes(data)


def files(torture):
    """Mutated tables and arrays."""
    chance, tally = torture.random, Tally(torture)
    while torture.goes_on():
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            fill(folder)
            which = chance.randrange(3)
            if which == 0:
                pathlib.Path(folder, "t.csv").write_bytes(mutated(chance, pathlib.Path(folder, "good.csv").read_bytes()))
                command = [*torture.programs["temperature"], "--data", "t.csv", "--labels", "c", "--trials", "64"]
            elif which == 1:
                pathlib.Path(folder, "t.npy").write_bytes(mutated(chance, npy(16, 16)))
                command = [*torture.programs["scores"], "--scores", "t.npy"]
            else:
                pathlib.Path(folder, "t.npy").write_bytes(mutated(chance, npy(3, 3, [2, 0, 0, 0, 1, 0, 0, 0, 3])))
                command = [*torture.programs["temperature"], "--test-input-covariance", "t.npy", *SMALL["temperature"]]
            tally.run(command, folder)
    return tally.text("files")


def limit(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def closed(*descriptors):
    return lambda: [os.close(d) for d in descriptors]


def faults(torture):
    """No memory, no files, no room, no streams, odd environments, over all subcommands."""
    conditions = {
        "memory": limit(resource.RLIMIT_AS, 150 << 20), "open files": limit(resource.RLIMIT_NOFILE, 6),
        "file size": limit(resource.RLIMIT_FSIZE, 100), "stack": limit(resource.RLIMIT_STACK, 256 << 10),
        "no input": closed(0), "no output": closed(1), "no errors": closed(2), "no streams": closed(0, 1, 2)}
    environments = {"TMPDIR": {"TMPDIR": "/nonexistent"}, "C": {"LC_ALL": "C"}, "de_DE": {"LC_ALL": "de_DE.UTF-8"},
                    "no HOME": {"HOME": ""}, "threads": {"OMP_NUM_THREADS": "3"}}
    outputs = ["/dev/full", "/nonexistent/x", ".", "out.txt"]
    tried, codes = 0, {}
    cases = [(p, SMALL[p]) for p in torture.programs if p in SMALL and p != "merge"]
    cases.append(("train classification", ["--figure", "curves", "--steps", "3", "--map", "linear"]))
    combined = [(c, conditions[c], None, None) for c in conditions] + [(e, None, environments[e], None) for e in environments]
    combined += [(f"--output {o}", None, None, o) for o in outputs]
    for name, preexec, environment, output in combined:
        for program, small in cases:
            if not torture.goes_on():
                return f"{tried} runs, exit codes {dict(sorted(codes.items()))} (time is up)"
            with tempfile.TemporaryDirectory(prefix="torture-") as folder:
                fill(folder)
                command = [*torture.programs[program], *small, *(["--output", output] if output else [])]
                before = names(folder)
                done = torture.run(command, folder, preexec, environment=environment)
                tried += 1
                if done is None:
                    continue
                codes[done.returncode] = codes.get(done.returncode, 0) + 1
                sent = {"file size": -signal.SIGXFSZ}.get(name)
                if done.returncode < 0 and done.returncode != sent:
                    torture.breach(f"{name}: ended by signal {-done.returncode}", command)
                if done.returncode > 3 and not (name in ("memory", "open files", "stack") and done.returncode == 127):
                    torture.breach(f"{name}: exit code {done.returncode}", command)
                if done.returncode == 2 and names(folder) != before:
                    torture.breach(f"{name}: exit code 2 and other files", command)
    return f"{tried} runs, exit codes {dict(sorted(codes.items()))}"


def slow_commands(torture):
    """Commands of some seconds that write an output, and whether they keep a record."""
    lines = {"temperature": ["--dimension", "20", "--context-length", "40", "--trials", "400000", "--estimator", "literal"],
             "softmax-error": ["--dimension", "4", "--context-length", "40", "--trials", "200000"],
             "classify": ["--dimension", "3", "--context-length", "10", "--trials", "60000"]}
    return {p: [*torture.programs[p], *line, "--threads", "2"] for p, line in lines.items()}


def signals(torture):
    """Signals at random moments: the output is the old file or a whole new report."""
    chance, tried, partial = torture.random, 0, 0
    slow = slow_commands(torture)
    while torture.goes_on() and slow:
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            output = pathlib.Path(folder, "out.json")
            output.write_text("older")
            command = chance.choice(sorted(slow.values(), key=str)) + ["--output", "out.json", "--quiet"]
            sent = chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
            child = subprocess.Popen(list(map(str, command)), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     preexec_fn=limit(resource.RLIMIT_CORE, 0))
            time.sleep(chance.random() * 2)
            child.send_signal(sent)
            try:
                child.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                torture.breach(f"goes on after {sent.name}", command)
                child.kill()
                child.communicate()
            tried += 1
            text = output.read_text()
            if text != "older":
                try:
                    json.loads(text)
                except ValueError:
                    torture.breach(f"half an output after {sent.name}", command)
            left = [name for name in names(folder) if name not in ("out.json", "out.json.partial")]
            partial += pathlib.Path(folder, "out.json.partial").exists()
            if left and sent != signal.SIGKILL:
                torture.breach(f"leaves {left} after {sent.name}", command)
    return f"{tried} signals, {partial} partial reports"


def numbers_of(text):
    """What a report says, without how and where it was computed."""
    report = json.loads(text)
    return json.dumps([report["tables"], report["verdict"]])


def kills(torture):
    """kill -9 at random moments; what is resumed ends with the report of one run."""
    chance, runs, killed = torture.random, 0, 0
    slow = slow_commands(torture)
    whole = {}
    for program, command in slow.items():
        done = subprocess.run([*map(str, command), "--format", "json"], capture_output=True, text=True)
        whole[program] = numbers_of(done.stdout)
    while torture.goes_on() and slow:
        program = chance.choice(sorted(slow))
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            record = pathlib.Path(folder, "r.json")
            for _ in range(chance.choice([1, 1, 2, 3])):
                how = ["--resume" if record.exists() else "--checkpoint", "r.json"]
                child = subprocess.Popen([*map(str, slow[program]), *how, "--quiet"], cwd=folder)
                time.sleep(chance.random() * 3)
                child.kill()
                killed += child.wait() == -signal.SIGKILL
            how = ["--resume" if record.exists() else "--checkpoint", "r.json"]
            command = [*slow[program], *how, "--format", "json"]
            done = torture.run(command, folder, timeout=120)
            runs += 1
            if done is None or done.returncode not in (0, 1, 3) or numbers_of(done.stdout) != whole[program]:
                torture.breach("a resumed run has another report", command)
    return f"{runs} runs, {killed} kills"


def records(torture):
    """Corrupted records are refused, and left as they are."""
    chance, tried, codes = torture.random, 0, {}
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        small = [*torture.programs["temperature"], *SMALL["temperature"]]
        torture.run([*small, "--checkpoint", "r.json", "--quiet"], folder)
        good = pathlib.Path(folder, "r.json").read_bytes()
        while torture.goes_on():
            bad = mutated(chance, good)
            if bad == good:
                continue
            pathlib.Path(folder, "r.json").write_bytes(bad)
            before = names(folder)
            command = [*small, "--resume", "r.json"]
            done = torture.run(command, folder)
            tried += 1
            if done is None:
                torture.breach("hangs on a corrupted record", command)
                continue
            codes[done.returncode] = codes.get(done.returncode, 0) + 1
            torture.judge(command, folder, before, done)
            if done.returncode != 2:
                pathlib.Path("/tmp", f"torture-record-{tried}.json").write_bytes(bad)
                torture.breach(f"accepts a corrupted record (kept in /tmp/torture-record-{tried}.json)", command)
            if pathlib.Path(folder, "r.json").read_bytes() != bad:
                torture.breach("writes to a record that it refuses", command)
    return f"{tried} records, exit codes {dict(sorted(codes.items()))}"


def ranks(torture):
    """Processes of MPI: the bits of one process, and an end when one of them dies."""
    mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    program = torture.programs["softmax-error"]
    linked = b"libmpi" in subprocess.run(["ldd", program[0]], capture_output=True).stdout
    if not mpirun or not linked:
        return "skipped: no mpirun, or programs without MPI"
    chance, same, died = torture.random, 0, 0
    start = [mpirun, "--allow-run-as-root", "--oversubscribe", "-np"]
    line = [*program, "--dimension", "4", "--context-length", "40", "--trials", "100000", "--format", "json"]
    whole = numbers_of(subprocess.run(list(map(str, line)), capture_output=True, text=True).stdout)
    while torture.goes_on():
        number = chance.choice([2, 3])
        command = [*start, str(number), *line]
        if chance.random() < 0.5:
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
            same += 1
            if done.returncode or numbers_of(done.stdout) != whole:
                torture.breach(f"{number} ranks have another report", command)
            continue
        child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5 + chance.random())
        found = subprocess.run(["pgrep", "-P", str(child.pid)], capture_output=True, text=True).stdout.split()
        with contextlib.suppress(ProcessLookupError):  # of a rank that has ended since
            if found:
                os.kill(int(chance.choice(found)), signal.SIGKILL)
        try:
            child.wait(timeout=60)
        except subprocess.TimeoutExpired:
            torture.breach("ranks go on after one was killed", command)
            child.kill()
        died += 1
    return f"{same} shared runs with the same report, {died} with a killed rank"


PARTS = {"commands": 3, "files": 2, "faults": 2, "signals": 1, "kills": 2, "records": 1, "ranks": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--parts", default=",".join(PARTS))
    given = parser.parse_args()
    parts = given.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"--parts: no part '{unknown[0]}' (they are {', '.join(PARTS)})")
    seed = random.randrange(10**9) if given.seed is None else given.seed
    print(f"torture: seed {seed}, {given.minutes:g} minutes", flush=True)
    torture = Torture(given.build.resolve(), seed)
    shares = sum(PARTS[part] for part in parts)
    for part in parts:
        torture.random = random.Random(f"{seed} {part}")
        torture.until = time.monotonic() + 60 * given.minutes * PARTS[part] / shares
        print(f"{part}: {globals()[part](torture)}", flush=True)
    print(f"torture: {len(torture.breaches)} breaches")
    sys.exit(1 if torture.breaches else 0)


if __name__ == "__main__":
    main()
