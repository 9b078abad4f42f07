"""Every option of every subcommand in every mode either changes the report or is refused by name, and the options that a
report states are those that the run used."""
import json
import shlex
import shutil
import subprocess

from program import DIABETES, PROGRAM, Folder, case, npy, report, run

SCORE_FIGURES = ("approximation", "ssa-base", "ssmax-fading", "ssmax-threshold", "deviant", "prompt", "normsoftmax-bound")


def seen(done):
    """The report of a run without the record of the tested option."""
    return {key: value for key, value in json.loads(done.output).items() if key not in ("arguments", "command", "seconds", "verdict")}


def try_options(mode, small, options):
    """Tries every option, each with a value that is not its default, in a mode whose run `small` makes short. Those that
    the line already gives are left out."""
    line = f"{mode} {small} --format json"
    if not mode.startswith("scores") and "--scores" not in mode and "--device" not in mode:
        line += " --device serial"  # starting threads takes longer than these runs
    plain = run(line)
    assert plain.code != 2, (line, plain)
    before, stated = seen(plain), json.loads(plain.output)["arguments"]
    for option in options:
        words = shlex.split(option)
        if words[0] in line.split():
            continue
        done = run(line, words)
        if done.code == 2:
            said = done.errors.partition(": ")[2]
            assert words[0][2:] in said or "has no meaning with every parameter given" in said, (line, option, done.errors)
        else:
            assert seen(done) != before, (line, option)
        assert words[0][2:] in stated, (line, option)


@case("every program that simulates uses or refuses the options of a run")
def _():
    for mode, small in (("temperature", "--trials 64 --dimension 2"), ("softmax-error", "--trials 64 --context-length 5"),
                        ("gradients", "--trials 64 --dimension 4"), ("fading", "--trials 1500 --lengths 20"),
                        ("classify --rule linear --rate 7", "--trials 64"), ("baselines", "--trials 64 --context-lengths 5"),
                        ("temperature --device openmp", "--trials 64 --dimension 2")):
        try_options(mode, small, ["--seed 2", "--threads 3", "--replace-by-partial", "--audit"])


@case("incontext temperature: every option counts or is refused, in every mode")
def _():
    with Folder() as folder:
        covariance = folder.write("covariance.csv", "a,b,c\n2,0.5,0\n0.5,1,0\n0,0,0.5\n")
        scores = folder.write("scores.npy", npy([[3, 1, 1], [1, 3, 1], [1, 1, 3]]))
        options = ["--temperatures 0.8,3", "--input-variance 1.5", "--task-variance 0.7", "--no-simulation",
                   "--noise-variance 0.7", "--test-noise-variance 0.6", "--input-scale 2", "--task-scale 2", "--mean-shift 0.5",
                   *(f"--{name}-covariance {covariance}" for name in ("input", "task", "test-input", "test-task")),
                   "--task-mean 0.5", "--test-task-mean 0.7", "--query included", "--offset removed", "--scoring linear",
                   "--estimator conditional", "--context-lengths 7,9", "--shifts 0.7", "--columns bmi,age", "--without sex",
                   "--labels progression", "--center", "--standardize", "--causal", "--self-column 2", f"--self-scores {scores}",
                   "--dimension 4", "--context-length 9"]
        small = "--dimension 3 --trials 64"
        for mode in "temperature", "temperature --scoring linear", "temperature --scoring softmax":
            try_options(mode, f"{small} --context-length 6", options)
        for more in "", "--standardize", "--labels progression":
            try_options(f"temperature --data {DIABETES} {more}", "--trials 256", options)
        try_options(f"temperature --scores {scores}", "", options)
        of_figures = [option.replace("--offset removed", "--offset kept") for option in options]  # which they remove
        for figure in "2a", "2b", "2c", "3a", "3b", "3c", "6", "7", "mean-shift", "scores":
            # in every row of these figures is an optimum of softmax, or an average over queries
            many = "--shifts 0.5" if figure in ("3c", "6", "mean-shift") else ""
            try_options(f"temperature --figure {figure}", f"{small} {many}", of_figures)


