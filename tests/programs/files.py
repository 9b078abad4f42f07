"""Files and streams that the program reads and writes: their state after an error, and equal reports for the same numbers
in different formats."""
import json
import math
import os
import random
import shlex
import signal
import stat
import subprocess

from program import PROGRAM, Finished, Folder, case, near, npy, refused, report, run, subcommands, without_durations

QUOTED = shlex.quote(PROGRAM)
SCORES = f"{QUOTED} scores --row 1,2,3 "
TEMPERATURE = f"{QUOTED} temperature --trials 64 --device serial "


def shell(command, **options):
    """Runs a shell command, which may redirect the program's streams."""
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **options)
    return Finished(done.returncode, done.stdout, without_durations(done.stderr))


def fails(command, part, **options):
    done = shell(command, **options)
    assert done.code == 2 and part in done.errors and done.errors.count("\n") == 1, (command, done)


def notes_of(found):
    return " ".join(found["tables"][0]["notes"])


def rows_of(found):
    return found["tables"][0]["rows"]


@case("what a slow machine prints of durations is no error")
def _():
    long, error = "long: 1000 trials, which take about 5 min\n", "incontext: --seed: is no number\n"
    assert without_durations(long + error) == error
    assert without_durations(error + "long: nothing is finished after 61 s\n") == error
    assert without_durations("no line end") == "no line end"
    assert without_durations(long) == ""


@case("every subcommand's help has examples, and help or a version that cannot be shown is a failure")
def _():
    for subcommand in subcommands():
        text = run(f"{subcommand} --help")
        assert text.code == 0 and text.errors == ""
        assert f"Usage: incontext {subcommand} " in text.output
        assert f"incontext {subcommand}" in text.output.partition("\nExample")[2]
        for option in "--help", "--version":
            fails(f"{QUOTED} {subcommand} {option} >/dev/full", "standard output: cannot be written: No space left on device")
            fails(f"{QUOTED} {subcommand} {option} >&-", "standard output: cannot be written: Bad file descriptor")


@case("a report that cannot be written is a failure, on a full disk and past a limit of size")
def _():
    fails(SCORES + "--output /dev/full", "--output: cannot be written: No space left on device")
    fails(SCORES + ">/dev/full", "standard output: cannot be written: No space left on device")
    fails(SCORES + ">&-", "standard output: cannot be written: Bad file descriptor")
    fails(SCORES + "--weights /dev/full --quiet", "--weights: cannot be written: No space left")
    with Folder() as folder:
        for command, part in (
                (SCORES + "--format json --output report",
                 "--output: cannot be written: File too large (value = report; needs a writable file)"),
                (SCORES + "--format json >report", "standard output: cannot be written: File too large"),
                (TEMPERATURE + "--format json --output other", "File too large"),
                (f"{QUOTED} classify --rule linear --rate 1 --trials 16 --quiet --contexts c.npy --device serial",
                 "--contexts: cannot be written: File too large")):
            fails("ulimit -f 1 && " + command, part, cwd=folder.path)
        assert folder.names() == ["report"]  # the shell creates it


