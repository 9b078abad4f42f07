"""What holds for the whole package: names, documentation, examples, import time, types."""
import doctest
import enum
import importlib
import inspect
import pathlib
import pickle
import re
import subprocess
import sys

import pytest

import incontext
from incontext import _arrays, _core, _simulate

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import headers  # noqa: E402

ROOMS = ["baselines", "calibration", "classification", "laws", "regression", "scoring", "simulate", "statistics", "training"]
ENTRIES = headers.entries(ROOT)
PATTERN = re.compile(rf"\b({'|'.join(ROOMS)}|apply|law|numerics)::(?:checked::)?(\w+)")


def functions(room):
    """The functions of a room that come from C++."""
    found = {}
    for module in (getattr(extension, room, None) for extension in (_arrays, _core, _simulate)):
        names = [name for name in dir(module) if not name.startswith("_")]
        found |= {name: getattr(module, name) for name in names if type(getattr(module, name)).__name__ == "nb_func"}
    return found


def table():
    """The lines of python/other_names.txt: C++ name to Python name, "" where there is none, and the reason. A name
    without a line is the same in Python."""
    rows = {}
    for line in (ROOT / "python/other_names.txt").read_text().splitlines()[1:]:
        name, python, reason = re.fullmatch(r"(\w+::\w+) = ([\w.]*)(?:; (.+))?", line).groups()
        rows[name] = (python, reason or "")
    return rows


def used_by_programs():
    """The documented names of the library that the programs' sources name."""
    alias = {"law": "classification"}
    used = set()
    for path in (ROOT / "examples").rglob("*"):
        if path.suffix not in (".cpp", ".hpp") or "first_steps" in path.parts:
            continue
        text = re.sub(r"//.*", "", path.read_text())
        for room, name in re.findall(PATTERN, text):
            full = f"{alias.get(room, room)}::{name}"
            if full in ENTRIES and full.split("::")[0] != "core":
                used.add(full)
    return used


@pytest.mark.parametrize("room", ROOMS)
def test_functions_are_pickled_by_their_names(room):
    found = functions(room)
    assert found
    for function in found.values():
        assert pickle.loads(pickle.dumps(function)) is function


def test_another_process_reads_a_pickled_function_and_result():
    run = incontext.simulate.score_rows(incontext.simulate.normal_scores(20, 1.0), [0.5], trials=64)
    both = pickle.dumps((incontext.laws.needle_weight, run))
    script = "import pickle, sys; law, run = pickle.load(sys.stdin.buffer); print(law(10, 1.0, 2.0).value, run)"
    said = subprocess.run([sys.executable, "-c", script], input=both, capture_output=True, check=True).stdout.decode()
    assert said == f"{incontext.laws.needle_weight(10, 1.0, 2.0).value} {run}\n"


def is_in_package(name):
    """Whether the package has a name, which is written with those of its modules."""
    target = incontext
    for part in name.split("."):
        target = getattr(target, part, None)
    return target is not None


def test_python_has_every_name_that_a_program_uses_or_the_table_says_where_it_is():
    used, listed = used_by_programs(), table()
    assert len(used) > 120, "the search finds what the programs use"
    assert sorted(name for name in used - listed.keys() if not is_in_package(name.replace("::", "."))) == []
    assert not is_in_package("laws.no_such_law")


@pytest.mark.parametrize("cpp, python, reason", [(c, *row) for c, row in table().items()])
def test_a_row_of_the_table_is_true(cpp, python, reason):
    assert cpp in ENTRIES, "the C++ name exists and is documented"
    assert reason or python != cpp.replace("::", "."), "the rule has this name"
    assert is_in_package(python) if python else len(reason) > 10, "a name that Python has not is given a reason"


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_are_the_headers_own(room):
    texts = headers.texts(ROOT)
    for name, function in functions(room).items():
        if name == "estimate_of":
            continue
        assert f"{room}::{name}" in texts, f"{room}.{name} has no documentation in the headers"
        assert texts[f"{room}::{name}"].split("\n")[0] in function.__doc__