@case("incontext softmax-error: every option counts or is refused, in every mode")
def _():
    options = ["--temperatures 2.5", "--context-lengths 7", "--dimensions 3", "--scales 0.7", "--exponents 2",
               "--input-variance 2", "--task-variance 0.7", "--noise-variance 0.7", "--key-query-scale 0.5",
               "--label-value 0.5", "--estimator literal", "--dimension 3", "--context-length 8", "--test-noise-variance 0.6",
               "--input-scale 2", "--task-scale 2", "--mean-shift 0.5", "--task-mean 0.5", "--test-task-mean 0.7",
               "--query included", "--attention scaled"]
    # Optima are slow: few laws are tried, and of the maps only their own options.
    small = "--trials 64 --temperatures 1"
    for mode in "softmax-error", "softmax-error --attention scaled":
        try_options(mode, f"{small} --context-length 5 --dimension 4", options)
    try_options("softmax-error", f"{small} --context-length 5", ["--dimension 3"])
    try_options("softmax-error --vary context-length", f"{small} --context-lengths 5 --dimension 4", options)
    try_options("softmax-error --vary dimension", f"{small} --dimensions 2", options)
    try_options("softmax-error --vary map", f"{small} --dimension 4",
                ["--scales 0.7", "--exponents 2", "--dimensions 3", "--context-lengths 7", "--estimator literal"])
    try_options("softmax-error --context-length 5", "--trials 64", ["--temperatures 2.5"])
    try_options("softmax-error --vary heads", "--trials 64 --dimension 3 --context-length 9 --heads 1",
                ["--heads 2", "--input-scale 2", "--temperatures 2", "--estimator literal", "--exponents 2"])


@case("incontext gradients: every option counts or is refused, in every mode")
def _():
    for figure, dimension in (("temperature", 4), ("frozen", 4), ("schedule", 4), ("normsoftmax", 4), ("queries", 4),
                              ("groups", None), ("ends", None)):
        try_options(f"gradients --figure {figure}", "--trials 64" + (f" --dimension {dimension}" if dimension else ""),
                    ["--temperatures 2", "--score-stddevs 2", "--epochs 9", "--start-temperature 0.7", "--scales 2",
                     "--weight-stddev 0.5", "--key-dimension 16", "--dimension 5", "--context-length 9", "--gaps 0.7",
                     "--key-dimensions 3"])


@case("incontext tasks: every option counts or is refused, in every mode")
def _():
    for figure in "baselines", "boundary", "deviant":
        try_options(f"tasks --figure {figure}", "--trials 2000",
                    ["--input-stddev 0.7", "--function-stddev 2", "--lengths 3", "--largest-value 5"])


@case("incontext baselines: every option counts or is refused")
def _():
    try_options("baselines --pretraining-tasks 3", "--trials 64 --context-lengths 3,9", ["--pools 5", "--pool-seed 2"])
    try_options("baselines", "--trials 500 --context-lengths 3,9",
                ["--dimension 4", "--noise-variance 0.2", "--task-variance 0.2", "--input-variance 2", "--layers 3", "--looped 2",
                 "--pretraining-tasks 3", "--pools 5", "--pool-seed 2", "--sgd-tasks 40", "--averaging", "--neighbors 2",
                 "--mixers delta-rule", "--without-query-noise",
                 "--per-dimension", "--no-simulation"])


@case("incontext fading: every option counts or is refused, in every mode")
def _():
    options = ["--lengths 40", "--s 0.7", "--variance 0.7", "--score-stddevs 0.6", "--gap 3", "--weights 0.7", "--height 3",
               "--heights 0.9", "--points 3", "--most-scores 15000"]
    for figure in "phase", "fading", "retrieval", "bounded", "diagram", "optimum":
        diagram = figure == "diagram"
        try_options(f"fading --figure {figure}", "--trials 1500 --lengths 20" + diagram * " --points 2", options)
        if not diagram:  # lower weights are kept by rows of millions
            weights = " --weights 0.9" if figure == "fading" else ""
            try_options(f"fading --figure {figure}", "--relative-error 0.5 --lengths 20" + weights,
                        ["--most-scores 20000", "--trials 64"])


@case("incontext classify: every option counts or is refused, in every mode")
def _():
    options = ["--rule kernel", "--kappa 2", "--gain 7", "--rate 7", "--dimensions 3", "--context-lengths 20",
               "--class-counts 4", "--crowding 0.3", "--near-cosine 0.8", "--dimension 3", "--classes 4", "--context-length 40",
               "--search-trials 70", "--contexts-count 3", "--prototype-sets 2", "--context 3"]
    searching = "--trials 64 --search-trials 64"
    for figure in "8a", "16", "rates", "elimination", "onset":
        try_options(f"classify --figure {figure}", f"{searching} --dimensions 2", options)
    try_options("classify --figure 7", f"{searching} --dimensions 2 --context-lengths 40", options)
    for figure in "4", "5", "6", "valley", "8b", "16 --context-lengths 20,40":
        try_options(f"classify --figure {figure}", searching, options)
    try_options("classify --figure laws", "--trials 64", options)
    try_options("classify", searching, options[:9])
    try_options("classify --rule linear", searching, options)
    for rule in "softmax --kappa 3 --gain 7", "linear --rate 7":
        try_options(f"classify --rule {rule}", "--trials 64", options)


