"""The notebooks run headless, from start to end, with the package that is installed here."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


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


def texts(notebook):
    return [output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_stored_outputs_are_small(path, tmp_path):
    assert path.stat().st_size < 200_000
    run(path, tmp_path)


def test_the_first_steps_print_the_readmes_table(tmp_path):
    notebook = run(ROOT / "notebooks/first_steps.ipynb", tmp_path)
    assert len(notebook.cells) == 10
    printed = "".join(texts(notebook))
    for line in ("1.000                5.513         2.178", "2.905                0.874         1.531",
                 "5.057                1.105         1.356"):
        assert line in printed
    pictures = [output for cell in notebook.cells for output in cell.get("outputs", [])
                if "image/png" in output.get("data", {})]
    assert len(pictures) == 2


def test_a_failing_cell_fails(tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    bad = tmp_path / "bad.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("assert 1 == 2")]), bad)
    with pytest.raises(Exception, match="AssertionError"):
        run(bad, tmp_path)
