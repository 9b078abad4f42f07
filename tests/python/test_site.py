"""The site of the documentation, with the reference of the package that is installed."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_site_has_every_name(tmp_path):
    """tests/docs/site.py finds them by the site's search, in a browser."""
    browsers = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, browsers)), None)
    katex = pathlib.Path(os.environ.get("KATEX", "/usr/share/javascript/katex"))
    if not (browser and shutil.which(os.environ.get("CMARK_GFM", "cmark-gfm")) and katex.is_dir()):
        pytest.skip("needs Chromium, cmark-gfm and KaTeX")
    run = subprocess.run([sys.executable, ROOT / "tests/docs/site.py", ROOT, tmp_path / "site", browser], text=True,
                         capture_output=True, env={**os.environ, "INCONTEXT_DOCS_PYTHON": sys.executable})
    assert run.returncode == 0 and "the reference of Python" in run.stdout, run.stdout + run.stderr
