"""The response of the program to input that cannot be used: exit code 2, one line that names the parameter and its value,
nothing on standard output, no file written. Command lines are in bad_command_lines.txt; the files that a run reads and
writes are apart: an output is no input and no other output, whichever options name them."""
import os
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

from program import PROGRAM, Folder, case, refused, run, subcommands


def contents(folder):
    return {name: (folder.path / name).read_bytes() for name in folder.names()}


def unescaped(text):
    """Replaces \\n, \\t, \\\\ and \\xHH as C does."""
    def byte(found):
        return bytes([int(found[1][1:], 16)]) if found[1][:1] == b"x" else {b"n": b"\n", b"t": b"\t"}.get(found[1], found[1])

    return re.sub(rb"\\(x..|.)", byte, text.encode())


@case("every bad command line is refused in one line by exit code 2, and writes nothing")
def _():
    runs = Counter()
    with Folder() as folder:
        for line in (Path(__file__).parent / "bad_command_lines.txt").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            if line.startswith("file "):
                name, content = line.removeprefix("file ").split(" | ", 1)
                folder.write(name, unescaped(content))
                if name == "read_only":
                    os.chmod(folder.file(name), 0o444)
                continue
            code, subcommand, arguments, message = line.split(" | ", 3)
            before = contents(folder)
            command = f"{shlex.quote(PROGRAM)} {subcommand} {arguments}"
            done = subprocess.run(["sh", "-c", command], cwd=folder.path, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            assert done.returncode == int(code), (line, done)
            assert done.stdout == "", line
            assert done.stderr.startswith(f"incontext {subcommand}: "), done.stderr
            assert message in done.stderr, (line, done.stderr)
            assert done.stderr.count("\n") == 1 and len(done.stderr) < 1000, (line, done.stderr)
            assert contents(folder) == before, line
            runs[subcommand] += 1
    assert not [name for name in subcommands() if runs[name] < 3]


@case("an output that cannot be written is refused before the run")
def _():
    with Folder() as folder:
        for output in folder.file("missing/report"), folder.file("."):
            refused(["temperature", "--output", output], "--output: cannot be written", f"(value = {output};")
            assert folder.names() == []


@case("a refused run leaves an older output as it was")
def _():
    with Folder() as folder:
        output = folder.write("report.json", "older")
        refused(["temperature", "--trials", "0", "--output", output])
        refused(["temperature", "--data", folder.file("none"), "--output", output])
        assert contents(folder) == {"report.json": b"older"}


# the files that a subcommand cannot do without
NEEDED = {"merge": ["none"]}
# what is written, and to which files the value leads
OUTPUTS = {"--output": ["", ".partial"], "--checkpoint": [""], "--page": ["", ".partial"], "--contexts": ["", "-labels.npy"]}
INPUTS = {"--scores", "--self-scores", "--data", "--input-covariance", "--task-covariance", "--task-mean", "--test-task-mean",
          "--test-input-covariance", "--test-task-covariance", "--claims-file", "--resume"}


def ends_of(subcommand, option):
    """--weights has its own names in scores and in training."""
    if option == "--weights":
        return [""] if subcommand == "scores" else [".key_query.npy", ".output.npy"]
    return OUTPUTS[option]  # a new output is named there


def file_options(subcommand):
    """The options that name files, as the help shows them."""
    words = [line.split()[:2] for line in run([*subcommand.split(), "--help"]).output.splitlines()]
    return {option.partition(",")[0] for option, *kind in filter(None, words) if option[:2] == "--" and "FILE" in "".join(kind)}


def refuses_same(subcommand, words, *options):
    files = [] if words and not words[0].startswith("--") else NEEDED.get(subcommand, [])
    errors = refused([*subcommand.split(), *files, *words], *options)
    assert "is the file of" in errors or "would replace the input of" in errors, errors


@case("no subcommand writes to a file that another of its options names, derived names included")
def _():
    pairs = 0
    for subcommand in subcommands():
        options = file_options(subcommand)
        assert ("--output" in options) == (subcommand != "completion"), (subcommand, options)
        for written in options - INPUTS:
            for end in ends_of(subcommand, written):
                for other in options:
                    if other == written or (written, other) == ("--checkpoint", "--resume") or subcommand == "merge":
                        continue
                    if other not in INPUTS and ends_of(subcommand, other)[0]:  # comes as the first
                        continue
                    with Folder() as folder:
                        base = folder.file("x.html" if written == "--page" else "x")
                        same = Path(folder.write(Path(base + end).name, "old"))
                        refuses_same(subcommand, [written, base, other, str(same)], written, other)
                        assert contents(folder) == {same.name: b"old"}
                        # another name of the same file
                        os.link(same, folder.file("hard"))
                        os.symlink(same.name, folder.file("soft"))
                        for name in "hard", "soft":
                            refuses_same(subcommand, [written, base, other, folder.file(name)], written, other)
                        # no file yet
                        same.unlink()
                        os.unlink(folder.file("hard"))
                        refuses_same(subcommand, [written, base, other, folder.file("soft")], written, other)
                        pairs += 1
    assert pairs > 100


@case("merged records, cases and a continued record are no outputs either")
def _():
    with Folder() as folder:
        file = folder.write("file", "old")
        refuses_same("merge", [file, folder.file("other"), "--output", file], "--output", "files")
        refuses_same("merge", [folder.file("other"), file, "--output", folder.file("./file")], "--output", "files")
        refuses_same("train needle", ["--resume", file, "--output", file], "--output", "--resume")
        refuses_same("temperature", ["--resume", file, "--data", file], "--resume", "--data")
        refuses_same("train classification", ["--figure", "curves", "--weights", folder.file("w"), "--checkpoint",
                                              folder.file("w.output.npy")], "--weights (w.output.npy)", "--checkpoint")
        assert contents(folder) == {"file": b"old"}