@case("a closed pipe ends a program by SIGPIPE, and is an error of writing if that signal is ignored")
def _():
    def piped(command):
        reading, writing = os.pipe()
        os.close(reading)
        os.dup2(writing, 9)  # a shell's redirection takes one digit
        try:
            # Python ignores the signal, and its children would too
            return shell(command, pass_fds=(9,), preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        finally:
            os.close(9)
            os.close(writing)

    ended = piped(SCORES + ">&9; exit $?")
    assert ended.code == 128 + signal.SIGPIPE, ended
    assert ended.errors == ""
    ignored = piped(f"trap '' PIPE; {SCORES} >&9")
    assert ignored.code == 2 and "standard output: cannot be written: Broken pipe" in ignored.errors
    with Folder() as folder:  # a report to a file is complete by then
        saved = piped(f"{TEMPERATURE} --output {shlex.quote(folder.file('report.json'))} >&9; exit $?")
        assert saved.code == 128 + signal.SIGPIPE
        assert json.loads(folder.read("report.json"))["program"] == "incontext temperature"
        assert folder.names() == ["report.json"]


@case("without --format the name of the output sets the form of the report")
def _():
    with Folder() as folder:
        def written(name, more=""):
            assert run(["scores", "--row", "1,2,3", "--output", folder.file(name), *more.split()]).code == 0
            return folder.read(name)

        assert written("x.csv").startswith("table,key,score,weight")
        assert json.loads(written("x.json"))["arguments"]["format"] == "json"
        assert written("x.txt").startswith("softmax, temperature 1: a row of 3 scores")
        assert written("y.json", "--format csv").startswith("table,key,score,weight")
        assert written("y.csv", "--format table").startswith("softmax, temperature 1")


@case("a replaced report keeps its access rights, and a link to a report remains a link")
def _():
    with Folder() as folder:
        file = folder.write("report", "old")
        os.chmod(file, 0o600)
        os.symlink("report", folder.file("link"))
        assert run(["scores", "--row", "1,2", "--output", folder.file("link")]).code == 0
        assert stat.S_IMODE(os.lstat(file).st_mode) == 0o600
        assert os.path.islink(folder.file("link"))
        assert folder.read("report") != "old"


@case("temporary files that killed runs left behind do not disturb later runs")
def _():
    with Folder() as folder:
        # a run with a process number of its own, as in a container
        done = shell("for i in $(seq 200); do : >report.incontext-$i; done; : >report.incontext-$$; exec "
                     + SCORES + "--output report", cwd=folder.path)
        assert done.code == 0
        assert folder.read("report")


@case("no value of OMP_NUM_THREADS is refused, and none changes a number")
def _():
    line = "temperature --trials 64"
    expected = rows_of(report(line))
    for value in "1", "2,1", " 2 ", "", "0", "auto", "0x2", "1e1":
        done = shell(f"OMP_NUM_THREADS='{value}' {QUOTED} {line} --format json")
        assert done.code == 0 and rows_of(json.loads(done.output)) == expected, value


@case("a message about a value or cell of any length and bytes is one short line of text")
def _():
    with Folder() as folder:
        long = folder.write("long.csv", "a,b\n1," + "x" * (3 << 20) + "\n2,3\n")
        strange = folder.write("bytes.csv", b"a,b\n1,\xff\xfe\x1b[31m\xc2\x9b\n2,3\n")
        for words in ["--data", long], ["--data", strange], ["--figure", "7" * 100000], ["--" + "o" * 100000]:
            errors = refused(["temperature", *words], "incontext ")
            assert len(errors) < 700
            assert all(c == "\n" or " " <= c <= "~" for c in errors)


@case("the same data set in different formats gives the same report, with a note on how it was read")
def _():
    draw = random.Random(1)
    rows = [[f"{draw.gauss(0, 1):.3f}" for _ in range(3)] for _ in range(40)]

    def table(header, lines):
        return "\n".join([header, *lines]) + "\n"

    plain = table("a,b,y", (",".join(row) for row in rows))
    holes = [line for i, row in enumerate(rows) for line in
             [",".join(row), *([f"NA,{row[1]},{row[2]}", f"{row[0]},{row[1]},"] if i % 8 == 0 else [])]]
    with Folder() as folder:
        def read(name, content, more=""):
            return report(f"temperature --data {folder.write(name, content)} --labels y --trials 64 --device serial {more}")

        expected = read("plain.csv", plain)
        for name, content, more, note in (
                ("pandas.csv", table(",a,b,y", (",".join([str(i), *row]) for i, row in enumerate(rows))), "",
                 "The first column, without a name, numbers the rows and is left out."),
                ("shuffled.csv", table("Unnamed: 0,a,b,y", (",".join([str((7 * i + 3) % 40), *row])
                                                            for i, row in enumerate(rows))), "",
                 "The first column, Unnamed: 0, numbers the rows and is left out."),
                ("holes.csv", table("a,b,y", holes), "--drop-missing", "--drop-missing left out 10 of 50 rows."),
                ("german.csv", table("# gemessen\na;b;y", (";".join(row).replace(".", ",") for row in rows)), "",
                 "Numbers have a decimal comma."),
                ("tabs.csv", table("a\tb\ty\t", ("\t".join([*row, ""]) for row in rows)), "", ""),
                ("text.csv", table("name,a,b,y", (",".join([f"n{i}", *row]) for i, row in enumerate(rows))),
                 "--without name", ""),
                ("plain.csv", plain, "--drop-missing", "--drop-missing left out 0 of 40 rows.")):
            same = read(name, content, more)
            assert rows_of(same) == rows_of(expected), name
            assert note in notes_of(same), name
        assert "numbers the rows" not in notes_of(expected)
        bare = folder.write("bare.csv", plain.partition("\n")[2])
        without = report(f"temperature --data {bare} --no-header --labels 3 --trials 64 --device serial")
        assert rows_of(without) == rows_of(expected)


@case("files as public collections have them are read, or refused with the option that reads them")
def _():
    draw = random.Random(3)
    numbers = [[f"{draw.uniform(1, 9):.2f}" for _ in range(4)] for _ in range(30)]

    def lines(form):
        return [form.format(*row, k) for k, row in enumerate(numbers)]

    def comma(line):
        return line.replace(".", ",")

    cases = {  # the lines of a file, the words that read it, and what is refused without some of them
        "wine": (['"fixed acidity";"volatile acidity";"pH";"y"', *lines("{0};{1};{2};{3}")], ["--labels", "y"], "", ""),
        "write.table": (['"a" "b" "c" "y" "kind"', *lines('"row {4}" {0} {1} {2} {3} "St. {4}"')],
                        ["--labels", "y", "--without", "kind"], "--labels y", "--without"),
        "housing": (lines(" {0}  {1}   {2}  {3}"), ["--no-header", "--labels", "4"], "--labels 4", "--no-header"),
        "airfoil": (lines("{0}\t{1}\t{2}\t{3}"), ["--no-header", "--labels", "4"], "", "--no-header"),
        "cancer": ([*lines("10{4},{0},{1},{2},{3}"), "1099,5,?,3,4"],
                   ["--no-header", "--without", "1", "--labels", "5", "--missing", "?", "--drop-missing"],
                   "--no-header", "--missing"),
        "communities": ([*lines("8,?,Lakewood{4}city,{0},{1},{2},{3}"), "8,?,Ulmcity,0.3,?,0.4,1"],
                        ["--no-header", "--without", "1,2,3", "--labels", "7", "--missing", "?", "--drop-missing"],
                        "--no-header", "--without 2,3"),
        "air": (["Date;Time;CO(GT);NOx(GT);T;y;;", *map(comma, lines("1/1;18-00-0{4};{0};{1};{2};{3};;")),
                 "2/1;18-00-00;-200;4,5;1,5;2,5;;", *[";;;;;;;"] * 3],
                ["--without", "Date,Time", "--labels", "y", "--missing=-200", "--drop-missing"],
                "--labels y", "--without Date,Time")}
    with Folder() as folder:
        def read(content, words):
            return rows_of(report(["temperature", "--data", folder.write("data", content), *words, "--no-simulation"]))

        expected = read("\n".join(["a,b,c,y", *lines("{0},{1},{2},{3}")]) + "\n", ["--labels", "y"])
        for name, (content, words, fewer, way) in cases.items():
            for end in "\n", "\r\n":
                text = end.join(content) + end
                assert read(text, words) == expected, name
                if way:
                    refused(["temperature", "--data", folder.write("data", text), *fewer.split()], "data: ", way)


@case("scores under a causal mask have the same moment ratio whether the file or --causal masks them")
def _():
    draw = random.Random(2)
    vectors = [[draw.gauss(0, 1) for _ in range(4)] for _ in range(30)]
    dense = [[sum(a * b for a, b in zip(one, other)) for other in vectors] for one in vectors]
    masked = [[score if j <= i else -math.inf for j, score in enumerate(row)] for i, row in enumerate(dense)]
    squares = sum(sum(score**2 for score in dense[i][:i]) / i / 29 for i in range(1, 30))
    selves = sum(dense[i][i] / 29 for i in range(1, 30))
    with Folder() as folder:
        file = folder.write("dense.npy", npy(dense))
        by_option = report(f"temperature --scores {file} --causal")
        ratio = rows_of(by_option)[0]["value"]
        assert near(ratio / (squares / selves), 1, 1e-12)
        assert "see no other key or do not see themselves: 1 of 30 queries." in notes_of(by_option)
        text = "".join(" ".join(f"{score:.17g}" for score in row) + "\n" for row in masked)
        for same in folder.write("masked.npy", npy(masked)), folder.write("masked.txt", text):
            assert rows_of(report(f"temperature --scores {same}")) == rows_of(by_option)
            # and incontext scores sees the same keys
            visible = [row["visible"] for row in rows_of(report(f"scores --scores {same}"))]
            assert visible == list(range(1, 31))
        unmasked = rows_of(report(f"temperature --scores {file}"))[0]["value"]
        assert not near(unmasked, ratio, 1e-3)  # power


@case("an array of one dimension is one query in both programs that read scores")
def _():
    with Folder() as folder:
        file = folder.write("vector.npy", npy([[1.0, 1, 1, 1]]).replace(b"(1, 4), ", b"(4,),   "))
        [row] = rows_of(report(f"scores --scores {file}"))
        assert row["visible"] == 4
        refused(f"temperature --scores {file} --self-column 1", "the number of queries is too small (value = 1;")