@pytest.mark.parametrize("room", ROOMS)
def test_dir_shows_what_is_public_alone(room):
    shown = dir(getattr(incontext, room))
    assert set(functions(room)) <= set(shown)
    assert not {"Any", "Choice", "Record", "annotations", "numpy", "_arrays", "_core"} & set(shown)


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_name_errors_as_python_does(room):
    for name, function in functions(room).items():
        for word in ("std::", "numerics::", "Runs on"):
            assert word not in function.__doc__, f"{room}.{name}"


# Python names fewer or other parameters here: a default in place of an overload, or one argument of several types
OWN_PARAMETERS = {"sparse_neighborhood", "multihead_error", "moment_ratio_from_scores", "two_level_weights", "predict"}


@pytest.mark.parametrize("room", ["calibration", "laws", "classification", "training", "regression"])
def test_parameters_are_named_as_in_the_headers(room):
    """Functions name their parameters in the C++ order."""
    compared = 0
    for name, function in functions(room).items():
        overloads = [entry for entry in ENTRIES.get(f"{room}::{name}", []) if entry.is_function]
        if not overloads or name in OWN_PARAMETERS:
            continue
        accepted = []
        for entry in overloads:
            own = [parameter for parameter, _ in entry.parameters]
            if "convention" in own:  # its two fields are keywords in Python
                own[own.index("convention") : own.index("convention") + 1] = ["query", "offset"]
            if own[-1:] == ["tolerance"]:  # of an integral: C++ alone
                own.pop()
            accepted.append(["lambda_" if parameter == "lambda" else parameter for parameter in own])
        for signature in re.findall(rf"^{name}\((.*)\) ->", function.__doc__, flags=re.M):
            assert re.findall(r"(\w+): ", re.sub(r"\[[^\]]*\]", "", signature)) in accepted, name
            compared += 1
    assert compared > 5


def test_defaults_are_those_of_the_headers():
    signature = lambda f: f.__doc__.split("\n")[0]  # noqa: E731
    assert "weight: numpy.typing.ArrayLike = 0.5" in signature(_core.laws.softmax_critical_length)
    assert "bias: float | numpy.number[typing.Any] = 0" in signature(_core.laws.ssmax_crossover_count)
    for type_name, python in {"scoring::SSA": incontext.scoring.SSA, "scoring::SSMax": incontext.scoring.SSMax}.items():
        text = (ROOT / ENTRIES[type_name][0].header).read_text()
        for field in python._fields:
            default = re.search(rf"T {field} = T\(([\d.]+)\);", text)
            assert float(default.group(1)) == getattr(python(), field)


def members(body):
    """How many data members the body of a struct declares, counted in another way than headers.py reads them."""
    body = re.sub(r"//.*|<[^<>;()]*(<[^<>]*>)?[^<>;()]*>", "", body)
    while "{" in body:
        body = re.sub(r"\{[^{}]*\}", ";", body)
    parts = [re.sub(r"\s=.*?(?=,\s|$)", "", part, flags=re.S).strip() for part in body.split(";")]
    return sum(part.count(",") + 1 for part in parts if part and "(" not in part
               and not part.startswith(("using", "static", "struct")))


def test_records_have_every_member_of_their_structs():
    text = "".join(path.read_text() for folder in ("include", "cuda") for path in (ROOT / folder).rglob("*.hpp"))
    found = [record for record in headers.records(ROOT, headers.types(ROOT)) if record.kind != "choices"]
    assert len(found) > 100
    for record in found:
        struct = record.cpp.rpartition("::")[2]
        bodies = re.findall(rf"^struct {struct} \{{(.*?)^\}};", text, re.M | re.S)
        assert len({field.member.partition(".")[0] for field in record.fields}) in list(map(members, bodies)), record.name


