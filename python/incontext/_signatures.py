"""What `inspect.signature`, `help` and editors ask of a function: nanobind's functions cannot answer, Python's can."""
from __future__ import annotations

import functools
import inspect
import re
import sys
from types import ModuleType
from typing import Any, Callable

_OPENING, _CLOSING = "([{", ")]}"


def _split(text: str, separator: str) -> list[str]:
    """The parts of `text` between separators that are in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _parameters(text: str, defaults: tuple[Any, ...]) -> list[inspect.Parameter]:
    """The parameters of "a: int, b: float = \\0, **options" with the default values that the numbers stand for."""
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    found = []
    for part in _split(text, ","):
        declared, _, number = part.partition(" = \\")
        name, _, annotation = declared.partition(": ")
        if name == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif name.startswith("**"):
            found.append(inspect.Parameter(name[2:], inspect.Parameter.VAR_KEYWORD,
                                           annotation="typing.Unpack[incontext.simulate.RunOptions]"))
        elif name:
            default = _value(defaults[int(number.lstrip("="))]) if number else inspect.Parameter.empty
            annotated = annotation or inspect.Parameter.empty
            found.append(inspect.Parameter(name, kind, default=default, annotation=annotated))
    return found


def _value(default: Any) -> Any:
    """The choice that a default names, such as incontext.regression.Offset.kept, and every other default as it is."""
    package, *names = str(default).split(".")
    if package != "incontext" or len(names) != 3:
        return default
    return functools.reduce(getattr, names, sys.modules[package])


def signature(function: Any) -> inspect.Signature:
    """The signature of a function of nanobind; that of all its overloads where they differ in types alone.

    >>> from incontext import _core
    >>> print(signature(_core.regression.LinearTask.isotropic).replace(return_annotation=inspect.Signature.empty))
    (dimension: 'int', input_variance: 'float' = 1.0, task_variance: 'float' = 1.0, noise_variance: 'float' = 0.0)
    """
    overloads = []
    for declared, _, defaults in function.__nb_signature__:
        public = re.sub(r"incontext\._(core|arrays|simulate)\.", "incontext.", declared)
        parameters, _, returned = public.partition("(")[2].rpartition(") -> ")
        overloads.append(inspect.Signature(_parameters(parameters, defaults or ()), return_annotation=returned))
    first, *others = overloads
    for other in others:
        if list(first.parameters) != list(other.parameters):
            return inspect.Signature([inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL),
                                      inspect.Parameter("named", inspect.Parameter.VAR_KEYWORD)])
        joined = [mine.replace(annotation=_union(mine.annotation, its.annotation))
                  for mine, its in zip(first.parameters.values(), other.parameters.values())]
        first = inspect.Signature(joined, return_annotation=_union(first.return_annotation, other.return_annotation))
    return first


def _union(first: str, second: str) -> str:
    return first if first == second else f"{first} | {second}"


def _described(function: Any, module: str) -> Callable[..., Any]:
    """A function of Python that calls `function`, and has its name, documentation and signature."""
    def call(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    call.__name__, call.__qualname__, call.__module__ = function.__name__, function.__qualname__, module
    documented = [overload[1] for overload in function.__nb_signature__]
    call.__doc__ = documented[0] if len(documented) == 1 else function.__doc__
    call.__signature__ = signature(function)  # type: ignore[attr-defined]
    return call


def describe_functions(room: ModuleType) -> None:
    """Puts such a function in the place of each public function, method and constructor of nanobind in a room."""
    for name, value in list(vars(room).items()):
        if name.startswith("_"):
            continue
        if hasattr(value, "__nb_signature__"):
            setattr(room, name, _described(value, room.__name__))
        elif isinstance(value, type) and ".".join(value.__module__.split(".")[:2]) in _EXTENSIONS:
            for method, function in list(vars(value).items()):
                if method == "__init__" and hasattr(function, "__nb_signature__"):
                    own = list(signature(function).parameters.values())
                    setattr(value, "__signature__", inspect.Signature(own[1:]))
                elif not method.startswith("_") and hasattr(function, "__nb_signature__"):
                    described = _described(function, value.__module__)
                    setattr(value, method, described if hasattr(function, "__get__") else staticmethod(described))


_EXTENSIONS = ("incontext._arrays", "incontext._core", "incontext._simulate")
