"""Loads incontext._simulate, the simulations, and incontext._arrays, the maps of whole arrays, in the edition that the
dynamic loader chooses for this processor.

It is the newest one that the processor can run. GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F in the environment hides
instructions from the loader, and so selects an older edition, as it does for the programs. All give the same bits, but
for entmax where the variable also changes the C library's pow.
"""
from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib
import sys

from . import _core

EXTENSIONS = ("_arrays", "_simulate")


def path_of(extension: str, edition: str) -> str | None:
    """The file of an edition, "plain" or the name of an instruction set; None where it is not installed."""
    package = pathlib.Path(__file__).parent
    folder = package if edition == "plain" else package / edition
    names = (extension + suffix for suffix in importlib.machinery.EXTENSION_SUFFIXES)
    return next((str(folder / name) for name in names if (folder / name).exists()), None)


def load() -> None:
    """Puts the edition in the place of each extension."""
    for extension in EXTENSIONS:
        name = f"{__package__}.{extension}"
        if name in sys.modules:
            continue
        path = path_of(extension, _core.edition()) or path_of(extension, "plain")
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"incontext: {extension} is not installed")
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
