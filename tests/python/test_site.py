"""The site of the documentation, with the reference of the package that is installed."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def answers(browser):
    """Whether it is a browser: Ubuntu's chromium-browser is none, it names a snap."""
    return shutil.which(browser) and subprocess.run([browser, "--version"], capture_output=True).returncode == 0


def test_the_site_has_every_name(tmp_path):
    """tests/docs/site.py finds them by the site's search, in a browser."""
    browser = next(filter(answers, ("chromium", "chromium-browser", "google-chrome")), None)
    katex = pathlib.Path(os.environ.get("KATEX", "/usr/share/javascript/katex"))
    if not (browser and shutil.which(os.environ.get("CMARK_GFM", "cmark-gfm")) and katex.is_dir()):
        pytest.skip("needs Chromium, cmark-gfm and KaTeX")
    run = subprocess.run([sys.executable, ROOT / "tests/docs/site.py", ROOT, tmp_path / "site", browser], text=True,
                         capture_output=True, env={**os.environ, "INCONTEXT_DOCS_PYTHON": sys.executable})
    assert run.returncode == 0 and "the reference of Python" in run.stdout, run.stdout + run.stderr