@case("incontext scores: every option counts or is refused, in every mode")
def _():
    with Folder() as folder:
        scores = folder.write("scores.npy", npy([[1, 2, -1], [0.5, 3, 2], [1, -2, 4]]))
        options = ["--lengths 30", "--temperatures 0.7", "--gap 3", "--row 1,2,0.5", f"--scores {scores}", "--causal",
                   "--map average", "--direction 1,0,0", "--norms", "--temperature 0.6", "--s 0.8", "--bias 0.5", "--base 0.5",
                   "--exponent 2.5", "--alpha 1.2", "--score-scale variance", "--over none"]
        for figure in SCORE_FIGURES:
            try_options(f"scores --figure {figure}", "", options)
        for kind in ("softmax", "approximate-softmax", "linear", "ssmax", "ssa", "normsoftmax", "entmax", "sparsemax", "hardmax",
                     "sa-softmax", "average", "tanh"):
            try_options(f"scores --row 0.1,2,-0.4 --map {kind}", "", options)
        try_options(f"scores --scores {scores}", "", options)


@case("real data: the report states the pretraining it used, and the data's dimension")
def _():
    def found(more):
        return report(f"temperature --data {DIABETES} --columns bmi,age --standardize --trials 512 {more}")

    def note(of):
        return next((one for one in of["tables"][0]["notes"] if one.startswith("Pretrained on")), "")

    own, louder = found("--labels progression"), found("--labels progression --noise-variance 5")
    assert own["arguments"]["dimension"] == 2
    assert own["arguments"]["noise-variance"] < 1
    assert louder["arguments"]["noise-variance"] == 5
    assert "every input explains the same share of a label variance of" in note(own)
    assert ", and noise 5." in note(louder)
    assert note(own) != note(louder)
    law = found("--noise-variance 0.4")
    assert law["arguments"]["test-noise-variance"] == 0.4
    assert law["arguments"]["mean-shift"] is None
    assert ", and noise 0.4." in note(law)


@case("arguments that had no effect are null, and defaults are stated as the run used them")
def _():
    sweep = report("temperature --dimension 3 --context-length 8 --relative-error 0.1")["arguments"]
    assert sweep["trials"] is None and sweep["shifts"] is None
    assert len(sweep["temperatures"]) == 6
    assert sweep["test-noise-variance"] == 0.1
    figure = report("temperature --figure 3a --dimension 3 --trials 256")["arguments"]
    assert figure["context-length"] is None
    assert figure["context-lengths"] == [10, 20, 40, 100, 200, 400]
    assert figure["test-noise-variance"] == 1
    fading = report("fading --figure bounded --lengths 50 --trials 2048")["arguments"]
    assert fading["variance"] is None
    assert fading["most-scores"] == 10000000
    softmax = report("softmax-error --trials 512")["arguments"]
    assert softmax["task-variance"] == 0.05
    assert softmax["scales"] is None


@case("a shell completes subcommands, tasks, options and the words that they take")
def _():
    expected = {"": "softmax-error", "trai": "train", "train ": "regression", "train regression --no": "--noise-variance",
                "temperature --device ": "openmp", "completion ": "fish"}
    for typed, word in expected.items():
        words = ["incontext", *typed.split(" ")]
        script = (f"source <({shlex.quote(PROGRAM)} completion bash); COMP_WORDS=({' '.join(map(shlex.quote, words))}); "
                  f"COMP_CWORD={len(words) - 1}; _incontext; echo ${{COMPREPLY[@]}}")
        assert word in subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout.split(), typed
        if shutil.which("fish"):
            script = f"{shlex.quote(PROGRAM)} completion fish | source; complete -C {shlex.quote('incontext ' + typed)}"
            done = subprocess.run(["fish", "-c", script], capture_output=True, text=True)
            assert word in done.stdout.split() and not done.stderr, (typed, done)
            for typed, word in {"train regression ": "affine", "temperature --figure scores --": "--alpha"}.items():
                script = f"{shlex.quote(PROGRAM)} completion fish | source; complete -C {shlex.quote('incontext ' + typed)}"
                assert word not in subprocess.run(["fish", "-c", script], capture_output=True, text=True).stdout.split()