@pytest.mark.parametrize("room", [*ROOMS, "apply", "_record"])
def test_examples_of_the_modules(room):
    module = importlib.import_module(f"incontext.{room}")
    names = {"ic": incontext, "incontext": incontext, **{name: getattr(incontext, name) for name in ROOMS}}
    failed, _ = doctest.testmod(module, extraglobs=names, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


@pytest.mark.parametrize("room", [*ROOMS, "apply"])
def test_every_function_has_a_signature(room):
    """Two whose overloads have different parameters say so by *arguments, and results of runs have no constructor."""
    module = getattr(incontext, room)
    for name in dir(module):
        value = getattr(module, name)
        methods = [vars(value)[key] for key in vars(value) if not key.startswith("_")] if isinstance(value, type) else []
        for function in [value, *(getattr(method, "__func__", method) for method in methods)]:
            if isinstance(function, type):
                made_by_runs = function.__name__.endswith(("Simulation", "Sample", "Optimum", "Contrasts", "Training"))
                if made_by_runs or issubclass(function, (Exception, dict, enum.Enum)):
                    continue
            if callable(function):
                parameters = inspect.signature(function).parameters.values()
                is_open = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
                assert not is_open or function.__qualname__ in (
                    "two_level_weights", "centered_ridge_risk", "PartitionFunctionSimulation.at"), function
                assert not hasattr(function, "__nb_signature__"), function


def test_a_signature_is_that_of_the_binding():
    task = inspect.signature(incontext.regression.LinearTask.isotropic).parameters
    assert {name: one.default for name, one in task.items() if name != "dimension"} == {
        "input_variance": 1.0, "task_variance": 1.0, "noise_variance": 0.0}
    run = inspect.signature(incontext.simulate.regression_error)
    assert run.parameters["query"].default is incontext.regression.QueryToken.excluded
    assert run.return_annotation == "incontext.statistics.Estimate | incontext.simulate.Simulation"
    assert run.parameters["options"].kind is inspect.Parameter.VAR_KEYWORD
    assert list(inspect.signature(incontext.training.Trainer.run).parameters) == ["self", "steps", "progress"]
    assert inspect.signature(incontext.scoring.SSMax).parameters["scale"].default == 1.0
    assert list(inspect.signature(incontext.regression.LinearTask).parameters)[-1] == "noise_variance"


def test_examples_of_the_functions():
    """The examples of python/examples.txt, which help() shows."""
    shown = {name: own.example for name, own in headers.shown(ROOT).items() if own.example}
    names = {"ic": incontext, "incontext": incontext, **{room: getattr(incontext, room) for room in ROOMS}}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for name, text in shown.items():
        example = doctest.DocTestParser().get_doctest(text, dict(names), name, "python/examples.txt", 0)
        assert example.examples, name
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("room", [*ROOMS, "apply"])
def test_every_function_has_an_example(room):
    shown = {name for name, own in headers.shown(ROOT).items() if own.example}
    for name in dir(getattr(incontext, room)):
        function = getattr(getattr(incontext, room), name)
        if callable(function) and not isinstance(function, type):
            has_one = f"{room}::{name}" in shown or ">>>" in function.__doc__
            assert has_one, f"{room}::{name} needs an example in python/examples.txt"


def test_the_reference_has_every_name(tmp_path):
    """python/reference.py, from the package that is installed, with or without PyTorch and JAX."""
    script = ROOT / "python/reference.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, cwd=tmp_path)
    hidden = ("import runpy, sys; sys.modules.update(torch=None, jax=None); sys.argv = sys.argv[1:]; "
              "runpy.run_path(sys.argv[0], run_name='__main__')")
    subprocess.run([sys.executable, "-c", hidden, str(script), str(tmp_path / "hidden")], check=True, cwd=tmp_path)
    for one in tmp_path.glob("*.md"):
        assert one.read_text() == (tmp_path / "hidden" / one.name).read_text()
    assert "scale=1.0, bias=0.0" in (tmp_path / "torch.md").read_text().partition("## torch.SSMax")[2]
    modules = {path.stem for path in (ROOT / "python/incontext").glob("*.py") if not path.stem.startswith("_")}
    written = {path.stem for path in tmp_path.glob("*.md")} - {"index"}
    assert written == modules
    for room in sorted(written):
        page = (tmp_path / f"{room}.md").read_text()
        assert page.count("```") % 2 == 0 and page.count("$$") % 2 == 0
        headings = re.findall(r"^## (.*)", page, re.M)
        if room not in ("torch", "jax"):
            assert sorted(headings) == sorted({f"{room}.{name}" for name in dir(getattr(incontext, room))}), room
        assert f"{room}.weights" in headings or room not in ("torch", "jax")
        assert "`convention`" not in page and "std::" not in page and "\n    >>>" not in page and "{.seed" not in page
    assert f"[`incontext.{ROOMS[0]}`]" in (tmp_path / "index.md").read_text()


@pytest.mark.parametrize("page, at_least", [("README.md", 6), ("docs/python.md", 10)])
def test_examples_of_the_pages(page, at_least):
    failed, tried = doctest.testfile(str(ROOT / page), module_relative=False,
                                     optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert tried >= at_least and failed == 0


def test_importing_loads_numpy_alone():
    """What plots, trains or shows progress is loaded where it is used."""
    program = "import sys, incontext; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert "numpy" in loaded
    assert not {"matplotlib", "tqdm", "torch", "jax", "pandas", "scipy", "IPython", "subprocess", "html"} & set(loaded)


def test_types_are_checked_by_mypy(tmp_path):
    pytest.importorskip("mypy")
    user = tmp_path / "user.py"
    user.write_text(
        "import incontext as ic, numpy\n"
        "law = ic.laws.Quadrature(0.5, 1e-9)\n"
        "estimate = ic.statistics.Estimate(count=10, mean=0.4, standard_error=0.1)\n"
        "z: float = law.agree(estimate).z\n"
        "task: ic.regression.LinearTask = ic.regression.LinearTask.isotropic(dimension=3)\n"
        "attention = ic.regression.pretrained_attention(task, 40)\n"
        "maps = ic.simulate.at_temperatures([1.0, 2.0], ic.scoring.Softmax())\n"
        "run = ic.simulate.regression_error(attention, task, 40, maps, seed=1, trials=64)\n"
        "counts: list[int] = [one.count for one in run.estimates]\n"
        "mean: float = ic.simulate.reduced_softmax_error(attention, task, 40, maps[0], trials=64).mean\n"
        "weight: float = ic.laws.annealed_ipr(1000, 1.0)\n"
        "of_numpy: float = ic.laws.annealed_ipr(numpy.int64(10), 1.0)\n"
        "lengths: tuple[int, ...] = ic.laws.annealed_ipr([10, 100], 1.0).shape\n"
        "error: ic.laws.Quadrature = ic.regression.softmax_error(attention, task, 40, ic.scoring.Softmax(2.0))\n"
        "linear = ic.regression.generalization_error(attention, task, 40).linear\n"
        "row = ic.scoring.weights(ic.scoring.Softmax(), [1.0, 2.0]).mean()\n"
        "curves: ic.baselines.Curves = ic.baselines.curves(3, [1, 2], 0.1, 0.3)\n"
        "def betas(head: ic.calibration.HeadDetail) -> list[float]:\n"
        "    return head.rules['entropy'][0].inverse_temperature\n"
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import incontext as ic\n"
        "ic.laws.Quadrature(0.5, 1e-9).agree(3).no_such_name\n"
        "task = ic.regression.LinearTask.isotropic(dimension=3)\n"
        "ic.simulate.centered_ridge_risk(task, 40, trails=100)\n"
        "ic.simulate.centered_ridge_risk(task, 40, seed='one')\n"
    )
    package = pathlib.Path(incontext.__file__).parent
    check = [sys.executable, "-m", "mypy", "--strict"]
    result = subprocess.run([*check, str(user)], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    own = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")],
                         capture_output=True, text=True, cwd=tmp_path)
    assert own.returncode == 0, own.stdout
    refused = subprocess.run([*check, str(wrong)], capture_output=True, text=True, cwd=tmp_path).stdout
    for message in ('has no attribute "no_such_name"', 'Unexpected keyword argument "trails"', '"seed" to "centered_ridge_risk"'):
        assert message in refused, refused
    assert (package / "py.typed").exists()
    assert (package / "_core" / "laws.pyi").exists()
